"""``vars`` and ``hostvars``: mappings that render what is asked of them and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jinja2.utils import missing as nothing

if TYPE_CHECKING:
    from provisioner.templating.evaluation import Evaluation


class Vars(Mapping[str, Any]):
    """The variables of a scope by name."""

    __slots__ = ("_evaluation",)

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def __getitem__(self, name: str) -> Any:
        value = self._evaluation.resolve(name) if isinstance(name, str) else nothing
        if value is nothing:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._evaluation.resolve(name) is not nothing

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._evaluation.scope.names()))

    def __len__(self) -> int:
        return len(self._evaluation.scope.names())

    def __repr__(self) -> str:
        return repr({name: self[name] for name in self})


class HostVars(Mapping[str, Any]):
    """The variables of all hosts by host name."""

    __slots__ = ("_evaluation",)

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def __getitem__(self, host: str) -> Any:
        return self._evaluation.host_variables(host)

    def __contains__(self, host: object) -> bool:
        return host in self._evaluation.scope.peers

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluation.scope.peers)

    def __len__(self) -> int:
        return len(self._evaluation.scope.peers)

    def __repr__(self) -> str:
        return f"<variables of {len(self)} hosts>"
