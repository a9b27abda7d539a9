"""Calls of this machine's own tools, with their failures as errors a person can act on."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from provisioner.errors import ProvisionError

_PACKAGES = {"ip": "iproute2", "iptables": "iptables", "systemd-nspawn": "systemd-container", "ssh": "openssh-client"}


def call(*argv: str, text: str | None = None, timeout: float = 120) -> str:
    """Run a tool to its end and return what it printed; ProvisionError with its own words when it fails."""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError:
        raise missing(argv[0]) from None
    except subprocess.TimeoutExpired:
        raise ProvisionError(f"{' '.join(argv)} does not end", why=f"it ran for {timeout:.0f} s") from None
    if done.returncode != 0:
        raise ProvisionError(f"{' '.join(argv)} failed with code {done.returncode}", why=(done.stderr or done.stdout).strip()[-800:])
    return done.stdout


def succeeds(*argv: str, timeout: float = 30) -> bool:
    """Whether a tool ends with 0; its output is of no interest."""
    try:
        return subprocess.run(argv, capture_output=True, timeout=timeout).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False


def missing(tool: str) -> ProvisionError:
    """The error for a tool that is not installed."""
    return ProvisionError(f"{tool} is not installed", help=f"apt install {_PACKAGES.get(tool, tool)}")


def lacking(tools: Sequence[str]) -> list[str]:
    """Those of ``tools`` that are not installed."""
    return [tool for tool in tools if shutil.which(tool) is None]


@contextmanager
def disk_errors(where: object) -> Iterator[None]:
    """A full disk, or one that cannot be written, is the person's matter and no bug of ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ProvisionError(
                f"no space left below {where}",
                why=str(error),
                help="free some space or set PROVISION_STATE to a folder on a bigger disk; then provision lab up again",
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES):
            raise ProvisionError(f"cannot write below {where}", why=str(error), help="set PROVISION_STATE to another folder") from error
        raise
