"""The few names of Ansible that plugin files import, for machines without ansible-core.

They exist only while a plugin file is loaded, so nobody takes them for the real thing. Where ansible-core is installed, only what would
reach into a run of Ansible is stood in for: the base of lookups, and the display.
"""

from __future__ import annotations

import collections.abc
import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import yaml

from provisioner.templating.natural import text_of

if TYPE_CHECKING:
    from provisioner.templating.lookups.context import LookupContext


class PluginError(Exception):
    """What plugins raise for bad input."""

    def __init__(self, message: object = "", *_details: object, **_more: object) -> None:
        super().__init__(str(message))


def to_text(value: Any, encoding: str = "utf-8", errors: str | None = None, nonstring: str = "simplerepr") -> Any:
    """Bytes or anything else as text."""
    if isinstance(value, bytes):
        return value.decode(encoding, errors if errors in ("strict", "replace", "ignore") else "surrogateescape")
    return value if nonstring == "passthru" and not isinstance(value, str) else text_of(value)


def to_bytes(value: Any, encoding: str = "utf-8", errors: str | None = None, nonstring: str = "simplerepr") -> Any:
    """Text or anything else as bytes."""
    if isinstance(value, bytes):
        return value
    return to_text(value, nonstring=nonstring).encode(encoding, errors if errors in ("strict", "replace") else "surrogateescape")


def is_sequence(value: Any, include_strings: bool = False) -> bool:
    """Whether a value is a list or similar."""
    return isinstance(value, collections.abc.Sequence) and (include_strings or not isinstance(value, (str, bytes)))


class FileSearch:
    """The base of lookup plugins: options from the plugin's documentation, and the search for files."""

    context: LookupContext
    documentation = ""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        self._options: dict[str, Any] = {}

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: dict[str, Any] | None = None) -> None:
        """Take the options given in the call; the others have the defaults of the documentation."""
        del task_keys, var_options
        module = sys.modules.get(type(self).__module__)
        described = yaml.safe_load(getattr(module, "DOCUMENTATION", "") or "") or {}
        defaults = {name: (option or {}).get("default") for name, option in (described.get("options") or {}).items()}
        self._options = {**defaults, **(direct or {})}

    def get_option(self, name: str, **_context: object) -> Any:
        """The value of an option."""
        return self._options[name]

    def get_options(self, **_context: object) -> dict[str, Any]:
        """All options."""
        return dict(self._options)

    def _flatten(self, terms: list[Any]) -> list[Any]:
        """Lists in a list as one list."""
        return [item for term in terms for item in (term if isinstance(term, (list, tuple)) else [term])]

    def find_file_in_search_path(self, myvars: Any, subdir: str, needle: str, ignore_missing: bool = False) -> str | None:
        """The path of a file in the folders where its kind is looked for."""
        del myvars
        found = self.context.find(subdir, needle) if ignore_missing else self.context.require(subdir, needle)
        return None if found is None else str(found)


class Display:
    """Takes what plugins print and says nothing: output goes through events."""

    def __init__(self, verbosity: int = 0) -> None:
        self.verbosity = verbosity

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: None


_ERRORS = (
    "AnsibleError", "AnsibleFilterError", "AnsibleFilterTypeError", "AnsibleLookupError", "AnsibleOptionsError", "AnsibleParserError",
    "AnsiblePluginError", "AnsibleRuntimeError", "AnsibleTypeError", "AnsibleUndefinedVariable",
)  # fmt: skip
_TEXT = {"to_bytes": to_bytes, "to_native": to_text, "to_text": to_text}
_MODULES: dict[str, dict[str, Any]] = {
    "ansible": {},
    "ansible.errors": dict.fromkeys(_ERRORS, PluginError),
    "ansible.module_utils": {},
    "ansible.module_utils._text": _TEXT,
    "ansible.module_utils.common": {},
    "ansible.module_utils.common.collections": {"is_sequence": is_sequence},
    "ansible.module_utils.common.text": {},
    "ansible.module_utils.common.text.converters": _TEXT,
    "ansible.module_utils.six": {"string_types": (str,), "integer_types": (int,), "text_type": str, "binary_type": bytes},
    "ansible.plugins": {},
    "ansible.plugins.lookup": {"LookupBase": FileSearch},
    "ansible.utils": {},
    "ansible.utils.display": {"Display": Display},
}


_ALWAYS = ("ansible.plugins.lookup", "ansible.utils.display")


@contextlib.contextmanager
def standing_in() -> Iterator[None]:
    """Inside, the modules above can be imported."""
    real = _real_folders()
    names = _ALWAYS if real else tuple(_MODULES)
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    for name in names:
        module = ModuleType(name)
        module.__path__ = [str(Path(folder, *name.split(".")[1:])) for folder in real]
        vars(module).update(_MODULES[name])
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _real_folders() -> list[str]:
    """Where the package ``ansible`` is, if it is installed."""
    spec = importlib.util.find_spec("ansible")
    return list(spec.submodule_search_locations or ()) if spec is not None else []
