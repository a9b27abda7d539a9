"""A job, or a variable, in a cron table."""

from __future__ import annotations

import os

from ..declare import Module, Params, exclusive, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

MARK = "#Ansible: "
SPECIAL = ("annually", "daily", "hourly", "monthly", "reboot", "weekly", "yearly")
SPOOL = "/var/spool/cron/crontabs"


class CronParams(Params):
    """Parameters of ``cron``."""

    name: str = option("What the entry is called; a comment keeps it.")
    state: str = option("Whether it shall be there.", "present", choices=("absent", "present"))
    job: str | None = option("The command, or the value of a variable.", None, aliases=("value",))
    user: str | None = option("Whose table; the user the step runs as by default.", None)
    cron_file: str | None = option("A file in /etc/cron.d instead of a user's table.", None, kind="raw")
    minute: str = option("Minute.", "*")
    hour: str = option("Hour.", "*")
    day: str = option("Day of the month.", "*", aliases=("dom",))
    month: str = option("Month.", "*")
    weekday: str = option("Day of the week.", "*", aliases=("dow",))
    special_time: str | None = option("A nickname instead of the five fields.", None, choices=SPECIAL)
    disabled: bool = option("Keep the entry, commented out.", False)
    env: bool = option("The entry is a variable.", False)
    insertafter: str | None = option("A variable goes after this one.", None)
    insertbefore: str | None = option("A variable goes before this one.", None)
    backup: bool = option("Keep a copy of the old table.", False)


def run(node: Node, p: CronParams) -> dict[str, Any]:
    """Edit the table as a file."""
    if p.state == "present" and p.job is None:
        node.fail("job is needed with state: present (a variable's value, with env)")
    if "\n" in (p.job or "") or "\n" in p.name:
        node.fail("a cron entry is one line: job and name may not hold a line break")
    if p.cron_file and p.user is None and p.state == "present" and not p.env:
        node.fail("user is needed with cron_file: each entry of such a file says who runs it")
    path, table = _table(node, p)
    old = node.files.read(path).decode("utf-8", "surrogateescape") if node.files.exists(path) else ""
    lines = old.splitlines()
    lines = _variable(node, p, lines) if p.env else _job(p, lines)
    new = "".join(f"{line}\n" for line in lines)
    result: dict[str, Any] = {}
    if lines != old.splitlines():
        _store(node, p, path, new, table, bool(old))
    if p.backup and old:
        backups = [change.target for change in node.recorder.changes if change.target != path]
        if backups:
            result["backup_file"] = backups[0]
    names = [line[len(MARK) :] for line in lines if line.startswith(MARK)]
    envs = [line.partition("=")[0].strip() for line in lines if _is_variable(line)]
    return {**result, "jobs": names, "envs": envs, **({"cron_file": path} if p.cron_file else {})}


def _table(node: Node, p: CronParams) -> tuple[str, str | None]:
    """The file, and the user whose table it is."""
    if p.cron_file:
        return (p.cron_file if p.cron_file.startswith("/") else f"/etc/cron.d/{p.cron_file}"), None
    user = p.user
    if user is None:
        import pwd

        user = pwd.getpwuid(node.reader.account()[0]).pw_name
    if node.accounts.user(user) is None:
        node.fail(f"the user {user} does not exist, so it can have no cron table; create it first")
    if not node.files.exists(SPOOL):
        node.fail(f"{SPOOL} does not exist; install the package cron first")
    return os.path.join(SPOOL, user), user


def _store(node: Node, p: CronParams, path: str, text: str, user: str | None, existed: bool) -> None:
    if user is not None:
        group = "crontab" if node.accounts.group("crontab") is not None else None
        node.files.write(path, text, mode="0600", owner=user, group=group, backup=p.backup and existed)
    elif not text.strip() and p.state == "absent":
        node.files.absent(path)
    else:
        node.files.write(path, text, mode=None if existed else "0644", backup=p.backup and existed)


def _job(p: CronParams, lines: list[str]) -> list[str]:
    """The table with the entry of this name as wanted; an entry without our comment but with the same job is adopted."""
    marker = MARK + p.name
    wanted = [marker, _line(p)] if p.state == "present" else []
    result: list[str] = []
    done = False
    index = 0
    while index < len(lines):
        line = lines[index]
        if line == marker:
            result += [] if done else wanted
            done = True
            index += 2
            continue
        adopted = p.state == "present" and not done and line.strip() == _line(p) and (not result or not result[-1].startswith(MARK))
        if adopted:
            result += wanted
            done = True
        else:
            result.append(line)
        index += 1
    return result if done or not wanted else [*result, *wanted]


def _line(p: CronParams) -> str:
    """The entry itself; % keeps its meaning for cron."""
    when = f"@{p.special_time}" if p.special_time else " ".join((p.minute, p.hour, p.day, p.month, p.weekday))
    who = f"{p.user} " if p.cron_file else ""
    off = "#" if p.disabled else ""
    return f"{off}{when} {who}{p.job}"


def _is_variable(line: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(equals) and name.strip().isidentifier()


def _variable(node: Node, p: CronParams, lines: list[str]) -> list[str]:
    def named(line: str, name: str | None) -> bool:
        return _is_variable(line) and line.partition("=")[0].strip() == name

    kept = [line for line in lines if not named(line, p.name)]
    if p.state == "absent":
        return kept
    entry = f'{p.name}="{p.job}"'
    at = next((index for index, line in enumerate(lines) if named(line, p.name)), None)
    if at is not None:
        return [entry if index == at else line for index, line in enumerate(lines) if index == at or not named(line, p.name)]
    anchor = p.insertafter or p.insertbefore
    if anchor is None:
        return [entry, *kept]
    place = next((index for index, line in enumerate(kept) if named(line, anchor)), None)
    if place is None:
        node.fail(f"there is no variable {anchor} to put {p.name} beside")
    place += 1 if p.insertafter else 0
    return [*kept[:place], entry, *kept[place:]]


MODULE = Module(
    name="cron",
    summary="A job, or a variable, in a cron table.",
    params=CronParams,
    run=run,
    rules=(exclusive("insertafter", "insertbefore"),),
    examples="- cron: {name: GPU inventory, special_time: hourly, job: /usr/local/bin/gpu-inventory, user: root, cron_file: gpu}\n",
)
