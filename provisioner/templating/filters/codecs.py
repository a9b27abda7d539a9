"""Filters between data and text: JSON, YAML, base64, digests, identifiers, dates, vaults."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import yaml

from provisioner.templating.guard import guard
from provisioner.templating.missing import Missing
from provisioner.templating.natural import plain, text_of
from provisioner.values import Unknown, UnknownValueError, WrittenFloat

_NAMESPACE = "361E6D51-FAEC-444A-9079-341386DA8E2E"
"""Ansible's name space for ``to_uuid``: identifiers must come out the same."""


def _json_fallback(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise UnknownValueError(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return plain(value)


def to_json(value: Any, *, vault_to_text: bool = True, preprocess_unsafe: bool = False, **options: Any) -> str:  # noqa: ARG001
    """The value as JSON text in one line. ``vault_to_text`` and ``preprocess_unsafe`` have no effect: values are plain already."""
    return json.dumps(plain(value), default=_json_fallback, **options)


def to_nice_json(value: Any, indent: int = 4, sort_keys: bool = True, **options: Any) -> str:
    """The value as JSON text over several lines."""
    return to_json(value, indent=indent, sort_keys=sort_keys, separators=(",", ": "), **options)


class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes plain data, also of types derived from those of YAML."""


Dumper.add_multi_representer(str, lambda dumper, value: dumper.represent_str(str.__str__(value)))
Dumper.add_multi_representer(int, lambda dumper, value: dumper.represent_int(int(value)))
Dumper.add_multi_representer(float, lambda dumper, value: dumper.represent_float(float(value)))
Dumper.add_representer(WrittenFloat, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:float", value.text))


def to_yaml(value: Any, default_flow_style: bool | None = None, **options: Any) -> str:
    """The value as YAML text, inner containers in one line."""
    settings: dict[str, Any] = {"allow_unicode": True, "sort_keys": True, **options}
    text: str = yaml.dump(plain(value), Dumper=Dumper, default_flow_style=default_flow_style, **settings)
    return text.removesuffix("...\n")


def to_nice_yaml(value: Any, indent: int = 4, default_flow_style: bool = False, **options: Any) -> str:
    """The value as YAML text, one element a line."""
    return to_yaml(value, default_flow_style, indent=indent, **options)


def from_json(value: Any, **options: Any) -> Any:
    """The data of a JSON text."""
    return json.loads(value, **options)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def from_yaml(value: Any) -> Any:
    """The data of a YAML text; what is no text stays as it is."""
    return yaml.load(text_of(value), Loader=_LOADER) if isinstance(value, str) else value


def from_yaml_all(value: Any) -> Any:
    """The data of all documents of a YAML text; what is no text stays as it is."""
    if not isinstance(value, str):
        return [] if value is None else value
    return list(yaml.load_all(text_of(value), Loader=_LOADER))


def b64encode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    """The text in base64, or in the form of it for URLs."""
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    return encode(text_of(value).encode(encoding)).decode("ascii")


def b64decode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    """The text of a base64 text."""
    decode = base64.urlsafe_b64decode if urlsafe else base64.b64decode
    return decode(text_of(value)).decode(encoding)


def digest(value: Any, hashtype: str = "sha1") -> str:
    """The digest of a text, hexadecimal."""
    if hashtype not in hashlib.algorithms_available:
        raise ValueError(f"unsupported hash type {hashtype}")
    return hashlib.new(hashtype, text_of(value).encode()).hexdigest()


def to_uuid(value: Any, namespace: str = _NAMESPACE) -> str:
    """An identifier made of a text, always the same."""
    try:
        space = uuid.UUID(str(namespace))
    except ValueError as error:
        raise ValueError(f"Invalid value '{namespace}' for namespace: {error}") from error
    return str(uuid.uuid5(space, text_of(value)))


def to_datetime(value: Any, format: str = "%Y-%m-%d %H:%M:%S") -> datetime.datetime:
    """The moment that a text describes."""
    return datetime.datetime.strptime(text_of(value), format)


def strftime(string_format: str, second: Any = None, utc: bool = False) -> str:
    """A moment (seconds since 1970, by default now) as text, local time unless ``utc``."""
    try:
        moment = None if second is None else float(second)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Invalid value for epoch value ({second}): it is no number of seconds") from error
    return time.strftime(string_format, time.gmtime(moment) if utc else time.localtime(moment))


def vault(data: Any, secret: Any, salt: Any = None, vault_id: str = "filter_default", wrap_object: bool = False) -> str:  # noqa: ARG001
    """The text encrypted as an Ansible vault; ``wrap_object`` has no effect, the result is text."""
    from provisioner.vault.envelope import Envelope

    return Envelope.seal(
        text_of(data).encode(), text_of(secret).encode(), vault_id, None if salt is None else text_of(salt).encode()
    ).text()


def unvault(vault: Any, secret: Any, vault_id: str = "filter_default") -> str:  # noqa: ARG001
    """The text of an Ansible vault; text that is no vault stays as it is. Any ``vault_id`` is accepted."""
    from provisioner.vault.envelope import Envelope, is_vaulted

    text = vault.ciphertext if isinstance(vault, Missing) and vault.ciphertext else text_of(vault)
    if not is_vaulted(text):
        return text
    return Envelope.parse(text).open(text_of(secret).encode()).decode()


def _sealed_or_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter with its guard, which would refuse a vaulted value that no password of the run fits."""
    guarded = guard("filter", function.__name__, function)

    @functools.wraps(function)
    def either(value: Any, *args: Any, **kwargs: Any) -> Any:
        sealed = isinstance(value, Missing) and value.ciphertext is not None
        return function(value, *args, **kwargs) if sealed else guarded(value, *args, **kwargs)

    return either


UNGUARDED: dict[str, Callable[..., Any]] = {"unvault": _sealed_or_plain(unvault)}

FILTERS: dict[str, Callable[..., Any]] = {
    "b64decode": b64decode,
    "b64encode": b64encode,
    "checksum": digest,
    "from_json": from_json,
    "from_yaml": from_yaml,
    "from_yaml_all": from_yaml_all,
    "hash": digest,
    "md5": lambda value: digest(value, "md5"),
    "sha1": digest,
    "strftime": strftime,
    "to_datetime": to_datetime,
    "to_json": to_json,
    "to_nice_json": to_nice_json,
    "to_nice_yaml": to_nice_yaml,
    "to_uuid": to_uuid,
    "to_yaml": to_yaml,
    "vault": vault,
}
