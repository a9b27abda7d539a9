"""File modes as people write them: ``0644``, ``u=rw,g+r,o-rwx``, ``a+X``."""

from __future__ import annotations

from .faults import Fail

PERMISSIONS = {"r": 4, "w": 2, "x": 1}
SHIFTS = {"u": 6, "g": 3, "o": 0}


def resolve_mode(mode: str | int, current: int, is_directory: bool, umask: int = 0o022) -> int:
    """The permission bits that ``mode`` (octal text, symbolic text, or a number) gives to something that now has ``current``."""
    if isinstance(mode, int):
        return mode & 0o7777
    text = mode.strip()
    if text and all(char in "01234567" for char in text):
        value = int(text, 8)
        if value > 0o7777:
            raise Fail(f"mode {text} is out of range: at most 7777")
        return value
    for clause in text.split(","):
        current = _apply_clause(clause, current, is_directory, umask, text)
    return current


def _apply_clause(clause: str, current: int, is_directory: bool, umask: int, whole: str) -> int:
    who = clause[: len(clause) - len(clause.lstrip("ugoa"))]
    rest = clause[len(who) :]
    if not rest or rest[0] not in "+-=":
        raise Fail(
            f"mode {whole!r} is neither octal nor symbolic",
        )
    classes = "ugo" if not who or "a" in who else who
    # Without a "who" the umask keeps its bits out, as chmod does.
    allowed = 0o7777 if who else ~umask & 0o7777
    while rest:
        operator, rest = rest[0], rest[1:]
        length = 0
        while length < len(rest) and rest[length] not in "+-=":
            length += 1
        letters, rest = rest[:length], rest[length:]
        current = _apply_operator(operator, letters, classes, current, is_directory, allowed, whole)
    return current


def _apply_operator(operator: str, letters: str, classes: str, current: int, is_directory: bool, allowed: int, whole: str) -> int:
    bits = 0
    mask = 0
    for name in classes:
        shift = SHIFTS[name]
        mask |= 7 << shift
        for letter in letters:
            if letter in PERMISSIONS:
                bits |= PERMISSIONS[letter] << shift
            elif letter == "X":
                bits |= (1 if is_directory or current & 0o111 else 0) << shift
            elif letter in SHIFTS:
                bits |= (current >> SHIFTS[letter] & 7) << shift
            elif letter == "s":
                bits |= {"u": 0o4000, "g": 0o2000, "o": 0}[name]
            elif letter == "t":
                bits |= 0o1000
            else:
                raise Fail(f"mode {whole!r}: {letter!r} is no permission")
    bits &= allowed
    if operator == "+":
        return current | bits
    if operator == "-":
        return current & ~bits
    special = (0o4000 if "u" in classes else 0) | (0o2000 if "g" in classes else 0) | (0o1000 if len(classes) == 3 else 0)
    if is_directory:
        special &= bits  # "=" leaves a directory's set-id bits alone, as chmod does, unless they are named
    return current & ~(mask | special) | bits
