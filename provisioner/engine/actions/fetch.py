"""``fetch``: a file of a node comes to the controller."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Outcome
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError
from provisioner.values import Unknown, UnknownValueError


def fetch(call: Call) -> Outcome:
    """Read the file on the node and keep it in ``dest/HOST/path``, or with ``flat`` in ``dest``."""
    src, dest = call.params.get("src"), call.params.get("dest")
    for value in (src, dest):
        if isinstance(value, Unknown):
            raise UnknownValueError(value)
    pieces: list[bytes] = []
    reply = call.ask([NodeCall("fetch", {"src": src})], lambda _step, body, _last: pieces.append(body))[0]
    outcome = Outcome.of(reply)
    must = as_bool(call.params.get("fail_on_missing", True), "fail_on_missing")
    if outcome.failed:
        if must:
            return outcome
        return Outcome.ok(msg=outcome.result.get("msg", ""), file=src)
    if outcome.deferred or outcome.unknown:
        return outcome
    data = b"".join(pieces)
    found = str(outcome.result.get("src", src))
    return _kept(call, data, found, _target(call, found, str(dest)), outcome)


def _target(call: Call, src: str, dest: str) -> Path:
    if as_bool(call.params.get("flat"), "flat"):
        if dest.endswith("/"):
            return _local(call, dest) / os.path.basename(src)
        target = _local(call, dest)
        if target.is_dir():
            help_ = "put a slash at its end to keep the file in it"
            raise InputError.of(f"dest is an existing directory: {dest}", call.task.span_of("args", "dest"), help=help_)
        return target
    return _local(call, dest) / call.walk.host.name / src.lstrip("/")


def _local(call: Call, dest: str) -> Path:
    path = Path(dest).expanduser()
    return path if path.is_absolute() else (call.walk.play.play.folder / path).absolute()


def _kept(call: Call, data: bytes, src: str, target: Path, read: Outcome) -> Outcome:
    checksum = hashlib.sha1(data).hexdigest()
    before = target.read_bytes() if target.is_file() else None
    result: dict[str, Any] = {
        "changed": before != data,
        "dest": str(target),
        "src": src,
        "checksum": checksum,
        "remote_checksum": checksum,
        "md5sum": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "file": src,
    }
    outcome = Outcome(result, seconds=read.seconds)
    if before != data:
        old = hashlib.sha256(before).hexdigest() if before is not None else None
        change = {
            "kind": "write_file",
            "target": f"{target} (here)",
            "before": old,
            "after": hashlib.sha256(data).hexdigest(),
            "certain": True,
        }
        outcome.changes.append(change)
        call.run.hands.file(target, data)
    return outcome
