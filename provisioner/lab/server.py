"""Serves the local package repository to the nodes of one lab: ``python -m provisioner.lab.server FOLDER ADDRESS PORT``.

It listens on this machine's address in the lab only, so nothing outside of the lab can reach it.
"""

from __future__ import annotations

import functools
import http.server
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab.model import REPOSITORY_PORT, Lab

_RECORD = "repository.pid"


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the log would grow with every apt update of every node."""


def serve(folder: str, address: str, port: int) -> None:
    """Serve until killed."""
    server = http.server.ThreadingHTTPServer((address, port), functools.partial(_Handler, directory=folder))
    server.daemon_threads = True
    server.serve_forever()


def start(lab: Lab, folder: Path) -> None:
    """Start serving ``folder`` for a lab, unless that runs already; ProvisionError when the port is somebody else's."""
    if _alive(lab) is not None:
        return
    log = lab.folder / "repository.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "provisioner.lab.server", str(folder), lab.gateway, str(REPOSITORY_PORT)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
        )
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if process.poll() is not None:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise ProvisionError(
                f"the lab's package repository cannot listen on {lab.gateway}:{REPOSITORY_PORT}",
                why=last[0] if last else f"it ended with code {process.returncode}",
                help=f"something else uses that port; find it with: ss -ltnp 'sport = :{REPOSITORY_PORT}'",
            )
        with socket.socket() as probe:
            if probe.connect_ex((lab.gateway, REPOSITORY_PORT)) == 0:
                break
        time.sleep(0.02)
    (lab.folder / _RECORD).write_text(f"{process.pid}\n", encoding="ascii")
    process.returncode = 0  # it outlives this program on purpose


def stop(lab: Lab) -> None:
    """Stop serving; nothing happens where it does not run."""
    process = _alive(lab)
    if process is not None:
        os.kill(process, signal.SIGKILL)
    (lab.folder / _RECORD).unlink(missing_ok=True)


def _alive(lab: Lab) -> int | None:
    """The server's process, found by its own command line: a recorded number may belong to somebody else by now."""
    wanted = f"provisioner.lab.server\0{lab.folder}/".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (path / "cmdline").read_bytes():
                return int(path.name)
        except OSError:
            continue  # it ended while we looked
    return None


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
