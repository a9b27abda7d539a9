"""``nvidia-smi mig``: enough to see that MIG mode is on and that no instance exists; instances themselves are not simulated."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .smi import Session

_KNOWN = ("-i", "-lgip", "-lgi", "-lci", "-cgi", "-C", "-dci", "-dgi", "-gi", "-ci", "-cci", "-lcip", "-lgipp")


def run(session: Session, argv: Sequence[str]) -> int:
    """The exit code; text goes to the session."""
    for word in argv:
        if word.startswith("-") and word.split("=", 1)[0] not in _KNOWN:
            session.say(f'Option "{word}" is not recognized.')
            return 2
    if not any(gpu.live["mig"] for gpu in session.select(None)):
        session.say("No MIG-enabled devices found.")
        return 6
    if "-lgi" in argv:
        session.say("No GPU instances found: Not Found")
        return 6
    session.say("SIMULATION: MIG instances are not simulated; MIG mode itself is (nvidia-smi -mig).")
    return 3
