"""Short ways to a templar, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostic
from provisioner.templating import Environment, Layer, Level, Scope, Templar


def templar(
    variables: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    *,
    search_paths: tuple[Path, ...] = (),
    read_only: bool = False,
    warnings: list[Diagnostic] | None = None,
    environment: Environment | None = None,
) -> Templar:
    """A templar over play variables (templates) and registered results (data)."""
    layers = [Layer(Level.PLAY_VARS, variables or {}, "play"), Layer(Level.SET_FACT, data or {}, "results")]
    scope = Scope(layers, host="gpu01.rack", groups={"all": ["gpu01.rack", "gpu02"], "gpus": ["gpu01.rack"]}, group_names=["gpus"])
    return Templar(
        environment or Environment(environ={}),
        scope,
        search_paths=search_paths,
        read_only=read_only,
        warn=None if warnings is None else warnings.append,
    )
