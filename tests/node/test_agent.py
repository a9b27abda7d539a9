"""A real agent, started on this machine: steps, deadlines, the lock, the journal, and what happens when an end dies."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.node import agent as agent_module
from provisioner.ports import Mode, Target
from provisioner.transport import packing
from provisioner.transport.connect import Connector
from provisioner.values import Unknown
from tests.node.nodes import Node, probe, run, running, until
from tests.node.test_process import alive
from tests.transport.conftest import source_of

# -- steps -----------------------------------------------------------------------------------------------------------------------------


def test_greeting(node: Node) -> None:
    info = node().info
    assert (info.uid, info.hostname) == (os.geteuid(), os.uname().nodename)
    assert info.python.startswith("3.")
    assert info.pending == ()


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_any_python_from_the_oldest_on(version: str) -> None:
    found = [shutil.which(f"python{version}"), *map(str, Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))]
    usable = [path for path in found if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]
    if not usable:
        pytest.skip(f"no Python {version} here")
    agent = Connector(source_of)(Target("here", "local", python=usable[0]), "plan")
    assert agent.info.python.startswith(f"{version}.")
    assert run(agent, probe("shell", "echo fine"))[0].result["stdout"] == "fine\n"
    agent.close()


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8"])
def test_an_older_python_is_refused(version: str) -> None:
    found = [*map(str, Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))]
    if not found:
        pytest.skip(f"no Python {version} here")
    with pytest.raises(HostUnreachable, match=rf"the node's Python is too old: .* is {version}"):
        Connector(source_of)(Target("here", "local", python=found[0]), "plan")


def test_steps_run_in_one_process_in_order(node: Node) -> None:
    agent = node()
    replies = run(agent, probe("pid", number=1), probe("echo", "x", number=2), probe("pid", number=3))
    assert [reply.id for reply in replies] == [1, 2, 3]
    assert replies[0].result["pid"] == replies[2].result["pid"]
    assert replies[1].result["text"] == "x"


def test_a_failure_stops_the_batch_and_not_the_agent(node: Node) -> None:
    agent = node()
    replies = run(agent, probe("echo", number=1), probe("fail", "no", number=2), probe("echo", number=3))
    assert [(reply.id, reply.result["failed"]) for reply in replies] == [(1, False), (2, True)]
    assert replies[1].result["msg"] == "no"
    assert run(agent, probe("echo", "again"))[0].result["text"] == "again"


def test_odd_texts_survive(node: Node) -> None:
    texts: dict[str, Any] = {"text": 'ünï "quoted" \udcff\udc80 \0 \u2028', "deep": [1, 2.5, None, True, {"a": []}]}
    assert run(node(), probe("echo", texts))[0].result["text"] == texts


def test_an_unknown_parameter_comes_back_as_the_reason(node: Node) -> None:
    [reply] = run(node("plan"), probe("echo", Unknown("running make")))
    assert reply.deferred is not None
    assert "running make" in reply.deferred


def test_stray_output_does_not_break_the_stream(node: Node) -> None:
    agent = node()
    [reply] = run(agent, probe("noise"))
    assert reply.result["read"] == ""
    assert run(agent, probe("echo", "fine"))[0].result["text"] == "fine"


def test_progress_and_data(node: Node) -> None:
    progress: list[tuple[int, str]] = []
    data: list[tuple[int, bytes, bool]] = []
    run(
        node(),
        probe("progress", "waiting", 1),
        probe("send", number=2),
        on_progress=lambda step, text: progress.append((step, text)),
        on_data=lambda step, piece, last: data.append((step, piece, last)),
    )
    assert progress == [(1, "waiting")]
    assert data == [(2, b"one", False), (2, b"two", False), (2, b"", True)]


@pytest.mark.parametrize("size", [0, 1, 256 * 1024, 3 * 1024 * 1024 + 1])
def test_content_is_fetched_when_it_is_needed(node: Node, size: int) -> None:
    data = os.urandom(size)
    digest = hashlib.sha256(data).hexdigest()
    step = probe("content", params={"content": {"$content": digest, "size": size}})
    [reply] = run(node(), step, contents={digest: lambda: data})
    assert reply.result == {"size": size, "digest": digest, "failed": False, "changed": False}


def test_content_the_controller_cannot_read(node: Node) -> None:
    def broken() -> bytes:
        raise FileNotFoundError(2, "No such file or directory", "files/big.bin")

    agent = node()
    step = probe("content", params={"content": {"$content": "ab" * 32, "size": 3}})
    [reply] = run(agent, step, contents={"ab" * 32: broken})
    assert reply.result["failed"]
    assert "files/big.bin: No such file" in reply.result["msg"]
    assert not run(agent, probe("echo"))[0].result["failed"]


def test_our_own_bug_says_so_with_file_and_line(node: Node) -> None:
    with pytest.raises(HostUnreachable) as caught:
        run(node(), probe("raise", "oh"))
    assert "bug of provision: RuntimeError: oh" in caught.value.message
    assert "shipped/probe.py" in caught.value.why
    assert "raise RuntimeError(p.text)" in caught.value.why


# -- deadlines -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["sleep", "shell"])
def test_a_step_over_its_time_fails_and_the_agent_lives(node: Node, do: str) -> None:
    agent = node()
    started = time.monotonic()
    [reply] = run(agent, probe(do, "60" if do == "sleep" else "exec sleep 61.25", timeout=0.4))
    assert time.monotonic() - started < 30
    assert reply.result["failed"]
    assert "timed out after 0.4 s" in reply.result["msg"]
    assert not running("sleep 61.25")
    assert run(agent, probe("echo", "on"))[0].result["text"] == "on"


def test_a_step_as_somebody_else_over_its_time(node: Node) -> None:
    agent = node()
    assert run(agent, probe("shell", "id -un", user="nobody"))[0].result["stdout"] == "nobody\n"
    [reply] = run(agent, probe("shell", "exec sleep 63.25", user="nobody", timeout=0.5))
    assert "timed out after 0.5 s" in reply.result["msg"]
    assert until(lambda: not running("sleep 63.25"))
    assert run(agent, probe("echo", "on"))[0].result["text"] == "on"


def test_a_hung_agent_is_given_up_and_named(node: Node) -> None:
    agent = node(silence=1.0)
    pid = run(agent, probe("pid"))[0].result["pid"]
    threading.Timer(0.3, os.kill, (pid, signal.SIGSTOP)).start()
    started = time.monotonic()
    try:
        with pytest.raises(HostUnreachable, match="does not answer since 1 s"):
            run(agent, probe("sleep", "30"))
    finally:
        os.kill(pid, signal.SIGKILL)
    assert time.monotonic() - started < 25


def test_a_working_agent_says_that_it_lives(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = packing.pack
    monkeypatch.setattr(packing, "_payload", None)
    monkeypatch.setattr(packing, "kept", lambda kind, about, make: make())
    monkeypatch.setattr(packing, "pack", lambda sources: pack(_impatient(sources)))
    assert run(node(silence=2.5), probe("sleep", "4"))[0].result["failed"] is False


def _impatient(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    name = agent_module.__name__
    changed = sources[name].replace(b"ALIVE_EVERY = 15.0", b"ALIVE_EVERY = 0.5")
    assert changed != sources[name]
    return {**sources, name: changed}


# -- ends ------------------------------------------------------------------------------------------------------------------------------


def test_the_agent_dies_in_a_step(node: Node) -> None:
    agent = node()
    with pytest.raises(HostUnreachable, match="connection was lost while running probe") as caught:
        run(agent, probe("exit"))
    assert "exit code 7" in caught.value.why
    with pytest.raises(HostUnreachable, match="closed"):
        run(agent, probe("echo"))


def test_the_agent_is_killed(node: Node) -> None:
    agent = node()
    pid = run(agent, probe("pid"))[0].result["pid"]
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(HostUnreachable, match="lost while running probe"):
        run(agent, probe("sleep", "30"))


def test_the_controller_goes_away_and_nothing_is_left(node: Node) -> None:
    agent = node()
    pid = run(agent, probe("pid"))[0].result["pid"]
    threading.Timer(0.5, agent.close).start()
    with pytest.raises(HostUnreachable, match="closed by this run"):
        run(agent, probe("shell", "sleep 62.5 & exec sleep 62.5"))
    assert until(lambda: not running("sleep 62.5"))
    assert until(lambda: not alive(pid))


def test_a_transaction_may_finish_when_the_controller_goes_away(node: Node, tmp_path: Path) -> None:
    agent = node()
    mark = tmp_path / "whole"
    threading.Timer(0.5, agent.close).start()
    with pytest.raises(HostUnreachable):
        run(agent, probe("transaction", f"sleep 2.5; echo output; touch {mark}"), probe("shell", f"touch {tmp_path}/next", 2))
    assert until(mark.exists)
    time.sleep(0.3)
    assert not (tmp_path / "next").exists()


def test_a_key_press_in_the_terminal_does_not_reach_the_agent(node: Node) -> None:
    agent = node()
    pid = run(agent, probe("pid"))[0].result["pid"]
    os.kill(pid, signal.SIGINT)
    assert run(agent, probe("echo", "on"))[0].result["text"] == "on"


def test_a_polite_signal_ends_it(node: Node) -> None:
    agent = node()
    pid = run(agent, probe("pid"))[0].result["pid"]
    os.kill(pid, signal.SIGTERM)
    assert until(lambda: not alive(pid))


def test_an_error_in_the_engine_closes_the_stream(node: Node) -> None:
    agent = node()
    with pytest.raises(ZeroDivisionError):
        agent.run([probe("echo")], lambda reply: print(1 // 0))
    with pytest.raises(HostUnreachable, match="closed"):
        run(agent, probe("echo"))


# -- lock and journal ------------------------------------------------------------------------------------------------------------------


def test_one_run_at_a_time(node: Node) -> None:
    first = node(who="ann@laptop")
    with pytest.raises(HostUnreachable, match="another run holds this node: ann@laptop"):
        node(who="bob@desk")
    assert node("plan").info
    first.close()
    assert node(who="bob@desk", lock_wait=3.0).info


def test_the_second_run_waits(node: Node) -> None:
    first = node()
    threading.Timer(0.7, first.close).start()
    started = time.monotonic()
    assert node(who="bob@desk", lock_wait=60.0).info
    assert 0.4 < time.monotonic() - started < 50


def test_one_run_may_know_a_node_by_several_names(node: Node) -> None:
    first, second = node(), node(lock_wait=0.2)
    assert first.info.hostname == second.info.hostname


def test_handlers_are_noted_until_they_have_run(node: Node) -> None:
    agent = node()
    agent.journal(add=["restart a", "restart b", "restart a"])
    agent.close()
    agent = node(lock_wait=3.0)
    assert agent.info.pending == ("restart a", "restart b")
    assert node.journal.stat().st_mode & 0o777 == 0o600
    agent.journal(add=["reload c"], done=["restart a"])
    agent.close()
    agent = node(lock_wait=3.0)
    assert agent.info.pending == ("restart b", "reload c")
    agent.journal(done=["restart b", "reload c"])
    agent.close()
    assert until(lambda: not node.journal.exists())


@pytest.mark.parametrize("user", [None, "nobody"])
def test_a_step_has_its_handlers_noted_before_its_first_change(node: Node, user: str | None) -> None:
    """Whatever ends the controller, the agent or the node after the change, the next run knows what is due."""
    agent = node()
    due: dict[str, Any] = {"notify": ("restart a",), "user": user}
    run(agent, probe("echo", **due))
    assert not node.journal.exists()
    run(agent, probe("change", "true", quiet=True, **due))
    assert not node.journal.exists()
    [reply] = run(agent, probe("change", f"cat {node.journal} 2>&1 || ls {node.journal}", trial=True, **due))
    assert not node.journal.exists()
    assert reply.changes
    pid = run(agent, probe("pid"))[0].result["pid"]

    def kill() -> None:
        assert until(lambda: running("sleep 64.75"), 20)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(HostUnreachable):
        run(agent, probe("change", "exec sleep 64.75", **due))
    killer.join()
    if user:
        assert until(lambda: not running("sleep 64.75")), "the child outlived its agent"
    subprocess.run(["pkill", "-f", "sleep 64.75"], check=False)
    assert node(lock_wait=3.0).info.pending == ("restart a",)


def test_nothing_is_changed_whose_handlers_cannot_be_noted(node: Node, tmp_path: Path) -> None:
    agent = node()
    node.journal.parent.write_text("in the way")
    [reply] = run(agent, probe("change", f"touch {tmp_path}/changed", notify=("restart a",)))
    assert reply.result["failed"]
    assert "cannot note handlers on the node" in reply.result["msg"]
    assert not (tmp_path / "changed").exists()
    assert run(agent, probe("echo", "on"))[0].result["text"] == "on"


def test_a_plan_notes_nothing(node: Node) -> None:
    agent = node("plan")
    agent.journal(add=["restart a"])
    with pytest.raises(HostUnreachable, match="a plan notes no handlers"):
        run(agent, probe("echo"))


# -- plain commands --------------------------------------------------------------------------------------------------------------------


def test_execute(node: Node) -> None:
    agent = node()
    assert agent.execute("cat; echo err >&2; exit 5", stdin=b"in").stdout == b"in"
    end = agent.execute(["printf", "%s", "a b"])
    assert (end.rc, end.stdout, end.stderr) == (0, b"a b", b"")
    assert agent.execute(["no-such-command"]).rc == 127
    assert agent.execute("sleep 60", timeout=0.3).timed_out
    assert agent.execute("true", user="no-such-user").rc == 126


def test_execute_with_much_and_binary_output(node: Node) -> None:
    end = node().execute("head -c 52428800 /dev/urandom | tee /dev/stderr | sha256sum", timeout=60)
    assert len(end.stderr) == 50 << 20
    assert hashlib.sha256(end.stderr).hexdigest() == end.stdout.split()[0].decode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_execute_as_somebody_else(node: Node) -> None:
    end = node().execute("id -un; echo $HOME", user="nobody")
    assert end.stdout.split()[0] == b"nobody"


# -- the cache -------------------------------------------------------------------------------------------------------------------------


def test_an_apply_leaves_compiled_code_and_the_next_run_uses_it(node: Node) -> None:
    agent = node()
    run(agent, probe("echo"))
    agent.close()
    assert until(lambda: node.cache.exists() and len(list(node.cache.iterdir())) == 2)
    assert node.cache.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in node.cache.iterdir())
    before = {file.name: file.stat().st_mtime_ns for file in node.cache.iterdir()}
    agent = node(lock_wait=3.0)
    run(agent, probe("echo"))
    agent.close()
    time.sleep(0.2)
    assert {file.name: file.stat().st_mtime_ns for file in node.cache.iterdir()} == before


@pytest.mark.parametrize(("mode", "wanted"), [("plan", True), ("apply", False)])
def test_nothing_is_kept_when_nothing_may_be(node: Node, mode: Mode, wanted: bool) -> None:
    agent = node(mode, cache=wanted)
    run(agent, probe("echo"))
    agent.close()
    time.sleep(0.2)
    assert not node.cache.exists()


@pytest.mark.parametrize("damage", ["truncated", "other bytes", "writable", "foreign folder", "link"])
def test_a_cache_that_cannot_be_trusted_is_not_used(node: Node, damage: str, tmp_path: Path) -> None:
    agent = node()
    run(agent, probe("echo"))
    agent.close()
    assert until(lambda: node.cache.exists() and len(list(node.cache.iterdir())) == 2)
    for file in list(node.cache.iterdir()):
        data = file.read_bytes()
        if damage == "truncated":
            file.write_bytes(data[: len(data) // 2])
        elif damage == "other bytes":
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        elif damage == "writable":
            file.write_bytes(b"x")
            file.chmod(0o666)
        elif damage == "link":
            copy = tmp_path / file.name
            copy.write_bytes(b"x")
            file.unlink()
            file.symlink_to(copy)
    if damage == "foreign folder":
        node.cache.chmod(0o777)
    try:
        assert run(node(lock_wait=3.0), probe("echo", "fine"))[0].result["text"] == "fine"
    finally:
        node.cache.chmod(0o700)


def test_tracebacks_name_lines_with_a_warm_cache_too(node: Node) -> None:
    agent = node()
    run(agent, probe("echo"))
    agent.close()
    assert until(lambda: node.cache.exists() and len(list(node.cache.iterdir())) == 2)
    with pytest.raises(HostUnreachable) as caught:
        run(node(lock_wait=3.0), probe("raise", "oh"))
    assert 'File "provisioner/node/session.py", line' in caught.value.why
    assert "raise RuntimeError(p.text)" in caught.value.why
