"""Every keyword of a play, role entry, block, task, handler and loop_control: its type, where it may stand, what it means.

The parser, the checks, the editor schema and ``docs`` read this table and know no keyword of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal[
    "bool", "int", "number", "percent", "text", "texts", "name", "tags", "conditions", "mapping", "environment", "defaults",
    "entries", "roles", "serial", "prompts", "arguments", "action", "loop", "variable", "any",
]  # fmt: skip
"""How a value is checked; ``texts`` is a text or a list of texts, ``conditions`` an expression or a list of them."""


class Keyword(NamedTuple):
    """One keyword. ``static``: its value may not be a template."""

    name: str
    kind: Kind
    where: str
    help: str
    static: bool = False


# where: P play, R role entry, B block, T task, H handler
_TABLE = (
    Keyword("action", "action", "TH", "The action with its arguments, as one text or as a mapping with 'module'."),
    Keyword("always", "entries", "B", "Tasks that run in any case, after block and rescue."),
    Keyword("any_errors_fatal", "bool", "PRBTH", "A failure on one host ends the play on all hosts."),
    Keyword("args", "arguments", "TH", "More arguments of the action; those written at the action win."),
    Keyword("async", "int", "TH", "Run in the background, for at most so many seconds."),
    Keyword("become", "bool", "PRBTH", "Run as another user (root unless become_user says otherwise)."),
    Keyword("become_exe", "text", "PRBTH", "The program that changes the user."),
    Keyword("become_flags", "text", "PRBTH", "Flags for that program."),
    Keyword("become_method", "text", "PRBTH", "How to become the other user: sudo or su."),
    Keyword("become_user", "text", "PRBTH", "The user to become."),
    Keyword("block", "entries", "B", "Tasks that share keywords, and failures handled by rescue and always."),
    Keyword("changed_when", "conditions", "TH", "When the task counts as changed."),
    Keyword("check_mode", "bool", "PRBTH", "Plan this even in an apply (true), or run it even in a plan (false)."),
    Keyword("collections", "texts", "PRBTH", "Collections to look for short names in.", static=True),
    Keyword("connection", "text", "PRBTH", "How to reach the host: ssh, local, docker, podman."),
    Keyword("debugger", "text", "PRBTH", "Accepted for compatibility; there is no task debugger."),
    Keyword("delay", "number", "TH", "Seconds between two tries of an until loop."),
    Keyword("delegate_facts", "bool", "RBTH", "Facts of a delegated task belong to the host it was delegated to."),
    Keyword("delegate_to", "text", "RBTH", "Run the task on another host, with this host's variables."),
    Keyword("diff", "bool", "PRBTH", "Show differences of changed files."),
    Keyword("environment", "environment", "PRBTH", "Environment variables for the task: a mapping or a list of mappings."),
    Keyword("fact_path", "text", "P", "Folder of local facts for the play's fact gathering."),
    Keyword("failed_when", "conditions", "TH", "When the task counts as failed."),
    Keyword("force_handlers", "bool", "P", "Run notified handlers even on hosts that failed."),
    Keyword("gather_facts", "bool", "P", "Gather facts before the first task."),
    Keyword("gather_subset", "texts", "P", "Which facts to gather."),
    Keyword("gather_timeout", "int", "P", "Seconds that gathering one kind of fact may take."),
    Keyword("handlers", "entries", "P", "Tasks that run only when notified."),
    Keyword("hosts", "texts", "P", "Pattern of the hosts the play runs on."),
    Keyword("ignore_errors", "bool", "PRBTH", "A failure of the task does not take the host out of the play."),
    Keyword("ignore_unreachable", "bool", "PRBTH", "A lost connection does not take the host out of the play."),
    Keyword("listen", "texts", "H", "Topics that notify this handler besides its name.", static=True),
    Keyword("local_action", "action", "TH", "Like action, delegated to localhost."),
    Keyword("loop", "loop", "TH", "The list to run the task over, one item a time."),
    Keyword("loop_control", "mapping", "TH", "Names, label and pace of the loop."),
    Keyword("max_fail_percentage", "percent", "P", "End the play when more than so many percent of the batch failed."),
    Keyword("module_defaults", "defaults", "PRBTH", "Default arguments by module name or group/NAME."),
    Keyword("name", "name", "PRBTH", "What is shown for it; notify and --start-at-task refer to it."),
    Keyword("no_log", "bool", "PRBTH", "Hide arguments and results of the task."),
    Keyword("notify", "texts", "BTH", "Handlers or topics to notify when the task changed something."),
    Keyword("order", "text", "P", "Order of the hosts: inventory, reverse_inventory, sorted, reverse_sorted, shuffle."),
    Keyword("poll", "int", "TH", "Seconds between two looks at a background task; 0 does not wait for it."),
    Keyword("port", "int", "PRBTH", "Port of the connection."),
    Keyword("post_tasks", "entries", "P", "Tasks after tasks and their handlers."),
    Keyword("pre_tasks", "entries", "P", "Tasks before the roles."),
    Keyword("register", "variable", "TH", "Variable that takes the result.", static=True),
    Keyword("remote_user", "text", "PRBTH", "User to log in as."),
    Keyword("rescue", "entries", "B", "Tasks that run when one of block failed."),
    Keyword("retries", "int", "TH", "How often an until loop tries again."),
    Keyword("roles", "roles", "P", "Roles to run between pre_tasks and tasks."),
    Keyword("run_once", "bool", "PRBTH", "Run on the first host of the batch only; all hosts share the result."),
    Keyword("serial", "serial", "P", "Hosts per batch: a number, a percentage, or a list of them."),
    Keyword("strategy", "text", "P", "How hosts advance: linear, free, host_pinned."),
    Keyword("tags", "tags", "PRBTH", "Words that --tags and --skip-tags select by."),
    Keyword("tasks", "entries", "P", "The main list of tasks."),
    Keyword("throttle", "int", "PRBTH", "At most so many hosts at a time."),
    Keyword("timeout", "int", "PRBTH", "Seconds the task may take."),
    Keyword("until", "conditions", "TH", "Repeat the task until this holds."),
    Keyword("vars", "mapping", "PRBTH", "Variables."),
    Keyword("vars_files", "any", "P", "Files of variables; a list inside the list takes the first that exists."),
    Keyword("vars_prompt", "prompts", "P", "Variables to ask the operator for."),
    Keyword("when", "conditions", "RBTH", "Run only where this holds."),
)  # fmt: skip

KEYWORDS = {keyword.name: keyword for keyword in _TABLE}


def _at(letter: str) -> dict[str, Keyword]:
    return {keyword.name: keyword for keyword in _TABLE if letter in keyword.where}


PLAY = _at("P")
ROLE = _at("R")
BLOCK = _at("B")
TASK = _at("T")
HANDLER = _at("H")

LOOP_CONTROL = {
    keyword.name: keyword
    for keyword in (
        Keyword("loop_var", "variable", "", "Name of the variable that holds the item."),
        Keyword("index_var", "variable", "", "Name of the variable that holds the index, from 0."),
        Keyword("label", "any", "", "What is shown for an item."),
        Keyword("pause", "number", "", "Seconds between two items."),
        Keyword("extended", "bool", "", "Provide ansible_loop with first, last, length and the like."),
        Keyword("extended_allitems", "bool", "", "Whether ansible_loop holds all items."),
        Keyword("break_when", "conditions", "", "End the loop early after an item for which this holds."),
    )
}

IMPORT_PLAYBOOK = {name: KEYWORDS[name] for name in ("name", "tags", "vars", "when")}

_OF_INCLUDES = """
action args collections debugger ignore_errors listen local_action loop loop_control name no_log register run_once tags timeout vars when
"""
INCLUDE = frozenset(_OF_INCLUDES.split())
"""What may stand at include_tasks and include_role; all else would be meant for the included tasks, which ``apply`` is for."""
ON_IMPORTED_PLAYS = (frozenset(PLAY) & frozenset(BLOCK)) - frozenset(IMPORT_PLAYBOOK)
"""Keywords that Ansible reads at import_playbook, and that do nothing there."""

SHARED = (frozenset(PLAY) & frozenset(BLOCK) | {"when", "delegate_to", "delegate_facts"}) - {"name"}
"""Keywords that become ``Directives``."""

REMOVED = {
    "accelerate": "accelerated mode is gone",
    "always_run": "use check_mode: false",
    "sudo": "use become",
    "sudo_user": "use become_user",
    "su": "use become with become_method: su",
    "su_user": "use become_user",
    "static": "use import_tasks or include_tasks",
    "first_available_file": "use with_first_found",
}
"""Keywords that Ansible had once, with what replaces them."""

PROMPT_KEYS = ("name", "prompt", "private", "default", "confirm", "encrypt", "salt", "salt_size", "unsafe")
ORDERS = ("inventory", "reverse_inventory", "sorted", "reverse_sorted", "shuffle")
STRATEGIES = ("linear", "free", "host_pinned", "debug")


def misplaced(name: str) -> str:
    """Where a keyword that stands in the wrong place belongs, e.g. ``a play``; empty when it is no keyword at all."""
    keyword = KEYWORDS.get(name)
    if keyword is None:
        return ""
    names = {"P": "plays", "R": "role entries", "B": "blocks", "T": "tasks", "H": "handlers"}
    return _and([names[letter] for letter in keyword.where])


def _and(words: Iterable[str]) -> str:
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
