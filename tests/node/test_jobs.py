"""Jobs in the background: steps that go on when their agent and its controller have gone."""

from __future__ import annotations

import hashlib
import pwd
from pathlib import Path
from typing import Any

import pytest

from provisioner.ports import Background, Step
from provisioner.transport.client import Client
from tests.node.nodes import Node, probe, run, running, until
from tests.node.test_process import alive


class Jobs:
    """Starts steps as jobs that are noted in a folder, and asks for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, agent: Client, do: str, text: str = "", limit: float = 30.0, **fields: Any) -> str:
        background = Background(limit, str(self.folder))
        contents = fields.pop("contents", None)
        [reply] = run(agent, probe(do, text, background=background, **fields), contents=contents)
        assert reply.result | {"started": True, "finished": False, "failed": False, "changed": True} == reply.result
        assert reply.result["results_file"] == f"{self.folder}/{reply.result['ansible_job_id']}"
        return str(reply.result["ansible_job_id"])

    def ask(self, agent: Client, job: str, mode: str = "status") -> dict[str, Any]:
        return run(agent, Step(1, "async_status", {"jid": job, "mode": mode, "folder": str(self.folder)}))[0].result

    def end_of(self, agent: Client, job: str) -> dict[str, Any]:
        assert until(lambda: bool(self.ask(agent, job)["finished"]))
        return self.ask(agent, job)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path / "jobs")


def test_a_job_outlives_its_agent_and_keeps_no_other_run_away(node: Node, jobs: Jobs, tmp_path: Path) -> None:
    agent = node(who="ann@laptop")
    pid = run(agent, probe("pid"))[0].result["pid"]
    job = jobs.start(agent, "shell", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo done; touch {tmp_path}/mark")
    assert run(agent, probe("echo", "on"))[0].result["text"] == "on"
    agent.close()
    assert until(lambda: not alive(pid))
    second = node(who="bob@desk")
    assert not jobs.ask(second, job)["finished"]
    (tmp_path / "go").touch()
    assert jobs.end_of(second, job) | {"stdout": "done\n", "rc": 0, "failed": False, "changed": False} == jobs.end_of(second, job)
    assert (tmp_path / "mark").exists()
    assert jobs.ask(second, job, "cleanup")["erased"] == f"{jobs.folder}/{job}"
    assert jobs.ask(second, job)["msg"] == "could not find job"
    assert list(jobs.folder.iterdir()) == []


@pytest.mark.parametrize("do", ["sleep", "shell"])
def test_a_job_over_its_time_is_ended(node: Node, jobs: Jobs, do: str) -> None:
    agent = node()
    job = jobs.start(agent, do, "60" if do == "sleep" else "exec sleep 64.25", limit=0.4)
    over = jobs.end_of(agent, job)
    assert (over["failed"], over["msg"], over["changed"]) == (True, "Timeout exceeded", False)
    assert until(lambda: not running("sleep 64.25") and not alive(over["child_pid"]))


def test_a_job_in_a_transaction_may_finish_it(node: Node, jobs: Jobs, tmp_path: Path) -> None:
    agent = node()
    over = jobs.end_of(agent, jobs.start(agent, "transaction", f"sleep 1.5; touch {tmp_path}/whole", limit=0.3))
    assert (tmp_path / "whole").exists()
    assert over["failed"] is False


def test_how_jobs_fail(node: Node, jobs: Jobs) -> None:
    agent = node()
    assert jobs.end_of(agent, jobs.start(agent, "fail", "no luck"))["msg"] == "no luck"
    assert "RuntimeError: oh" in jobs.end_of(agent, jobs.start(agent, "raise", "oh"))["msg"]
    assert "broke off" in jobs.end_of(agent, jobs.start(agent, "raise", "oh"))["msg"]
    assert "ended before it could say" in jobs.end_of(agent, jobs.start(agent, "exit"))["msg"]
    assert "neither fetch contents" in jobs.end_of(agent, jobs.start(agent, "send"))["msg"]
    assert jobs.ask(agent, "../jobs")["msg"] == "could not find job"


def test_a_job_as_somebody_else_with_a_content(node: Node, open_folder: Path) -> None:
    agent, jobs = node(), Jobs(open_folder)
    data = b"x" * 100_000
    digest = hashlib.sha256(data).hexdigest()
    job = jobs.start(
        agent, "content", user="nobody", params={"content": {"$content": digest, "size": len(data)}}, contents={digest: lambda: data}
    )
    assert jobs.end_of(agent, job)["size"] == len(data)
    assert (jobs.folder / job).stat().st_uid == pwd.getpwnam("nobody").pw_uid
    assert (jobs.folder / job).stat().st_mode & 0o777 == 0o600


def test_a_plan_starts_no_job(node: Node, jobs: Jobs) -> None:
    [reply] = run(node("plan"), probe("echo", "on", background=Background(5.0, str(jobs.folder))))
    assert reply.result["text"] == "on"
    assert not jobs.folder.exists()
