"""What the signals that ask a command to end do: the first lets it stop in order, the second ends it at once.

Either way no node is left with anything of ours: an agent ends by itself when its connection does.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from provisioner.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)
FIRST = "interrupted: stopping; once more to leave at once"
SECOND = "interrupted again: left at once"

_interrupted = False


def watch() -> None:
    """Take the signals over, but for those that whoever started us wants ignored (``nohup``, a job in the background)."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def leave(code: int) -> NoReturn:
    """End the process. After an interrupt threads that still wait for a node are not waited for."""
    if not _interrupted:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue  # its reader has gone, too
    os._exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _interrupted
    if _interrupted:
        _say(SECOND)
        os._exit(Interrupted.exit_code)
    _interrupted = True
    _say(FIRST)
    raise KeyboardInterrupt


def _say(text: str) -> None:
    """Past every lock and buffer: whoever holds those may be what was interrupted."""
    try:
        os.write(2, f"\n{text}\n".encode())
    except OSError:
        return  # nobody is there to read it
