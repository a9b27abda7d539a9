"""Conversions of single values, as Ansible makes them."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.schema.conversion import CONVERT, ConversionError
from provisioner.values import WrittenFloat, WrittenInt


def written(text: str) -> WrittenInt:
    """A number as a YAML file gives it."""
    return WrittenInt(int(text, 8) if text.startswith("0") and len(text) > 1 else int(text), text)


RIGHT: list[tuple[str, Any, Any]] = [
    ("bool", True, True),
    ("bool", "yes", True),
    ("bool", "On", True),
    ("bool", " true ", True),
    ("bool", "t", True),
    ("bool", 1, True),
    ("bool", 1.0, True),
    ("bool", "no", False),
    ("bool", "OFF", False),
    ("bool", 0, False),
    ("bool", "0", False),
    ("int", 5, 5),
    ("int", "5", 5),
    ("int", " 5 ", 5),
    ("int", "5.0", 5),
    ("int", 5.0, 5),
    ("int", True, 1),
    ("float", "1.5", 1.5),
    ("float", 2, 2.0),
    ("str", 5, "5"),
    ("str", True, "True"),
    ("str", WrittenFloat(12.1, "12.10"), "12.10"),
    ("str", "", ""),
    ("list", "a,b", ["a", "b"]),
    ("list", "a, b", ["a", " b"]),
    ("list", ["a"], ["a"]),
    ("list", ("a", "b"), ["a", "b"]),
    ("list", 5, ["5"]),
    ("list", "", [""]),
    ("dict", {"a": 1}, {"a": 1}),
    ("dict", '{"a": 1}', {"a": 1}),
    ("dict", "{'a': True}", {"a": True}),
    ("dict", "a=1, b='x y'", {"a": "1", "b": "x y"}),
    ("dict", "a=1 b=2", {"a": "1", "b": "2"}),
    ("dict", r"a=x\,y", {"a": "x,y"}),
    ("path", "~/x", "~/x"),
    ("mode", "0644", "0644"),
    ("mode", "644", "0644"),
    ("mode", "0o755", "0755"),
    ("mode", "4755", "4755"),
    ("mode", "u=rwX,go=rX", "u=rwX,go=rX"),
    ("mode", "g-w", "g-w"),
    ("mode", "+x", "+x"),
    ("mode", "preserve", "preserve"),
    ("mode", written("0644"), "0644"),
    ("mode", written("01777"), "01777"),
    ("mode", written("0"), "0000"),
    ("mode", 0o644, "0644"),
    ("size", "10M", 10 * 1024**2),
    ("size", "1.5 GB", int(1.5 * 1024**3)),
    ("size", "2KiB", 2048),
    ("size", 100, 100),
    ("size", "100", 100),
    ("duration", 30, 30),
    ("duration", "30", 30),
    ("duration", "5m", 300),
    ("duration", "1.5h", 5400),
    ("content", {"a": 1, "b": True, "c": "é"}, '{"a": 1, "b": true, "c": "\\u00e9"}'),
    ("content", '{"k": "1", "l": [1,   2]}', '{"k": "1", "l": [1,   2]}'),
    ("content", 5, "5"),
    ("json", {"a": [1]}, '{"a": [1]}'),
    ("json", ' {"a": 1} ', '{"a": 1}'),
    ("raw", {"a": 1}, {"a": 1}),
]

WRONG: list[tuple[str, Any, str]] = [
    ("bool", "maybe", "takes a boolean, not 'maybe'"),
    ("bool", 5, "takes a boolean, not 5"),
    ("bool", [], "takes a boolean"),
    ("int", "1.5", "takes a whole number, not '1.5'"),
    ("int", "", "takes a whole number, not ''"),
    ("int", [1], "takes a whole number"),
    ("int", "inf", "takes a whole number"),
    ("float", "x", "takes a number, not 'x'"),
    ("list", {"a": 1}, "takes a list, not a mapping"),
    ("dict", "abc", "takes a mapping, not 'abc'"),
    ("dict", ["a"], "takes a mapping, not a list"),
    ("dict", "{broken", "neither JSON nor"),
    ("path", ["/x"], "takes one path, not a list"),
    ("mode", "abc", "takes a file mode, not 'abc'"),
    ("mode", "999", "takes a file mode"),
    ("mode", True, "takes a file mode"),
    ("mode", 0.5, "takes a file mode"),
    ("mode", written("644"), "644 is the number 644 = octal 1204; write '0644'"),
    ("mode", written("2775"), "2775 is the number 2775 = octal 5327; write '02775'"),
    ("size", "10 parsecs", "takes a size"),
    ("duration", "soon", "takes seconds"),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), RIGHT)
def test_converted(kind: str, value: Any, wanted: Any) -> None:
    found = CONVERT[kind](value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(("kind", "value", "message"), WRONG)
def test_refused(kind: str, value: Any, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        CONVERT[kind](value)
    assert message in str(caught.value)
