"""JUnit XML, as build servers read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"failed": "failure", "error": "error", "unreachable": "error", "skipped": "skipped", "unknown": "skipped"}


def junit_xml(cases: Iterable[Mapping[str, Any]], name: str = "provision verify") -> str:
    """Cases (``part``, ``host``, ``role``, ``name``, ``outcome``, ``seconds``, ``message``, ``details``) as one document.

    A host is a test suite; what is unknown counts as skipped, with its reason.
    """
    root = ElementTree.Element("testsuites", {"name": name})
    suites: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        suites.setdefault(str(case["host"]) or "(no host)", []).append(case)
    for host, listed in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(host), **_counts(listed)})
        for case in listed:
            _add_case(suite, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ElementTree.Element, case: Mapping[str, Any]) -> None:
    classname = ".".join(part for part in (str(case["part"]), str(case.get("role", ""))) if part)
    attributes = {"classname": _text(classname), "name": _text(str(case["name"])), "time": f"{case.get('seconds', 0.0):.3f}"}
    if case.get("place"):
        attributes["file"] = _text(str(case["place"]))
    element = ElementTree.SubElement(suite, "testcase", attributes)
    tag = _TAGS.get(str(case["outcome"]))
    if tag is not None:
        word = "" if case["outcome"] in ("failed", "error", "skipped") else f"{case['outcome']}: "
        problem = ElementTree.SubElement(element, tag, {"message": _text(word + str(case.get("message", "")))})
        problem.text = _text(str(case.get("details", ""))) or None


def _counts(cases: list[Mapping[str, Any]]) -> dict[str, str]:
    tags = [_TAGS.get(str(case["outcome"]), "") for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": f"{sum(case.get('seconds', 0.0) for case in cases):.3f}",
    }


def _text(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub(lambda found: f"\\x{ord(found.group()) & 0xFF:02x}", text)
