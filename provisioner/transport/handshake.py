"""From a started command to an agent that has said ok: passwords, noise of login scripts, and what went wrong instead."""

from __future__ import annotations

import re
import time

from provisioner.errors import HostUnreachable, InterpreterMissing, MayNotBecome, WrongPassword
from provisioner.ports import Executed, Target
from provisioner.transport.bootstrap import INTERPRETERS, OLDEST, Start
from provisioner.transport.streams import Feeder, Question, Stream, run_plainly

SHOWN = 400
"""Characters of a node's own words that an error repeats."""
MOST_NOISE = 1 << 16
"""Bytes that login scripts may have written before the marker and that are kept."""
PASSWORD_NEEDED = re.compile(r"password is required|authentication is required|Authorization required")
PASSWORD_WRONG = re.compile(r"incorrect password|Sorry, try again|Authentication failure|incorrect authentication", re.IGNORECASE)
NO_TERMINAL = re.compile(r"must have a tty|no tty present|must be run from a terminal", re.IGNORECASE)
NOT_ALLOWED = re.compile(r"not in the sudoers|not allowed to (?:execute|run)|may not run sudo|Operation not permitted")


def begin(feeder: Feeder, start: Start, target: Target, first: bytes, patience: float) -> bytes:
    """Send ``first`` as soon as the node may have it, wait for the marker; returns what came behind it.

    Without a password ``first`` goes out at once, so a start costs no round trip of its own. With one it must wait: a second
    question would take the program for an answer.
    """
    if start.password is None:
        try:
            feeder.send(first, patience)
        except HostUnreachable:
            pass  # it has ended already, or hangs: what it said tells more, and is read now
    seen, asked = b"\n", False
    until = time.monotonic() + patience
    while True:
        piece = feeder.receive(1.0)
        if piece is None:
            raise _not_started(feeder, start, target, seen, asked)
        seen += piece
        noise, found, rest = seen.partition(start.marker)
        if found and b"\n" in rest:
            verdict, _, rest = rest.partition(b"\n")
            if verdict == b"ok":
                if start.password is not None:
                    feeder.send(first, patience)
                return rest
            raise _no_python(verdict.decode("utf-8", "replace"), target)
        if not found:
            seen = seen[-MOST_NOISE:]
        asked = _answer(feeder, start, target, asked, patience)
        if time.monotonic() >= until:
            raise _silent(feeder, noise, patience)
        feeder.check(until + 1, patience)


def run_raw(stream: Stream, start: Start, target: Target, timeout: float | None, patience: float) -> Executed:
    """Run the command of ``start`` to its end, giving a password when it is asked for."""
    if start.password is None:
        return run_plainly(stream, timeout)[0]
    end, asked = run_plainly(stream, timeout, Question(start.prompts, start.password.encode() + b"\n", patience))
    words = end.stderr.decode("utf-8", "replace")
    again = any(prompt in end.stderr for prompt in start.prompts)
    if asked and end.rc and not end.stdout and (again or PASSWORD_WRONG.search(words)):
        raise _wrong_password(target)
    return end


def _answer(feeder: Feeder, start: Start, target: Target, asked: bool, patience: float) -> bool:
    """Give the password when it is asked for; the second time it was wrong, and no third try may lock the account."""
    if start.password is None or not any(prompt in feeder.errors for prompt in start.prompts):
        return asked
    if asked:
        raise _wrong_password(target)
    feeder.errors = b""
    feeder.send(start.password.encode() + b"\n", patience)
    return True


def _method(target: Target) -> str:
    return target.become.method if target.become else "sudo"


def _wrong_password(target: Target) -> HostUnreachable:
    return WrongPassword(
        f"the {_method(target)} password is wrong",
        why="the node asked for it again; no second try was made, so that no account gets locked",
        help="give the right one with -K (--ask-become-pass) or in ansible_become_password",
    )


