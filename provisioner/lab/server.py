"""Serves the local package repository to the nodes of one lab, from this machine's address in the lab only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab.model import REPOSITORY_PORT, Lab

_PROGRAM = Path(__file__).with_name("httpd.py")


def start(lab: Lab, folder: Path) -> None:
    """Start serving ``folder`` for a lab, unless that runs already; ProvisionError when the port is somebody else's."""
    if _process(lab) is not None:
        return
    log = lab.folder / "repository.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM), str(folder), lab.gateway, str(REPOSITORY_PORT)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd="/",
        )
    end = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < end:
        if log.read_bytes().startswith(b"listening"):
            process.returncode = 0  # it outlives this program on purpose
            return
        time.sleep(0.02)
    process.kill()
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    raise ProvisionError(
        f"the lab's package repository cannot listen on {lab.gateway}:{REPOSITORY_PORT}",
        why=last[0] if last else "it does not start within 10 s",
        help=f"something else may use that port; find it with: ss -ltnp 'sport = :{REPOSITORY_PORT}'",
    )


def stop(lab: Lab) -> None:
    """Stop serving; nothing happens where it does not run."""
    process = _process(lab)
    if process is not None:
        os.kill(process, signal.SIGKILL)


def _process(lab: Lab) -> int | None:
    """The server's process, found by its command line: a recorded number may belong to somebody else by now.

    Another checkout's server for the same lab counts, too: the lab is one, whoever brought it up.
    """
    program = f"/{'/'.join(_PROGRAM.parts[-3:])}\0".encode()
    end = f"\0{lab.gateway}\0{REPOSITORY_PORT}\0".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
            if words.endswith(end) and program in words:
                return int(path.name)
        except OSError:
            continue  # it ended while we looked
    return None
