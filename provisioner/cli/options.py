"""Options that commands share, under the names that ansible-playbook gives them, gathered into one ``Choices``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from provisioner.cli.process import process

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


@dataclass(frozen=True)
class Choices:
    """What the operator chose on the command line; None and empty mean "not said": settings and defaults decide."""

    more_inventories: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    skip_tags: tuple[str, ...] = ()
    start_at_task: str | None = None
    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()
    vault_password_files: tuple[str, ...] = ()
    ask_vault_password: bool = False
    user: str | None = None
    connection: str | None = None
    private_key: str | None = None
    timeout: float | None = None
    ssh_args: str | None = None
    ask_password: bool = False
    password_file: str | None = None
    become: bool = False
    become_user: str | None = None
    become_method: str | None = None
    ask_become_password: bool = False
    become_password_file: str | None = None
    forks: int | None = None
    force_handlers: bool = False
    flush_cache: bool = False
    diff: bool = False
    check: bool = False
    list_hosts: bool = False
    list_tasks: bool = False
    list_tags: bool = False
    syntax_check: bool = False
    form: str = "text"


_NAMES = frozenset(field.name for field in fields(Choices))


def _verbosity(_context: click.Context, _parameter: click.Parameter, count: int) -> None:
    process.verbosity = max(process.verbosity, count)


def _color(_context: click.Context, _parameter: click.Parameter, wanted: bool | None) -> None:
    if wanted is not None:
        process.color = wanted


GENERAL: tuple[Decorator, ...] = (
    click.option("-v", "--verbose", count=True, expose_value=False, callback=_verbosity, help="Say more; -vvv shows internals."),
    click.option(
        "--color/--no-color", default=None, expose_value=False, callback=_color, help="Colours, or none.  [default: on a terminal]"
    ),
)
INVENTORY: tuple[Decorator, ...] = (
    click.option(
        "-i", "--inventory", "more_inventories", multiple=True, metavar="SOURCE", help="One more inventory: file, folder or host,…"
    ),
    click.option("-l", "--limit", multiple=True, metavar="PATTERN", help="Only these hosts; @FILE reads patterns from a file."),
)
VARIABLES: tuple[Decorator, ...] = (
    click.option("-e", "--extra-vars", multiple=True, metavar="VARS", help="Variables that win over all others: k=v, YAML, JSON or @FILE."),
    click.option("--vault-id", "vault_ids", multiple=True, metavar="ID@WHERE", help="A vault password: ID@FILE or ID@prompt."),
    click.option(
        "--vault-password-file",
        "--vault-pass-file",
        "vault_password_files",
        multiple=True,
        metavar="FILE",
        help="File or script with a vault password.",
    ),
    click.option("-J", "--ask-vault-password", "--ask-vault-pass", "ask_vault_password", is_flag=True, help="Ask for the vault password."),
)
SELECTION: tuple[Decorator, ...] = (
    click.option("-t", "--tags", multiple=True, metavar="TAGS", help="Only tasks with these tags."),
    click.option("--skip-tags", multiple=True, metavar="TAGS", help="No tasks with these tags."),
    click.option("--start-at-task", metavar="NAME", help="Begin with this task."),
)
LISTING: tuple[Decorator, ...] = (
    click.option("--list-hosts", is_flag=True, help="List the hosts of each play and stop."),
    click.option("--list-tasks", is_flag=True, help="List the tasks and stop."),
    click.option("--list-tags", is_flag=True, help="List the tags and stop."),
    click.option("--syntax-check", is_flag=True, help="Check the playbooks and stop; as lint."),
)
CONNECTION: tuple[Decorator, ...] = (
    click.option("-u", "--user", metavar="NAME", help="Log in as this user."),
    click.option("-c", "--connection", metavar="KIND", help="ssh, local, docker or podman."),
    click.option("--private-key", "--key-file", "private_key", metavar="FILE", help="Log in with this key."),
    click.option(
        "--timeout", "-T", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Limit for connecting.  [default: 10]"
    ),
    click.option("--ssh-common-args", "ssh_args", metavar="ARGS", help="Options as for ssh, e.g. '-J bastion'."),
    click.option("-k", "--ask-pass", "ask_password", is_flag=True, help="Ask for the login password."),
    click.option(
        "--connection-password-file", "--conn-pass-file", "password_file", metavar="FILE", help="File or script with the login password."
    ),
    click.option("-b", "--become", is_flag=True, help="Become another user (root unless said)."),
    click.option("--become-user", metavar="NAME", help="Whom to become.  [default: root]"),
    click.option("--become-method", metavar="METHOD", help="sudo, su or doas.  [default: sudo]"),
    click.option("-K", "--ask-become-pass", "ask_become_password", is_flag=True, help="Ask for the password of sudo or su."),
    click.option(
        "--become-password-file", "--become-pass-file", "become_password_file", metavar="FILE", help="File or script with that password."
    ),
    click.option("-f", "--forks", type=click.IntRange(min=1), metavar="N", help="Hosts at work at the same time.  [default: 50]"),
)
RUNNING: tuple[Decorator, ...] = (
    click.option("--force-handlers", is_flag=True, help="Run notified handlers also on hosts where a task failed."),
    click.option("--flush-cache", is_flag=True, help="Forget what fact_caching keeps of the hosts."),
)
DIFF: tuple[Decorator, ...] = (click.option("-D", "--diff", is_flag=True, help="Show what changes inside files."),)
TARGETING = GENERAL + INVENTORY + VARIABLES + CONNECTION
PLAYING = TARGETING + SELECTION + LISTING + RUNNING + DIFF


def form(*choices: str) -> Decorator:
    """``--format`` with these choices, the first being the default."""
    return click.option("--format", "form", type=click.Choice(choices), default=choices[0], show_default=True, help="Form of the output.")


def shared(*options: Decorator) -> Callable[[Function], Function]:
    """Give a command these options; it receives them as its first argument, ``choices``, and its own as usual."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def gather(**values: Any) -> Any:
            choices = Choices(**{name: values.pop(name) for name in tuple(values) if name in _NAMES})
            process.document_of = str(click.get_current_context().info_name) if choices.form == "json" else ""
            return function(choices, **values)

        command: Any = gather
        for option in reversed(options):
            command = option(command)
        return command  # type: ignore[no-any-return]

    return decorate
