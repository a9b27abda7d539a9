"""A few real nodes and the real command line, for tests that must not be fooled by a fake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioner import lab
from provisioner.lab import operations

ROOT = Path(__file__).parents[2]
PROVISION = [sys.executable, "-m", "provisioner"]


@dataclass
class Said:
    """What a command ended with and wrote."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def all(self) -> str:
        """Both outputs."""
        return self.out + self.err

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it must be."""
        data: dict[str, Any] = json.loads(self.out)
        return data

    def step(self, task: str, host: str | None = None) -> dict[str, Any]:
        """The step of a task (on a host) in the document."""
        found = [step for step in self.document["steps"] if step["task"] == task and host in (None, step["host"])]
        assert len(found) == 1, f"{len(found)} steps of {task!r}: {self.all}"
        step: dict[str, Any] = found[0]
        return step


@dataclass
class Started:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    log: Path
    begun: float = field(default_factory=time.monotonic)

    def wait(self, timeout: float = 60) -> Said:
        """Its end."""
        self.process.wait(timeout)
        out, err = (self.log.with_suffix(suffix).read_text("utf-8", "replace") for suffix in (".out", ".err"))
        return checked(Said(self.process.returncode, out, err, time.monotonic() - self.begun))


@dataclass
class Fleet:
    """A lab's nodes and a project folder whose playbooks run on them."""

    lab: lab.Lab
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the nodes, in order."""
        return [node.name for node in self.lab.nodes]

    @property
    def inventory(self) -> Path:
        """The lab's own inventory."""
        return self.lab.inventory

    # The project

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def play(self, tasks: str, handlers: str = "", *, hosts: str = "all", keywords: str = "", name: str = "site.yml") -> Path:
        """Write a playbook of one play that becomes root and gathers no facts."""
        text = f"- name: Try\n  hosts: {hosts}\n  become: true\n  gather_facts: false\n"
        text += _indented(keywords, 2) + "  tasks:\n" + _indented(tasks, 4)
        if handlers:
            text += "  handlers:\n" + _indented(handlers, 4)
        return self.write(name, text)

    def inventory_of(self, hosts: dict[str, dict[str, Any]], name: str = "hosts.json") -> Path:
        """An inventory of some nodes under their own or other names, each with more variables; ``node`` says which node (by position)."""
        entries = {}
        for host, given in hosts.items():
            variables = dict(given)
            node = variables.pop("node", None)
            entries[host] = {**({"ansible_host": self.lab.nodes[node].address} if node is not None else {}), **variables}
        shared = {
            "ansible_user": "admin",
            "ansible_ssh_private_key_file": str(self.lab.key),
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={self.lab.known_hosts}",
        }
        return self.write(name, json.dumps({"all": {"hosts": entries, "vars": shared}}))

    # Commands

    def __call__(self, command: str, *arguments: object, inventory: Path | None = None, timeout: float = 120, **env: str) -> Said:
        """Run ``provision COMMAND INVENTORY ARGUMENTS`` to its end."""
        return self.bare(command, inventory or self.inventory, *arguments, timeout=timeout, **env)

    def bare(self, *arguments: object, timeout: float = 120, **env: str) -> Said:
        """Run ``provision ARGUMENTS`` to its end."""
        begun = time.monotonic()
        done = subprocess.run(
            [*PROVISION, *map(str, arguments)],
            cwd=self.folder,
            env=self.surroundings(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
        )
        out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return checked(Said(done.returncode, out, err, time.monotonic() - begun))

    def start(self, command: str, *arguments: object, inventory: Path | None = None, **env: str) -> Started:
        """Start ``provision COMMAND INVENTORY ARGUMENTS``, in a process group of its own."""
        log = self.folder / f"log{time.monotonic_ns()}"
        with log.with_suffix(".out").open("wb") as out, log.with_suffix(".err").open("wb") as err:
            process = subprocess.Popen(
                [*PROVISION, command, str(inventory or self.inventory), *map(str, arguments)],
                cwd=self.folder,
                env=self.surroundings(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return Started(process, log)

    def surroundings(self, more: dict[str, str]) -> dict[str, str]:
        """The environment of a command."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PROVISION_"))}
        state = {"PROVISION_STATE": os.environ["PROVISION_STATE"]} if "PROVISION_STATE" in os.environ else {}
        own = {"PYTHONPATH": str(ROOT), "COLUMNS": "120", "HOME": str(self.folder / "home"), "NO_COLOR": "1"}
        return {**kept, **state, **own, **self.environment, **more}

    # The nodes

    def on(self, node: int, script: str, *, check: bool = True) -> str:
        """What a root shell on a node (by position, from 0) prints."""
        chosen = self.lab.nodes[node]
        command = operations.ssh_command(self.lab, chosen, ["sudo", "-n", "bash", "-s"])
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60, errors="replace")
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def await_on(self, node: int, condition: str, timeout: float = 20) -> None:
        """Wait until a shell condition holds on a node."""
        self.on(node, f"for i in $(seq {round(timeout * 20)}); do if {condition}; then exit 0; fi; sleep 0.05; done; echo never; exit 1")

    def agents(self, node: int) -> str:
        """The agents' processes on a node."""
        return self.on(node, "pgrep -fa 'python.*(provision|import zlib|exec)' | grep -v pgrep || true")


def checked(said: Said) -> Said:
    """The same, unless there is a trace of ours in it: nobody shall ever see one."""
    assert "Traceback (most recent call last)" not in said.all, said.all
    assert "bug of provision" not in said.all, said.all
    return said


def wait_for(condition: Callable[[], bool], timeout: float = 20, what: str = "it") -> None:
    """Wait until something holds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {timeout:g} s"
        time.sleep(0.05)


def _indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.strip("\n").splitlines())
