"""What a lookup is given, how it is called, and how ``lookup()``, ``query()`` and ``with_NAME`` shape what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2.runtime import Undefined

from provisioner.diagnostics import Diagnostic, did_you_mean
from provisioner.errors import InputError
from provisioner.templating.failures import PluginFailed
from provisioner.templating.guard import PASSED_ON
from provisioner.templating.natural import plain
from provisioner.values import UnknownValueError, find_unknown

if TYPE_CHECKING:
    from provisioner.templating.environment import Environment
    from provisioner.templating.evaluation import Evaluation

Lookup = Callable[..., "list[Any]"]
"""``lookup(context, terms, **options) -> list``; reads the controller only, and gives data that is never evaluated."""


class LookupContext:
    """What a lookup may use of the evaluation it runs in."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    @property
    def environment(self) -> Environment:
        """The shared environment: settings, process environment, file reader."""
        return self.evaluation.environment

    @property
    def read_only(self) -> bool:
        """True in a plan: nothing may be created."""
        return self.evaluation.read_only

    @property
    def base(self) -> Path:
        """The folder relative paths start from when nothing is found elsewhere: the outermost search path (the playbook's)."""
        return self.evaluation.search_paths[-1] if self.evaluation.search_paths else Path.cwd()

    def folders(self, kind: str) -> list[Path]:
        """Where files of a kind (``files``, ``templates``, ``vars``) are looked for, nearest first."""
        bases = self.evaluation.search_paths or (Path.cwd(),)
        return [folder for base in bases for folder in (base / kind, base)]

    def find(self, kind: str, name: str) -> Path | None:
        """The file or folder of that name, or None."""
        path = Path(name).expanduser()
        if path.is_absolute():
            return path if path.exists() else None
        return next((folder / path for folder in self.folders(kind) if (folder / path).exists()), None)

    def require(self, kind: str, name: str) -> Path:
        """The same, or an error that says where was looked."""
        found = self.find(kind, name)
        if found is None:
            looked = "" if Path(name).is_absolute() else f", looked in {', '.join(map(str, self.folders(kind)))}"
            raise FileNotFoundError(f"file '{name}' not found: No such file or directory{looked}")
        return found

    def read(self, path: Path) -> bytes:
        """A file's content, decrypted if it is a vault."""
        try:
            return self.environment.read_bytes(path)
        except OSError as error:
            raise InputError.of(f"cannot read {path}: {error.strerror or error}") from error

    def variable(self, name: str) -> Any:
        """The value of a variable; ``nothing`` (of ``jinja2.utils``) when it is not defined."""
        return self.evaluation.resolve(name)


def run_lookup(evaluation: Evaluation, name: str, terms: list[Any], options: Mapping[str, Any]) -> list[Any]:
    """Call a lookup with plain terms; raises ``PluginFailed``, or what the border of templating knows."""
    table = evaluation.environment.lookups
    function = table.get(name)
    if function is None:
        raise InputError.of(f"the lookup plugin '{name}' was not found", help=did_you_mean(name, table))
    terms = [plain(term) for term in terms]
    options = {key: value if isinstance(value, Undefined) and key == "default" else plain(value) for key, value in options.items()}
    unknown = find_unknown(terms) or find_unknown(options)
    if unknown is not None:
        raise UnknownValueError(unknown)
    try:
        return list(function(LookupContext(evaluation), terms, **options))
    except PASSED_ON:
        raise
    except Exception as error:
        raise PluginFailed("lookup", name, error) from error


def called(evaluation: Evaluation, name: str, terms: tuple[Any, ...], options: dict[str, Any], *, listed: bool) -> Any:
    """``lookup(name, …)`` and ``query(name, …)`` of expressions, with ``errors=`` and ``wantlist=``."""
    errors = options.pop("errors", "strict")
    listed = bool(options.pop("wantlist", False)) or listed
    options.pop("allow_unsafe", None)
    if errors not in ("strict", "warn", "ignore"):
        raise InputError.of(f"lookup '{name}': errors is '{errors}'; it can be strict, warn or ignore")
    try:
        found = run_lookup(evaluation, name, list(terms), options)
    except (PluginFailed, InputError) as error:
        if errors == "strict":
            raise
        if errors == "warn" and evaluation.warn is not None:
            evaluation.warn(Diagnostic(f"lookup plugin '{name}' failed and gives nothing: {error}", severity="warning", code="lookup"))
        return [] if listed else None
    if listed:
        return found
    if len(found) == 1:
        return found[0]
    return ",".join(found) if found and all(isinstance(item, str) for item in found) else found
