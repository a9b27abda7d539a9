"""Requirements of Python packages (PEP 508 names, PEP 440 versions): enough to see whether what is installed satisfies one."""

from __future__ import annotations

import re

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VERSION = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)[-_.]?(?:(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
    r"(?:(?:-(\d+))|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^\]]*\])?\s*\(?((?:[<>=!~]=?=?\s*[^;,()\s]+\s*,?\s*)*)\)?\s*(;.*)?"
)
_PHASES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_LATE = (10**9,)


class Requirement(Record):
    """``name`` is canonical; ``specs``: (operator, version) pairs; ``plain``: there is nothing else that would have to be judged."""

    name: str
    specs: tuple[tuple[str, str], ...] = ()
    plain: bool = True


def canonical(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Requirement | None:
    """A requirement by name; None for a URL, a path, an option."""
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        return None
    specs = []
    for word in (word.strip() for word in match[3].split(",")):
        if word:
            operator = re.match(r"[<>=!~]=?=?", word)
            if operator is None:
                return None
            specs.append((operator[0], word[operator.end() :].strip()))
    return Requirement(name=canonical(match[1]), specs=tuple(specs), plain=not match[2] and not match[4])


def key(version: str) -> tuple[Any, ...] | None:
    """What orders versions; None for a text that is no version."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    epoch, release, phase, phase_number, dash, post, post_number, dev, dev_number, local = match.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    early: tuple[Any, ...] = ("z",)
    if phase:
        early = (_PHASES.get(phase.lower(), phase.lower()), int(phase_number or 0))
    elif dev and not (post or dash):
        early = ("",)
    late = int(dash or post_number or 0) + 1 if (post or dash) else 0
    unfinished = (int(dev_number or 0),) if dev else _LATE
    here = tuple((int(part), "") if part.isdigit() else (-1, part.lower()) for part in re.split(r"[-_.]", local)) if local else ()
    return (int(epoch or 0), tuple(numbers), early, late, unfinished, here)


def satisfied(requirement: Requirement, version: str) -> bool:
    """Whether an installed version meets all that is asked of it."""
    return all(_meets(version, operator, wanted) for operator, wanted in requirement.specs)


def _meets(version: str, operator: str, wanted: str) -> bool:
    if operator == "===":
        return version.lower() == wanted.lower()
    if operator in ("==", "!=") and wanted.endswith(".*"):
        return _starts(version, wanted[:-2]) == (operator == "==")
    have, want = key(version), key(wanted)
    if have is None or want is None:
        return (version == wanted) == (operator != "!=") if operator in ("==", "!=") else False
    if not want[-1]:
        have = (*have[:-1], ())
    if operator == "~=":
        return have >= want and _starts(version, wanted.rpartition(".")[0])
    if operator == ">":
        return have > want and not (have[:3] == want[:3] and have[3] and not want[3])
    if operator == "<":
        return have < want and not (have[:2] == want[:2] and want[2:4] == (("z",), 0) and have[2] != ("z",))
    return {"==": have == want, "!=": have != want, "<=": have <= want, ">=": have >= want}[operator]


def _starts(version: str, prefix: str) -> bool:
    """Whether a version belongs to a series: 1.4.2 to 1.4."""
    have, want = _VERSION.fullmatch(version), _VERSION.fullmatch(prefix)
    if have is None or want is None:
        return False
    numbers = have[2].split(".")
    series = want[2].split(".")
    numbers += ["0"] * (len(series) - len(numbers))
    return (have[1] or "0") == (want[1] or "0") and [int(part) for part in numbers[: len(series)]] == [int(part) for part in series]
