"""``copy``: files, folders and texts of the controller become contents of files on nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Outcome, Work
from provisioner.errors import InputError
from provisioner.ports import Reply
from provisioner.values import Unknown, UnknownValueError

_OF_FILES = ("owner", "group", "selevel", "serole", "setype", "seuser", "attributes", "unsafe_writes")


def copy(call: Call) -> Work:
    """Copy to the node; with ``remote_src`` the node does it alone."""
    params = call.params
    if params.get("content") is not None:
        return Work([NodeCall("copy", {**_sent(call), "content": as_content(call, params["content"])})])
    if params.get("remote_src"):
        return Work([NodeCall("copy", _sent(call))])
    src = params.get("src")
    if isinstance(src, Unknown):
        raise UnknownValueError(src)
    path = call.find("files", str(src), folders=True)
    if path.is_dir():
        return _tree(call, path, str(src))
    if str(src).endswith("/"):
        raise InputError.of(f"{src} is a file, not a directory", call.task.span_of("args", "src"), help="leave out the slash at its end")
    return Work([file_call(call, path, str(params["dest"]), _sent(call))])


def as_content(call: Call, value: Any, name: str = "") -> Any:
    """Text as a step carries it: as it is, or a reference when it is long."""
    return call.run.contents.data(value.encode("utf-8", "surrogateescape"), name) if isinstance(value, str) else value


def file_call(call: Call, path: Path, dest: str, sent: Mapping[str, Any]) -> NodeCall:
    """One file of the controller to one place on the node."""
    decrypt = call.params.get("decrypt", True)
    params = {**sent, "src": path.name, "dest": dest, "content": call.run.contents.file(path, decrypt=bool(decrypt))}
    if params.get("mode") == "preserve":
        params["mode"] = f"{path.stat().st_mode & 0o7777:04o}"
    return NodeCall("copy", params)


def _sent(call: Call) -> dict[str, Any]:
    """The parameters that the node needs: those that were given."""
    return {name: value for name, value in call.params.items() if value is not None and name not in ("decrypt", "local_follow")}


def _tree(call: Call, top: Path, written: str) -> Work:
    """A folder: with a slash at its end its content, without it the folder itself."""
    dest = str(call.params["dest"])
    base = dest if written.endswith("/") else os.path.join(dest, top.name)
    follow = bool(call.params.get("local_follow", True))
    calls: list[NodeCall] = []
    for folder, folders, files in os.walk(top, followlinks=follow):
        folders.sort()
        inside = os.path.relpath(folder, top)
        place = base if inside == "." else os.path.join(base, inside)
        calls.append(_directory(call, place))
        for name in [entry for entry in folders if not follow and os.path.islink(os.path.join(folder, entry))]:
            folders.remove(name)
            calls.append(_link(call, os.path.join(folder, name), os.path.join(place, name)))
        calls += [_entry(call, Path(folder, name), os.path.join(place, name), follow) for name in sorted(files)]
    shown = {"src": str(top), "dest": dest}
    return Work(calls, lambda replies: _merged(replies, shown))


def _entry(call: Call, path: Path, dest: str, follow: bool) -> NodeCall:
    if path.is_symlink() and not follow:
        return _link(call, str(path), dest)
    if not path.exists():
        raise InputError.of(
            f"{path} is a link to {os.readlink(path)}, which does not exist",
            call.task.span_of("args", "src"),
            help="set local_follow: false to copy the link itself",
        )
    sent = _sent(call)
    if sent.get("mode") is None:
        sent.pop("mode", None)
    return file_call(call, path, dest, sent)


def _directory(call: Call, path: str) -> NodeCall:
    params = {"path": path, "state": "directory", **_attributes(call)}
    if call.params.get("directory_mode") is not None:
        params["mode"] = call.params["directory_mode"]
    return NodeCall("file", params)


def _link(call: Call, source: str, dest: str) -> NodeCall:
    return NodeCall(
        "file", {"path": dest, "state": "link", "src": os.readlink(source), "force": True, "follow": False, **_attributes(call)}
    )


def _attributes(call: Call) -> dict[str, Any]:
    return {name: call.params[name] for name in _OF_FILES if call.params.get(name) is not None}


def _merged(replies: list[Reply], shown: Mapping[str, Any]) -> Outcome:
    return Outcome.merged(replies, **shown)
