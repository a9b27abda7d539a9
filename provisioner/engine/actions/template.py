"""``template``: rendered here, so nodes need no Jinja, and put in place by the node's ``copy``."""

from __future__ import annotations

import datetime
import os
import pwd
from pathlib import Path
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.actions.copy import as_content
from provisioner.engine.outcome import NodeCall, Outcome, Work
from provisioner.ports import Reply
from provisioner.templating.environment import Syntax
from provisioner.values import Unknown, UnknownValueError

_SYNTAX = (
    "block_start_string", "block_end_string", "variable_start_string", "variable_end_string", "comment_start_string", "comment_end_string",
    "newline_sequence", "trim_blocks", "lstrip_blocks",
)  # fmt: skip
_NOT_SENT = (*_SYNTAX, "src", "output_encoding", "ansible_managed")
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\r\\n": "\r\n"}
MANAGED = "Ansible managed"


def template(call: Call) -> Work:
    """Render a file of ``templates/`` and put it on the node."""
    src = call.params.get("src")
    if isinstance(src, Unknown):
        raise UnknownValueError(src)
    path = call.find("templates", str(src))
    text = call.run.contents.bytes(path).decode("utf-8")
    scope = call.scope.plus(_variables(call, path))
    rendered = scope.text(text, str(path), _syntax(call))
    sent = {name: value for name, value in call.params.items() if value is not None and name not in _NOT_SENT}
    if sent.get("mode") == "preserve":
        sent["mode"] = f"{path.stat().st_mode & 0o7777:04o}"
    sent.update(src=path.name, content=_content(call, rendered, path.name))
    return Work([NodeCall("copy", sent)], lambda replies: _finished(replies, path))


def _content(call: Call, rendered: Any, name: str) -> Any:
    if isinstance(rendered, Unknown):
        return rendered
    encoding = str(call.params.get("output_encoding") or "utf-8")
    if encoding.lower().replace("_", "-") == "utf-8":
        return as_content(call, rendered, name)
    return call.run.contents.data(rendered.encode(encoding), name)


def _finished(replies: list[Reply], path: Path) -> Outcome:
    outcome = Outcome.of(replies[0])
    outcome.result["src"] = str(path)
    return outcome


def _syntax(call: Call) -> Syntax:
    given = {name: call.params[name] for name in _SYNTAX if call.params.get(name) is not None}
    newline = given.get("newline_sequence")
    if newline in _ESCAPES:
        given["newline_sequence"] = _ESCAPES[newline]
    return Syntax(**given)


def _variables(call: Call, path: Path) -> dict[str, Any]:
    state = path.stat()
    written = datetime.datetime.fromtimestamp(state.st_mtime)
    return {
        "ansible_managed": call.scope.lookup("ansible_managed", MANAGED),
        "template_host": os.uname().nodename,
        "template_path": str(call.params.get("src")),
        "template_fullpath": str(path.absolute()),
        "template_destpath": call.params.get("dest"),
        "template_mtime": written,
        "template_uid": _owner(state.st_uid),
        "template_run_date": datetime.datetime.now(),
    }


def _owner(uid: int) -> str | int:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return uid
