"""What the command line asks for, held against playbooks and inventory before any connection: hosts, limits, tags, the task to start at.

A typo must never look like success: a name that nothing has is an error, with the nearest ones that exist.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from provisioner.diagnostics import Diagnostics, did_you_mean
from provisioner.engine.options import Options
from provisioner.engine.selection import selected, starts_at, tag_set
from provisioner.inventory import Inventory
from provisioner.playbook.model import Block, Entry, Play, Playbook, RoleSource, Task
from provisioner.project.reach import check_hosts

SPECIAL_TAGS = frozenset({"all", "tagged", "untagged", "always", "never"})
_DYNAMIC = ("include_tasks", "include_role")


def check(playbooks: Sequence[Playbook], inventory: Inventory, options: Options) -> Diagnostics:
    """All problems that can be told from the files alone."""
    found = Diagnostics()
    if options.limit is not None:
        _merge(found, inventory.check(options.limit, option="--limit"))
    made: set[str] = set()
    for playbook in playbooks:
        for play in playbook.plays:
            made |= _made_groups(play)
    for playbook in playbooks:
        for play in playbook.plays:
            _check_hosts(play, inventory, made, found)
    for playbook in playbooks:
        for play in playbook.plays:
            _check_reach(play, inventory, options, found)
    plays = any(playbook.plays for playbook in playbooks)  # none where a file cannot be read: that is said already
    if plays and not found.errors and options.limit is not None and not _anybody(playbooks, inventory, options.limit):
        found.error(
            f"--limit {options.limit} leaves no host of these plays",
            help="the hosts of each play are shown by --list-hosts",
        )
    _check_tags(playbooks, options, found)
    _check_start(playbooks, options, found)
    return found


def tasks_of(play: Play) -> Iterator[tuple[Task, RoleSource | None, frozenset[str]]]:
    """Every task of a play that stands in its files, with its role and all its tags; handlers are not among them."""
    tags = tag_set(play.directives.tags)
    yield from _walk(play.pre_tasks, None, tags)
    for role in play.roles:
        yield from _walk((role.body,), role.source, tags)
    yield from _walk(play.tasks, None, tags)
    yield from _walk(play.post_tasks, None, tags)


def _walk(
    entries: Iterable[Entry], role: RoleSource | None, tags: frozenset[str]
) -> Iterator[tuple[Task, RoleSource | None, frozenset[str]]]:
    for entry in entries:
        mine = tags | tag_set(entry.directives.tags)
        inside = entry.role or role
        if isinstance(entry, Block):
            yield from _walk((*entry.tasks, *entry.rescue, *entry.always), inside, mine)
        else:
            yield entry, inside, mine


def _merge(found: Diagnostics, more: Diagnostics) -> None:
    for item in more:
        found.add(item)


def literal_hosts(play: Play) -> str | list[str] | None:
    """The hosts pattern, or None when it is a template, which only the run can tell."""
    hosts = play.hosts
    texts = hosts if isinstance(hosts, (list, tuple)) else [hosts]
    if any("{{" in str(text) or "{%" in str(text) for text in texts):
        return None
    return [str(text) for text in texts] if isinstance(hosts, (list, tuple)) else str(hosts)


def _check_hosts(play: Play, inventory: Inventory, made: set[str], found: Diagnostics) -> None:
    """The pattern of a play; groups and hosts that tasks make during the run are not missing."""
    pattern = literal_hosts(play)
    if pattern is None:
        return
    for item in inventory.check(pattern, play.spans.get("hosts", play.span)):
        if "*" in made or any(repr(name) in item.message for name in made):
            continue
        found.add(item)


def _check_reach(play: Play, inventory: Inventory, options: Options, found: Diagnostics) -> None:
    """How the hosts of a play are reached; nothing where the pattern is not known, or wrong and so reported already."""
    pattern = literal_hosts(play)
    if pattern is None or found.errors:
        return
    overridden = {*options.extra_vars, *play.directives.vars}
    _merge(found, check_hosts(inventory, inventory.match(pattern, options.limit), overridden, play.folder))


def _made_groups(play: Play) -> set[str]:
    """Names of hosts and groups that ``add_host`` and ``group_by`` will make; ``*`` when they are templates."""
    names: set[str] = set()
    for task, _role, _tags in tasks_of(play):
        if task.action not in ("add_host", "group_by"):
            continue
        for key in ("name", "hostname", "host", "groups", "group", "groupname", "key", "parents"):
            for text in _texts(task.args.get(key)):
                names |= {"*"} if "{{" in text else {part.strip() for part in text.split(",")}
        if task.args_template is not None:
            names.add("*")
    return names


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]


def _anybody(playbooks: Sequence[Playbook], inventory: Inventory, limit: str) -> bool:
    for playbook in playbooks:
        for play in playbook.plays:
            pattern = literal_hosts(play)
            if pattern is None or inventory.match(pattern, limit):
                return True
    return False


def _is_open(playbooks: Sequence[Playbook]) -> bool:
    """Whether tasks come in during the run, so that not all names are known here."""
    return any(task.action in _DYNAMIC for playbook in playbooks for play in playbook.plays for task, _, _ in tasks_of(play))


def _check_tags(playbooks: Sequence[Playbook], options: Options, found: Diagnostics) -> None:
    wanted = [("--tags", tag) for tag in sorted(options.tags)] + [("--skip-tags", tag) for tag in sorted(options.skip_tags)]
    wanted = [(option, tag) for option, tag in wanted if tag not in SPECIAL_TAGS]
    if not wanted:
        return
    known: set[str] = set()
    for playbook in playbooks:
        for play in playbook.plays:
            for task, _, tags in (*tasks_of(play), *_walk(play.handlers, None, frozenset())):
                known |= tags
                known |= tag_set((task.args.get("apply") or {}).get("tags", ())) if isinstance(task.args.get("apply"), dict) else set()
    if any("{{" in tag for tag in known):
        return
    runs = any(
        selected(tags, options.tags, options.skip_tags) for book in playbooks for play in book.plays for _, _, tags in tasks_of(play)
    )
    for option, tag in wanted:
        if tag not in known:
            # Where other tasks run all the same, such as those that always do, the tag may be meant for another playbook.
            add = found.warning if _is_open(playbooks) or (option == "--tags" and runs) else found.error
            names = ", ".join(sorted(known - SPECIAL_TAGS)[:12])
            add(
                f"{option} {tag}: no task has this tag",
                help=did_you_mean(tag, known) or (f"the tags are {names}" if names else "no task has any tag"),
                code="unknown-tag",
            )


def _check_start(playbooks: Sequence[Playbook], options: Options, found: Diagnostics) -> None:
    if options.start_at_task is None:
        return
    tasks = [(task, role) for playbook in playbooks for play in playbook.plays for task, role, _ in tasks_of(play)]
    if any(starts_at(options.start_at_task, task, role) for task, role in tasks):
        return
    names = list(dict.fromkeys(task.label for task, _ in tasks))
    lower = options.start_at_task.lower()
    near = next((name for name in names if fnmatch.fnmatch(name.lower(), f"*{lower}*")), "")
    add = found.warning if _is_open(playbooks) else found.error
    add(
        f"--start-at-task {options.start_at_task}: no task has this name",
        help=f"did you mean {near!r}?" if near else did_you_mean(options.start_at_task, names) or "the names are shown by --list-tasks",
        code="unknown-task",
    )
