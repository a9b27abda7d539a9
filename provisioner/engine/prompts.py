"""The variables a play brings: its ``vars``, what the operator is asked for, extra variables; and its ``vars_files``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.engine.expressions import Scope
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError
from provisioner.playbook.model import Play
from provisioner.templating.failures import UndefinedVariable
from provisioner.templating.variables import Layer, Level

if TYPE_CHECKING:
    from provisioner.engine.run import Run


def play_layers(run: Run, play: Play) -> list[Layer]:
    """What a play says for all its hosts."""
    layers = list(run.extra_layers)
    if play.directives.vars:
        layers.append(Layer(Level.PLAY_VARS, play.directives.vars, "vars of the play", spans=_spans(play)))
    for role in play.every_role():
        source = role.source
        if source.public:
            layers.append(Layer(Level.ROLE_DEFAULTS, source.defaults, f"defaults of role {source.name}"))
            layers.append(Layer(Level.ROLE_VARS, source.vars, f"vars of role {source.name}"))
    if play.vars_prompt:
        layers.append(Layer(Level.PLAY_PROMPT, _answers(run, play), "vars_prompt"))
    return layers


def _spans(play: Play) -> dict[str, Any]:
    return {name[5:]: span for name, span in play.spans.items() if name.startswith("vars.")}


def _answers(run: Run, play: Play) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for prompt in play.vars_prompt:
        name = str(prompt["name"])
        if name in run.options.extra_vars:
            continue
        if run.options.ask is None:
            answers[name] = prompt.get("default")
            continue
        answers[name] = run.options.ask(prompt)
        given = isinstance(answers[name], str) and answers[name] != str(prompt.get("default"))
        if given and as_bool(prompt.get("private", True), "private"):
            run.options.secrets.add(answers[name])
    return answers


def file_layers(run: Run, play: Play, scope: Scope) -> tuple[list[Layer], bool]:
    """The ``vars_files`` of a play for one host, and whether some have to wait because their names need facts."""
    layers: list[Layer] = []
    waiting = False
    for entry in play.vars_files:
        candidates = list(entry) if isinstance(entry, (list, tuple)) else [entry]
        try:
            layers.append(_first(run, play, scope, candidates, play.spans.get("vars_files")))
        except UndefinedVariable:
            waiting = True
    return layers, waiting


def _first(run: Run, play: Play, scope: Scope, candidates: Sequence[Any], span: Any) -> Layer:
    tried: list[Path] = []
    problem: UndefinedVariable | None = None
    for raw in candidates:
        try:
            name = scope.render(raw, span)
        except UndefinedVariable as error:
            problem = error
            continue
        for folder in (play.folder / "vars", play.folder):
            path = folder / str(name)
            tried.append(path)
            if path.is_file():
                values, places = run.loader.files.variables(path)
                return Layer(Level.PLAY_FILES, values, str(path), spans=_places(places))
    if problem is not None:
        raise problem
    raise InputError.of(
        f"vars_files: there is no file {' or '.join(map(str, candidates))}", span, why="looked for " + ", ".join(map(str, tried))
    )


def _places(places: Mapping[str, str]) -> dict[str, Any]:
    from provisioner.diagnostics import Span

    found = {}
    for name, place in places.items():
        file, _, rest = place.partition(":")
        line = rest.partition(":")[0]
        found[name] = Span(file, int(line) if line.isdigit() else 0)
    return found