def _no_python(verdict: str, target: Target) -> HostUnreachable:
    oldest = ".".join(str(part) for part in OLDEST)
    install = "provision run INVENTORY -m raw -a 'apt-get install -y python3' -b"
    if verdict == "password":
        who = target.become.user if target.become else "root"
        return MayNotBecome(f"su to {who} needs a password", help="give it with -K (--ask-become-pass) or in ansible_become_password")
    if verdict.startswith("old"):
        _, version, path = (*verdict.split(" ", 2), "", "")[:3]
        return HostUnreachable(
            f"the node's Python is too old: {path} is {version}",
            why=f"the agent needs Python {oldest} or newer",
            help=f"install a newer one beside it ({install.replace('apt-get', 'dnf').replace('python3', 'python3.11')}), "
            "or point ansible_python_interpreter at one",
        )
    return HostUnreachable(
        "there is no Python on the node",
        why=f"none of {', '.join(INTERPRETERS)} is in the PATH of a non-interactive login; the agent needs Python {oldest} or newer",
        help=f"install it ({install}), or point ansible_python_interpreter at one",
    )


def _not_started(feeder: Feeder, start: Start, target: Target, seen: bytes, asked: bool) -> HostUnreachable:
    """Why the command ended before the first stage could speak."""
    words = feeder.last_words()
    code = feeder.stream.exit_code(1.0)
    method, user = _method(target), target.become.user if target.become else "root"
    said = _shorten(words or seen.decode("utf-8", "replace").strip())
    if code in (126, 127) and target.python and f"{target.python}: " in words:
        return InterpreterMissing(
            f"The module interpreter '{target.python}' was not found.",
            why=f"its shell said: {words[words.rindex(f'{target.python}: ') :].splitlines()[0]}",
            help="correct ansible_python_interpreter, or leave it out to have one looked for",
        )
    if target.become is not None and (start.argv[0] != "/bin/sh" or method == "su"):
        if NOT_ALLOWED.search(words):
            return MayNotBecome(
                f"{feeder.stream.login} may not become {user} with {method}",
                why=said,
                help=f"allow it in the node's {'doas.conf' if method == 'doas' else 'sudoers'}",
            )
        if asked and (PASSWORD_WRONG.search(words) or code == 1):
            return _wrong_password(target)
        if PASSWORD_NEEDED.search(words):
            return MayNotBecome(
                f"{method} needs a password to become {user}",
                why=said,
                help="give it with -K (--ask-become-pass) or in ansible_become_password, or allow it without one (NOPASSWD in sudoers)",
            )
        if NO_TERMINAL.search(words):
            return HostUnreachable(
                f"{method} wants a terminal", why=said, help="remove 'Defaults requiretty' from the node's sudoers, or log in as root"
            )
        if code == 127:
            return HostUnreachable(f"there is no {method} on the node", why=said, help="set become_method, or log in as root")
    trouble = feeder.stream.trouble()
    if trouble:
        return HostUnreachable(f"logged in, but then {trouble}", why=said)
    ending = "its login shell ended at once" if code is None else f"the command ended with exit code {code}"
    return HostUnreachable(
        "logged in, but no agent could be started",
        why=f"{ending}{'; the node said: ' + said if said else ' and said nothing'}",
        help=f"try by hand: {'ssh' if target.connection == 'ssh' else target.connection} ... python3 -c 1, with the same user and become",
    )


def _silent(feeder: Feeder, noise: bytes, patience: float) -> HostUnreachable:
    said = _shorten((feeder.errors or noise).decode("utf-8", "replace").strip())
    return HostUnreachable(
        f"logged in, but no agent started within {patience:g} s",
        why=f"the last thing the node said: {said}" if said else "the node said nothing",
        help="a login script or PAM may be waiting for input; a slow node needs a longer ansible_timeout (--timeout)",
    )


def _shorten(text: str) -> str:
    lines = " / ".join(line.strip() for line in text.splitlines() if line.strip())
    return lines if len(lines) <= SHOWN else "…" + lines[-SHOWN:]
