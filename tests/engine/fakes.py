"""A fleet of pretended nodes, and playbooks run on it from text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from provisioner.engine.actions import ACTIONS, STRUCTURAL
from provisioner.engine.options import Options
from provisioner.engine.run import Expect, Outcome, Run
from provisioner.errors import HostUnreachable, InputError
from provisioner.events import Event, StepFinished
from provisioner.inventory.model import Inventory
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Playbook
from provisioner.playbook.scope import LoadContext
from provisioner.ports import AgentInfo, Executed, Mode, Reply, Step, Target
from provisioner.schema.registry import ModuleInfo, Registry
from provisioner.values import Unknown

Answer = Callable[["FakeNode", Step], Mapping[str, Any]]


@dataclass
class FakeNode:
    """What there is behind a host: files, handlers noted, and what it was asked."""

    name: str
    files: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    noted: dict[str, None] = field(default_factory=dict)
    batches: list[list[Step]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    """Command line → result, or a list of results for one call after the other, or an exception."""
    jobs: dict[str, list[Any]] = field(default_factory=dict)
    """Name → what is in the background, and its reply."""
    down: bool = False
    before: Callable[[Step], None] | None = None

    @property
    def commands(self) -> list[str]:
        """The command lines that ran."""
        return [str(step.params.get("cmd") or step.params.get("_raw_params")) for step in self.steps if step.module in ("command", "shell")]


class FakeAgent:
    """Answers steps from a ``FakeNode``."""

    def __init__(self, node: FakeNode, target: Target, mode: Mode) -> None:
        self.node = node
        self.mode = mode
        self.target = target
        self.closed = False
        user = "root" if target.become else (target.user or "root")
        self.info = AgentInfo("3.11", user, 0, node.name, tuple(node.noted), login=target.user or "root")

    def run(
        self,
        steps: Sequence[Step],
        on_reply: Callable[[Reply], None],
        *,
        contents: Mapping[str, Callable[[], bytes]] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
        on_data: Callable[[int, bytes, bool], None] | None = None,
    ) -> int:
        """See ``ports.Agent``."""
        node = self.node
        if node.down or self.closed:
            raise HostUnreachable(f"{node.name} is down")
        node.batches.append(list(steps))
        for count, step in enumerate(steps, 1):
            if node.before is not None:
                node.before(step)
            node.steps.append(step)
            reply = self._reply(step, contents or {})
            if reply.changes and self.mode == "apply" and not step.trial:
                node.noted.update(dict.fromkeys(step.notify))
            on_reply(reply)
            if reply.result.get("failed"):
                return count
        return len(steps)

    def _reply(self, step: Step, contents: Mapping[str, Callable[[], bytes]]) -> Reply:
        planning = (self.mode == "plan" and not step.real) or step.trial
        unknown = next((value for value in step.params.values() if isinstance(value, Unknown)), None)
        if unknown is not None:
            return Reply(step.id, {"failed": False, "changed": False}, deferred=unknown.because)
        if step.background is not None and (self.mode == "apply" or step.real):
            reply = self._job(step)
        elif step.module == "async_status":
            reply = self._status(step)
        elif step.module in ("command", "shell", "slow"):
            reply = self._command(step, planning)
        elif step.module == "copy":
            reply = self._copy(step, contents, planning)
        elif step.module == "setup":
            reply = Reply(step.id, {"ansible_facts": {f"ansible_{name}": value for name, value in self.node.facts.items()}})
        else:
            reply = Reply(step.id, {"changed": False})
        if step.maybe:
            reply.tainted = step.maybe
            reply.changes = [{**change, "certain": False} for change in reply.changes]
        if step.quiet:
            reply.changes = []
            reply.result["changed"] = False
        return reply

    def _job(self, step: Step) -> Reply:
        """Start a job: what it will have done is known at once, and told from the second question on."""
        name = f"j{len(self.node.jobs) + 1}.1"
        assert step.background is not None, "only called for jobs"
        self.node.jobs[name] = [step.background, self._command(step, planning=False)]
        begun = {"ansible_job_id": name, "started": True, "finished": False, "results_file": f"{step.background.folder}/{name}"}
        return Reply(step.id, {**begun, "failed": False, "changed": True})

    def _status(self, step: Step) -> Reply:
        job = self.node.jobs.get(step.params["jid"])
        if step.params.get("mode") == "cleanup":
            self.node.jobs.pop(step.params["jid"])
            return Reply(step.id, {"changed": False})
        about = {"ansible_job_id": step.params["jid"], "started": True}
        if job is None:
            return Reply(step.id, {**about, "failed": True, "finished": True, "msg": "could not find job"})
        if len(job) == 2:
            job.append("asked")
            return Reply(step.id, {**about, "finished": False, "changed": False})
        return Reply(step.id, {**job[1].result, **about, "finished": True, "_job": {"changes": job[1].changes, "diffs": []}})

    def _command(self, step: Step, planning: bool) -> Reply:
        line = str(step.params.get("cmd") or step.params.get("_raw_params"))
        change = {"kind": "run_command", "target": line, "before": None, "after": "run", "certain": True}
        if planning:
            return Reply(step.id, {"changed": True, "failed": False, "cmd": line}, [change], unknown=f"running {line!r}")
        answer = self.node.answers.get(line, {})
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        rc = answer.get("rc", 1 if line.startswith("false") else 0)
        result = {"changed": True, "failed": rc != 0, "rc": rc, "stdout": answer.get("stdout", ""), "cmd": line}
        result["stdout_lines"] = str(result["stdout"]).splitlines()
        if rc:
            result["msg"] = "non-zero return code"
        return Reply(step.id, {**result, **answer}, [change])

    def _copy(self, step: Step, contents: Mapping[str, Callable[[], bytes]], planning: bool) -> Reply:
        dest, content = str(step.params["dest"]), step.params.get("content")
        if isinstance(content, Mapping) and "$content" in content:
            content = contents[content["$content"]]().decode()
        before = self.node.files.get(dest)
        if before == content:
            return Reply(step.id, {"changed": False, "dest": dest})
        if not planning:
            self.node.files[dest] = content
        change = {"kind": "write_file", "target": dest, "before": before, "after": content, "certain": True}
        return Reply(step.id, {"changed": True, "dest": dest}, [change], ["-a\n+b\n"] if step.diff else [])

    def journal(self, add: Sequence[str] = (), done: Sequence[str] = ()) -> None:
        """See ``ports.Agent``."""
        self.node.noted.update(dict.fromkeys(add))
        for name in done:
            self.node.noted.pop(name, None)

    def execute(
        self, command: str | Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, user: str | None = None
    ) -> Executed:
        """See ``ports.Agent``."""
        return Executed(0, b"", b"")

    def close(self) -> None:
        """See ``ports.Agent``."""
        self.closed = True


class Fleet:
    """Connects to pretended nodes; ``targets`` are those that were connected to."""

    def __init__(self, *names: str) -> None:
        self.nodes = {name: FakeNode(name) for name in names}
        self.targets: list[Target] = []
        self.raws: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def __call__(self, target: Target, mode: Mode) -> FakeAgent:
        with self._lock:
            self.targets.append(target)
            node = self.nodes.setdefault(target.host, FakeNode(target.host))
        if node.down:
            raise HostUnreachable(f"{target.host} does not answer", why="no route", help="switch it on")
        return FakeAgent(node, target, mode)

    def raw(self, target: Target, command: str, timeout: float | None = None) -> Executed:
        """See ``ports.Connect``."""
        self.raws.append((target.host, command))
        return Executed(0, b"raw output\n", b"")

    def __getitem__(self, name: str) -> FakeNode:
        return self.nodes[name]


class LooseRegistry(Registry):
    """Knows every action, declared or not, and ``slow``, a command of its own."""

    def find(self, name: str, collections: Any = ()) -> ModuleInfo | None:
        """See ``Registry``."""
        found = super().find(name, collections)
        if found is None and (name in ACTIONS or name in STRUCTURAL or name == "slow"):
            return ModuleInfo(name, "builtin", None, False)
        return found


@dataclass
class Ran:
    """A run that is over."""

    outcome: Outcome
    events: list[Event]
    fleet: Fleet

    @property
    def steps(self) -> list[StepFinished]:
        """All steps."""
        return [event for event in self.events if isinstance(event, StepFinished)]

    def shown(self, *, facts: bool = False) -> list[str]:
        """Steps in short: ``h1 task status``, with ``[item]``."""
        return [
            f"{step.host} {step.task}{f'[{step.item}]' if step.item is not None else ''} {step.status}"
            for step in self.steps
            if facts or step.action != "gather_facts"
        ]

    def of(self, task: str, host: str | None = None) -> StepFinished:
        """The one step of a task."""
        found = [step for step in self.steps if step.task == task and host in (None, step.host)]
        assert len(found) == 1, f"{task}: {self.shown()}"
        return found[0]

    def events_of(self, kind: type[Event]) -> list[Any]:
        """Events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


