"""Versions of Python packages against the reference implementation."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement as Reference
from packaging.version import Version

from provisioner.node import requirements

VERSIONS = [
    *("1", "1.0", "1.0.1", "1.1", "2.0", "1.0a1", "1.0b2", "1.0rc1", "1.0.dev3", "1.0.post1", "1.0a1.dev2", "1.0.post1.dev4"),
    *("1!0.5", "1.0+local.1", "1.10", "1.9", "0.9.9"),
]
SPECS = [
    *(f"{operator}{version}" for operator in ("==", "!=", "<=", ">=", "<", ">") for version in ("1", "1.0", "1.0.1", "1.0rc1")),
    *(f"{operator}1.0.post1" for operator in ("==", "!=", "<=", ">=", ">")),
    *("==1.*", "!=1.0.*", "~=1.0", "~=1.0.1", ">=1,<2", "==1.0+local.1", "===1.0"),
]


@pytest.mark.parametrize("spec", SPECS)
def test_satisfaction_is_the_reference_one(spec: str) -> None:
    ours = requirements.parse(f"demo{spec}")
    assert ours is not None
    reference = Reference(f"demo{spec}").specifier
    for version in VERSIONS:
        assert requirements.satisfied(ours, version) == reference.contains(version, prereleases=True), version


def test_versions_are_ordered_as_the_reference_does() -> None:
    parsed = [(requirements.key(version), Version(version)) for version in VERSIONS]
    assert all(mine is not None for mine, _ in parsed)
    assert [str(v) for _, v in sorted(parsed, key=lambda pair: pair[0] or ())] == [
        str(v) for _, v in sorted(parsed, key=lambda pair: pair[1])
    ]


@pytest.mark.parametrize(
    ("text", "name", "plain"),
    [
        ("Flask", "flask", True),
        ("ruamel.yaml >= 0.15, <1", "ruamel-yaml", True),
        ("requests[socks]==2.0", "requests", False),
        ("six; python_version < '3'", "six", False),
        ("a_b (>=1.0)", "a-b", True),
    ],
)
def test_names(text: str, name: str, plain: bool) -> None:
    found = requirements.parse(text)
    assert found is not None
    assert (found.name, found.plain) == (name, plain)


@pytest.mark.parametrize("text", ["git+https://example.com/x.git", "./local", "-e .", "https://example.com/x.whl", "/opt/x.whl"])
def test_what_is_no_name(text: str) -> None:
    assert requirements.parse(text) is None
