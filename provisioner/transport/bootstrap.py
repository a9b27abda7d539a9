"""The command that starts an agent wherever there is a shell and a Python.

The command does three things in a row: become somebody else, find a Python, run the first stage. It is one line without anything a
login shell might take for itself (csh, fish and zsh included), so it works whatever the login shell of the account is. The first
stage writes a marker, reads the sources behind it from stdin and runs them; nothing is written on the node.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from provisioner.errors import HostUnreachable
from provisioner.ports import Become, Target
from provisioner.transport.packing import LOADER, Payload, payload

MARKER = "PVN1"
OLDEST = (3, 9)
INTERPRETERS = ("python3", *(f"python3.{minor}" for minor in range(15, OLDEST[1] - 1, -1)), "/usr/libexec/platform-python")

FIND = """n=$1; shift; while [ $# -gt 0 ]; do p=$(command -v "$1"); shift; [ -n "$p" ] && exec "$p" -BsSE -c "$0" "$0" "$n" "$@"; done; \
printf "\\nPV""N1 %s none\\n" "$n" """
GIVEN = """n=$1; shift; exec "$@" -BsSE -c "$0" "$0" "$n" """
UNLESS_ROOT = """[ "$(id -u)" = 0 ] && shift {count}; exec "$@" """
ONLY_ROOT = """[ "$(id -u)" = 0 ] || {{ printf "\\nPV""N1 %s password\\n" "$0"; exit 1; }}; exec "$@" """

FIRST_STAGE = """\
import sys
sys.path[:1] = []
import os
a = sys.argv
v = sys.version_info
h = chr(10) + "PV" + "N1 " + a[2] + " "
if v < {oldest}:
    for i in range(3, len(a)):
        try: os.execvp(a[i], [a[i], "-BsSE", "-c", a[1]] + a[1:3] + a[i + 1:])
        except OSError: pass
    os.write(1, (h + "old %d.%d.%d %s" % (v[0], v[1], v[2], sys.executable) + chr(10)).encode())
else:
    os.write(1, (h + "ok" + chr(10)).encode())
    import zlib
    f = open(os.dup(0), "rb")
    m = type(sys)("{loader}")
    sys.modules[m.__name__] = m
    exec(compile(zlib.decompress(f.read({first})), "provisioner/node/loader.py", "exec"), m.__dict__)
    m.start(f, "{key}", {second})
"""


def first_stage(packed: Payload) -> str:
    """The program for ``python -c``: one line, without single quotes."""
    text = FIRST_STAGE.format(oldest=OLDEST, loader=LOADER, first=len(packed.loader), second=len(packed.sources), key=packed.key)
    return 'exec("""' + text.replace("\n", "\\n") + '""")'


@dataclass(frozen=True)
class Start:
    """A command that starts an agent. ``prompts``: what on stderr asks for ``password``; ``nonce`` makes the marker unmistakable."""

    argv: tuple[str, ...]
    nonce: str
    prompts: tuple[bytes, ...] = ()
    password: str | None = None

    @property
    def marker(self) -> bytes:
        """What precedes the verdict of the first stage on stdout."""
        return f"\n{MARKER} {self.nonce} ".encode()

    @property
    def line(self) -> str:
        """The command for a login shell of any kind."""
        return "exec " + shlex.join(self.argv)


def start_of(target: Target, login: str | None, nonce: str) -> Start:
    """The command that starts an agent on ``target`` for somebody logged in as ``login`` (None: not known)."""
    if target.python and target.python not in ("auto", "auto_silent", "auto_legacy", "auto_legacy_silent"):
        script, words = GIVEN, shlex.split(target.python)
    else:
        script, words = FIND, list(INTERPRETERS)
    return become(target.become, login, nonce, ["/bin/sh", "-c", script, first_stage(payload()), nonce, *words])


def shell_of(target: Target, login: str | None, nonce: str, command: str) -> Start:
    """The command that runs a shell command on ``target`` without an agent."""
    return become(target.become, login, nonce, ["/bin/sh", "-c", command])


def become(wanted: Become | None, login: str | None, nonce: str, argv: Sequence[str]) -> Start:
    """``argv`` run as somebody else; ``HostUnreachable`` for a method that cannot work here."""
    if wanted is None or wanted.user == login:
        return Start(tuple(argv), nonce)
    prompts: tuple[bytes, ...] = ()
    flags = shlex.split(wanted.flags)
    if wanted.method == "sudo":
        prompt = f"provision-{nonce}:"
        flags = [flag for flag in flags or ["-H"] if flag not in ("-n", "-S")]
        ask = ["-n"] if wanted.password is None else ["-S", "-p", prompt]
        prompts = (prompt.encode(),)
        prefix = [wanted.exe or "sudo", *flags, *ask, "-u", wanted.user, "--"]
    elif wanted.method == "su":
        prompts = (b"Password: ",)
        # The prompt is known in English only; what runs behind it gets the node's own language back.
        prefix = ["env", "LC_ALL=C", wanted.exe or "su", *flags, "-s", "/bin/sh", "-c", 'unset LC_ALL; exec "$@"', "--", wanted.user, "sh"]
    elif wanted.method in ("doas", "runuser"):
        if wanted.password is not None:
            raise HostUnreachable(
                f"become with {wanted.method} cannot be given a password",
                why=f"{wanted.method} reads passwords from a terminal only, and an agent has none",
                help="allow it without one (nopass in doas.conf), or use become_method: sudo or su",
            )
        ask = ["-n"] if wanted.method == "doas" else []
        prefix = [wanted.exe or wanted.method, *flags, *ask, "-u", wanted.user, "--"]
    else:
        raise HostUnreachable(f"become method {wanted.method!r} is not supported", help="use sudo, su, doas or runuser")
    if wanted.method == "su" and wanted.password is None:
        argv = ["/bin/sh", "-c", ONLY_ROOT.format(), nonce, *prefix, *argv]
    elif wanted.user == "root" and login is None:
        argv = ["/bin/sh", "-c", UNLESS_ROOT.format(count=len(prefix)), "sh", *prefix, *argv]
    else:
        argv = [*prefix, *argv]
    return Start(tuple(argv), nonce, prompts if wanted.password is not None else (), wanted.password)
