"""Executable inventories: a program that prints groups and host variables as JSON for ``--list`` and ``--host NAME``."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from provisioner.inventory.draft import Draft, Refusal, Source, describe
from provisioner.inventory.varsfiles import revive

_SECONDS = 600.0
_SHOWN = 400


def wants(source: Source) -> bool:
    """Whether the file is executable or begins with ``#!``."""
    assert source.path is not None
    if os.access(source.path, os.X_OK):
        return True
    try:
        with source.path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def parse(source: Source, draft: Draft) -> None:
    """Run the program and read what it prints. Raises ``Refusal``."""
    data = _call(source, "--list")
    meta = data.pop("_meta", None)
    known = None
    if meta is not None:
        if not isinstance(meta, dict) or not isinstance(meta.get("hostvars", {}), dict):
            raise Refusal("its '_meta' must be an object with an object 'hostvars'", source.span())
        known = meta.get("hostvars", {})
    hosts: dict[str, None] = {}
    for name, group in data.items():
        _group(source, draft, name, group, hosts)
    for host in hosts:
        values = known.get(host, {}) if known is not None else _call(source, "--host", host)
        if not isinstance(values, dict):
            raise Refusal(f"the variables of host {host!r} must be an object, not {describe(values)}", source.span())
        if values:
            draft.host(host, None, values)


def _group(source: Source, draft: Draft, name: str, group: Any, hosts: dict[str, None]) -> None:
    draft.group(name)
    if isinstance(group, list):
        group = {"hosts": group}
    if not isinstance(group, dict):
        raise Refusal(f"group {name!r} must be an object or a list of hosts, not {describe(group)}", source.span())
    if group and not any(section in group for section in ("hosts", "vars", "children")):
        group = {"hosts": [name], "vars": group}
    for host in _names(source, name, "hosts", group.get("hosts")):
        hosts[host] = None
        draft.host(host, name)
    values = group.get("vars")
    if values is not None:
        if not isinstance(values, dict):
            raise Refusal(f"'vars' of group {name!r} must be an object, not {describe(values)}", source.span())
        draft.variables(name, values)
    for child in _names(source, name, "children", group.get("children")):
        draft.group(child)
        draft.child(name, child)


def _names(source: Source, group: str, section: str, content: Any) -> list[str]:
    if content is None:
        return []
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise Refusal(f"{section!r} of group {group!r} must be a list of names, not {describe(content)}", source.span())
    return content


def _call(source: Source, *arguments: str) -> dict[str, Any]:
    assert source.path is not None
    shown = " ".join((source.name, *arguments))
    try:
        done = subprocess.run(
            [str(source.path.absolute()), *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except OSError as error:
        hint = "; make it executable with 'chmod +x'" if not os.access(source.path, os.X_OK) else ""
        raise Refusal(f"{shown} cannot be run: {error.strerror}{hint}", source.span()) from None
    except subprocess.TimeoutExpired:
        raise Refusal(f"{shown} did not end within {_SECONDS:.0f} s", source.span()) from None
    errors = done.stderr.decode(errors="replace").strip()
    if done.returncode:
        raise Refusal(f"{shown} failed with exit code {done.returncode}: {_tail(errors)}", source.span())
    output = done.stdout.decode(errors="replace")
    if arguments[0] == "--host" and not output.strip():
        return {}
    try:
        data = json.loads(output)
    except ValueError as error:
        raise Refusal(f"{shown} did not print JSON ({error}) but: {_tail(output)}", source.span()) from None
    if not isinstance(data, dict):
        raise Refusal(f"{shown} must print an object, not {describe(data)}", source.span())
    revived: dict[str, Any] = revive(data, source.context.vault, source.span()) if "__ansible_" in output else data
    return revived


def _tail(text: str) -> str:
    text = text.strip() or "(nothing)"
    return text if len(text) <= _SHOWN else "… " + text[-_SHOWN:]