class Project:
    """A folder with playbooks, roles and an inventory, and a fleet to run them on."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        self.folder = folder
        self.fleet = Fleet(*hosts)
        self.inventory = Inventory()
        for host in hosts:
            self.inventory.add_host(host, ["nodes"])

    def write(self, name: str, text: str) -> Path:
        """Put a file into the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def load(self, *names: str) -> tuple[list[Playbook], Loader]:
        """Load playbooks; all errors are raised."""
        context = LoadContext(registry=LooseRegistry())
        loader = Loader(context)
        playbooks = [loader.load_playbook(self.folder / name) for name in names]
        if context.diagnostics.errors:
            raise InputError(context.diagnostics)
        return playbooks, loader

    def run(self, *names: str, options: Options | None = None, expect: Expect | None = None, **settings: Any) -> Ran:
        """Run playbooks of the project."""
        playbooks, loader = self.load(*(names or ("site.yml",)))
        events: list[Event] = []
        run = Run(playbooks, self.inventory, self.fleet, loader, replace(options or Options(), **settings), expect=expect)
        outcome = run.execute(events.append)
        return Ran(outcome, events, self.fleet)

    def play(self, tasks: str, *, head: str = "", **settings: Any) -> Ran:
        """Run one play on all nodes, without gathering facts; ``tasks`` and ``head`` are YAML with the indent of their place."""
        self.write("site.yml", f"- hosts: nodes\n  gather_facts: false\n{head}  tasks:\n{tasks}")
        return self.run(**settings)
