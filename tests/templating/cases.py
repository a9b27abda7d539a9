"""The expressions of ``cases/``: pairs of an expression and its value, and expressions that have to be refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from provisioner.templating import Environment, Layer, Level, Scope, Templar

FOLDER = Path(__file__).parent / "cases"
FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Cases:
    """One file of expressions over the same variables.

    ``good``: pairs of an expression and its value. ``lenient``: the same for what only stock refuses. ``differs``: expression, stock's
    value, ours. ``bad``: refused. ``needs``: what stock has to have beside ansible-core to agree.
    """

    name: str
    variables: dict[str, Any]
    good: list[tuple[Any, Any]]
    lenient: list[tuple[Any, Any]]
    differs: list[tuple[Any, Any, Any]]
    bad: list[Any]
    needs: list[str]
    ipaddr: dict[str, dict[str, Any]]

    def templar(self) -> Templar:
        """A templar over the variables of the file."""
        layers = [Layer(Level.PLAY_VARS, self.variables, self.name)]
        scope = Scope(layers, host="localhost", groups={"all": ["localhost"], "ungrouped": ["localhost"]}, group_names=["ungrouped"])
        return Templar(Environment(environ={"HOME": "/home/me"}), scope)


def load() -> Iterator[Cases]:
    """All files."""
    for path in sorted(FOLDER.glob("*.yml")):
        data = yaml.safe_load(path.read_text("utf-8").replace("@files@", str(FILES)))
        yield Cases(
            name=path.stem,
            variables=data["vars"] or {},
            good=data["cases"],
            lenient=data.get("lenient", []),
            differs=data.get("differs", []),
            bad=data.get("errors", []),
            needs=data.get("needs", []),
            ipaddr=data.get("ipaddr", {}),
        )


ALL = list(load())
