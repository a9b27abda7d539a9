"""Ways to a value of the long report: readings of a GPU, what ``--query-gpu`` has too, and what depends on ECC or the branch."""

from __future__ import annotations

from . import fields
from .fields import DEPRECATED
from .gpu import Gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .document import Value
    from .smi import Session


def of(get: Callable[[Gpu], object], unit: str = "") -> Value:
    """A reading of the GPU; None becomes N/A, decimals get two places."""

    def value(_session: Session, gpu: Gpu) -> str | None:
        found = get(gpu)
        if found is None:
            return None
        return f"{found:.2f}{unit}" if isinstance(found, float) else f"{found}{unit}"

    return value


def field(name: str) -> Value:
    """A value that ``--query-gpu`` has too, without the brackets of a missing one."""
    column = fields.known("--query-gpu", 9999)[name]
    return lambda session, gpu: column.value(session, gpu, units=True).strip("[]")


def until(branch: int, value: Value | str) -> Value:
    """A value that reads as deprecated from a branch on."""

    def get(session: Session, gpu: Gpu) -> str | None:
        if session.branch >= branch:
            return DEPRECATED
        return value if isinstance(value, str) else value(session, gpu)

    return get


def gsp(session: Session, gpu: Gpu) -> str | None:
    return session.version if fields.gsp(session, gpu) and gpu.board.architecture != "Volta" else None


def errors(kind: str, since: str) -> Value:
    return of(lambda gpu: gpu.errors(kind, since))


def with_ecc(text: str) -> Value:
    return of(lambda gpu: None if gpu.errors("corrected", "volatile") is None else text)


def retired(text: str, *, double: bool = False) -> Value:
    return of(lambda gpu: (str(gpu.kept["uncorrected"]) if double else text) if gpu.board.page_retirement else None)


def yes(key: str) -> Value:
    return of(lambda gpu: "Yes" if gpu.kept.get(key) else "No")
