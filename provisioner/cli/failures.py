"""Turns whatever ended a command into words on stderr and an exit code: the one place where errors are shown."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from provisioner import __version__
from provisioner.cli.process import process, silence, use_color
from provisioner.diagnostics import Diagnostic, Diagnostics, folded
from provisioner.errors import InputError, Interrupted, ProvisionError

USAGE = 1
BROKEN_PIPE = 141
SHOWN_AT_MOST = 50
FULL = (errno.ENOSPC, errno.EDQUOT)


def report(error: BaseException) -> int:
    """Show an error and give the exit code it asks for; an exception that is nobody's mistake but ours goes to a crash file.

    A command that was to print JSON prints a document all the same: one that says what is wrong.
    """
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    code, problems = _told(error)
    if process.document_of:
        _write_document(code, problems)
    return code


def _told(error: BaseException) -> tuple[int, list[Diagnostic]]:
    """Show the error; its exit code and what it consists of."""
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        _write("interrupted")
        return Interrupted.exit_code, [Diagnostic("interrupted")]
    if isinstance(error, click.ClickException):
        _write(_usage_text(error))
        return USAGE, [Diagnostic(error.format_message())]
    if isinstance(error, ProvisionError):
        problems = list(error.diagnostics) if isinstance(error, InputError) else [error.diagnostic()]
        show(problems)
        return error.exit_code, problems
    if isinstance(error, OSError) and error.errno in FULL:
        return _full(error)
    return _report_bug(error), [Diagnostic(f"this is a bug in provision: {type(error).__name__}")]


def _full(error: OSError) -> tuple[int, list[Diagnostic]]:
    """A disk of this machine is full. What standard output still holds back would only fail again."""
    if error.filename is None:
        silence(sys.stdout)
    found = Diagnostic(
        f"cannot write {error.filename or 'the output'}: {error.strerror}", help="make room on this machine and run it again"
    )
    show([found])
    return 1, [found]


def _write_document(code: int, problems: list[Diagnostic]) -> None:
    from provisioner.report.json import write_json

    command, process.document_of = process.document_of, ""
    schema = {"apply": "provision.run/1", "plan": "provision.plan/1", "verify": "provision.verify/1"}.get(command, "provision.error/1")
    errors = [process.secrets.mask(item.render(source=False)) for item in problems if item.severity == "error"]
    warnings = [process.secrets.mask(item.render(source=False)) for item in problems if item.severity == "warning"]
    document = {"schema": schema, "command": command, "ok": False, "exit_code": code, "hosts": {}, "steps": [], "stats": {}}
    write_json(sys.stdout, {**document, "errors": errors, "warnings": warnings})


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr with their source lines: warnings first, so that the errors stand last; each file from top to bottom."""
    given = list(diagnostics)
    files: dict[str, int] = {}
    for item in given:
        files.setdefault(item.span.file if item.span else "", len(files))

    def place(item: Diagnostic) -> tuple[bool, int, int, int]:
        where = (files[item.span.file], item.span.line, item.span.column) if item.span else (files[""], 0, 0)
        return (item.severity == "error", *where)

    ordered = folded(sorted(given, key=place))
    colored = use_color(sys.stderr)
    for item in ordered[:SHOWN_AT_MOST]:
        _write(paint(process.secrets.mask(item.render()), item.severity) if colored else item.render())
    errors = sum(item.severity == "error" for item in given)
    if len(ordered) > SHOWN_AT_MOST:
        _write(f"… and {len(ordered) - SHOWN_AT_MOST} more problems")
    if errors > 1:
        _write(f"{errors} errors")


def raise_or_show(diagnostics: Diagnostics) -> None:
    """Raise ``InputError`` with all problems when there is an error among them, else show the warnings and go on."""
    if diagnostics.errors:
        raise InputError(diagnostics)
    show(diagnostics)


def paint(text: str, severity: str) -> str:
    """Colour the severity in the headline and dim the source lines."""
    headline, _, rest = text.partition("\n")
    word = f"{severity}: "
    before, found, message = headline.partition(word)
    if found:
        color = "red" if severity == "error" else "yellow"
        headline = before + click.style(word, fg=color, bold=True) + click.style(message, bold=True)
    lines = [click.style(line, fg="cyan") if " | " in line[:12] else line for line in rest.splitlines()]
    return "\n".join([headline, *lines])


def _write(text: str) -> None:
    sys.stdout.flush()
    print(process.secrets.mask(text), file=sys.stderr, flush=True)


def _usage_text(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None and type(error).__name__ == "NoArgsIsHelpError":  # a class that only newer versions of click have
        return context.get_help()
    text = f"error: {error.format_message()}"
    if context is not None:
        text += f"\n  {context.command.get_usage(context)}\n  help: provision{_command_words(context)} --help lists every option"
    return text


def _command_words(context: click.Context) -> str:
    words = context.command_path.split()[1:]
    return "".join(f" {word}" for word in words)


def _report_bug(error: BaseException) -> int:
    import traceback

    trace = process.secrets.mask("".join(traceback.format_exception(error)))
    lines = [f"error: this is a bug in provision: {type(error).__name__}: {error}"]
    if process.verbosity >= 3:
        lines.append(trace.rstrip())
    try:
        lines.append(f"  details: {_write_crash_file(trace)}")
    except OSError as refused:
        lines.append(f"  the details could not be written to a file ({refused}); run the command again with -vvv to see them")
    lines.append("  help: please report it with that file; it holds no values of variables and no secrets we know of")
    _write("\n".join(lines))
    return 1


def _write_crash_file(trace: str) -> Path:
    """Keep the traceback in a file that only its owner can read; arguments stay out, they may hold secrets."""
    import platform
    import tempfile

    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "provision"
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        base = Path(tempfile.gettempdir())
    stamp = time.strftime("%Y%m%d-%H%M%S")
    handle, name = tempfile.mkstemp(prefix=f"crash-{stamp}-", suffix=".txt", dir=base)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"provision {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{trace}")
    return Path(name)
