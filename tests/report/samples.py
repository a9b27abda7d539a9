"""Hand-made runs that the report tests show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from provisioner.diagnostics import Diagnostic, Span
from provisioner.events import (
    Event,
    HandlerNotified,
    HostLost,
    PlayFinished,
    PlayStarted,
    RunFinished,
    RunStarted,
    Stats,
    StepFinished,
    TaskFinished,
    TaskStarted,
    Warned,
)

SITE = "playbooks/site.yml"
DRIVER = "playbooks/roles/driver/tasks/main.yml"


def change(kind: str, target: str, before: Any = None, after: Any = None, *, certain: bool = True) -> dict[str, Any]:
    """A change as events carry it."""
    return {"kind": kind, "target": target, "before": before, "after": after, "certain": certain}


def step(host: str, task: str, status: str = "ok", **details: Any) -> StepFinished:
    """A finished step of play ``GPU nodes``; ``line`` places it in the playbook."""
    line = details.pop("line", 10)
    role = details.pop("role", None)
    source = Span(DRIVER if role else SITE, line)
    item = details.get("item")
    address = f"play[0]/{source}" + (f"#{item}" if item is not None else "")
    return StepFinished(
        host=host,
        play="GPU nodes",
        role=role,
        task=task,
        action=details.pop("action", "copy"),
        source=source,
        status=status,  # type: ignore[arg-type]
        address=address,
        **details,
    )


def end(first: StepFinished, status: str | None = None) -> TaskFinished:
    """The end of the task that a step belongs to."""
    return TaskFinished(
        host=first.host,
        play=first.play,
        task=first.task,
        action=first.action,
        source=first.source,
        status=status or first.status,  # type: ignore[arg-type]
        address=first.address.partition("#")[0],
        ignored=first.ignored,
        rescued=first.rescued,
        handler=first.handler,
    )


def task(*steps: StepFinished) -> list[Event]:
    """A task: its start, its steps, and one end a host (the worst status of its items)."""
    first = steps[0]
    events: list[Event] = [
        TaskStarted(first.play, first.role, first.task, first.action, first.source, first.address.partition("#")[0], first.handler)
    ]
    rank = ["skipped", "ok", "changed", "maybe", "deferred", "failed", "unreachable"]
    for host in dict.fromkeys(each.host for each in steps):
        mine = [each for each in steps if each.host == host]
        events += mine
        events.append(end(mine[0], max((each.status for each in mine), key=rank.index)))
    return events


def run(
    tasks: Iterable[Iterable[Event]],
    hosts: tuple[str, ...] = ("gpu01", "gpu02", "gpu03"),
    *,
    mode: str = "apply",
    exit_code: int = 0,
    pending: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Event]:
    """A whole run of one play."""
    events: list[Event] = [RunStarted(mode, mode, (SITE,), hosts), PlayStarted("GPU nodes", hosts, 0, Span(SITE, 3))]  # type: ignore[arg-type]
    for each in tasks:
        events += each
    events.append(PlayFinished("GPU nodes", 0))
    stats: dict[str, Stats] = {host: Stats() for host in hosts}
    for event in events:
        if isinstance(event, TaskFinished):
            stats[event.host].count(event)
    events.append(RunFinished(exit_code == 0, exit_code, stats, 41.24, pending or {}))
    return events


def fleet(status: str = "ok", name: str = "pin the branch", *hosts: str, **details: Any) -> list[Event]:
    """The same step on several hosts (gpu01 to gpu03 unless said)."""
    return task(*(step(host, name, status, **details) for host in hosts or ("gpu01", "gpu02", "gpu03")))


MOTD = change("write_file", "/etc/motd", None, {"sha256": "a" * 64, "size": 5, "mode": "0644", "owner": "root", "group": "root"})
MODE = change("set_mode", "/etc/shadow", "0644", "0600")
PACKAGE = change("install_packages", "nvidia-driver", {"nvidia-driver": None}, {"nvidia-driver": "535.183.01-1~deb12u1"})
RESTART = change("request_unit", "docker.service", "active", "restarted")


def broken() -> list[Event]:
    """A run in which something of everything happens."""
    apt = {"rc": 100, "stderr": "E: Could not get lock /var/lib/dpkg/lock-frontend\n", "cmd": ["apt-get", "install", "nvidia-driver"]}
    lost = HostLost("gpu03", "no route to gpu03", help="ssh gpu03 must work from here")
    unreachable = step("gpu03", "pin the branch", "unreachable", role="driver", line=4)
    return run(
        [
            fleet(name="Gathering Facts", action="setup", line=3),
            [
                *task(
                    step("gpu01", "pin the branch", "ok", role="driver", line=4),
                    step("gpu02", "pin the branch", "ok", role="driver", line=4),
                )
            ],
            [lost, unreachable, end(unreachable)],
            task(
                step("gpu01", "install", "changed", role="driver", line=9, action="apt", changes=(PACKAGE,)),
                step("gpu02", "install", "failed", role="driver", line=9, action="apt", msg="non-zero return code", result=apt),
            ),
            [HandlerNotified("gpu01", "restart docker", "package nvidia-driver")],
            [Warned(Diagnostic("gpu: driver branch 470 is out of support", Span("group_vars/gpu.yml", 2), severity="warning"))],
            fleet("changed", "login banner", "gpu01", changes=(MOTD, MODE)),
            task(step("gpu01", "restart docker", "changed", handler=True, action="service", changes=(RESTART,))),
        ],
        exit_code=2,
        pending={"gpu02": ("restart docker",)},
    )
