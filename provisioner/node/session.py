"""Runs steps: finds the module, gives it a ``Node`` on the right side, and turns what happened into a reply.

This is the one place on a node that knows whether a run plans or applies, and it only picks the two sides of the facade.
"""

from __future__ import annotations

import importlib
import os
import sys
import time

from .api import Context, Node
from .changes import KINDS, Change
from .content import Content
from .faults import Fail, ResultUnknown, TimedOut, UnknownReading
from .live import Live
from .overlay import Overlay
from .wire import CONTENT_KEY, UNKNOWN_KEY, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable

    from .declare import Module

SHIPPED = "shipped"
"""The package in which modules live that come from a user's ``library`` folder."""


class Session:
    """The state of one agent: its mode, the live side and, when planning, the overlay that all steps share.

    ask: talks to the controller while a step runs: ``ask("need", sha256=…)`` → bytes, ``ask("progress", text=…)``,
    ``ask("data", body=…, last=…)``; and to the journal: ``ask("note", add=…)``.
    """

    def __init__(self, mode: str, options: dict[str, Any], ask: Callable[..., Any]) -> None:
        self._planning = mode == "plan"
        self._options = options
        self._controller = ask
        self._live = Live(lambda text: self._ask("progress", text=text))
        self._overlay = Overlay(self._live) if self._planning else None
        self._contents: dict[str, bytes] = {}

    def _ask(self, kind: str, **data: Any) -> Any:
        return (_channel or self._controller)(kind, **data)

    def run(self, step: dict[str, Any]) -> dict[str, Any]:
        """Run a step to its end, whatever that is; returns the fields of a ``reply`` message."""
        started = time.monotonic()
        user = step.get("user")
        if user and user != _own_name():
            reply = self._run_as(user, step)
        else:
            reply = self._run_here(step)[0]
        reply["seconds"] = round(time.monotonic() - started, 6)
        return reply

    # -- as whom -------------------------------------------------------------------------------------------------------------------

    def _run_as(self, user: str, step: dict[str, Any]) -> dict[str, Any]:
        """Run the step in a child that has become ``user``; its changes are folded here afterwards."""
        from . import identity

        def child() -> dict[str, Any]:
            reply, changes = self._run_here(step)
            return {"reply": reply, "changes": [encode_change(change) for change in changes] if self._overlay is not None else []}

        try:
            answer = identity.call_as(user, child, self._answer)
        except Fail as fault:
            return _reply({"failed": True, "msg": fault.msg, **fault.result})
        if self._overlay is not None:
            for change in answer["changes"]:
                self._note(decode_change(change, self._load), step)
            self._after(step, answer["reply"])
        decoded: dict[str, Any] = decode(answer["reply"])
        return decoded

    def _answer(self, kind: str, **data: Any) -> Any:
        """What a child asks for: a content is kept here for the next one that needs it."""
        return self._load(data["sha256"]) if kind == "need" else self._ask(kind, **data)

    # -- the step ------------------------------------------------------------------------------------------------------------------

    def _run_here(self, step: dict[str, Any]) -> tuple[dict[str, Any], list[Change]]:
        try:
            module = find_module(step["module"])
            params = module.params(**self._decode_params(step["params"]))
        except _ParamUnknown as missing:
            return self._deferred(step, missing.because), []
        overlay = self._side(step)
        if overlay is not None:
            overlay.tainted = None
            if step.get("real") and overlay.anything_noted():
                return self._deferred(step, "it has to run for real, and earlier steps of this plan have not run"), []
        foreseeing = overlay is not None and not step.get("real")
        if step.get("background") and not (foreseeing and self._overlay):
            from . import background

            return background.start(step, self._load, lambda: self._run_here({**step, "background": None})[0]), []
        side: Any = overlay if foreseeing else self._live
        if foreseeing and step.get("maybe"):
            side = side.fork()
        sink: Any = side
        if foreseeing and step.get("quiet"):
            sink = _Trusting(side)
        elif step.get("notify") and not foreseeing:
            sink = _Noting(side, step, self._ask)
        node = Node(side, sink, self._context(step))
        reply = self._call(module, node, params)
        changes = [change for change in node.recorder.changes if not (step.get("quiet") and _is_opaque(change))]
        tainted = side.tainted if foreseeing else None
        self._judge(step, reply, changes, tainted)
        if foreseeing and overlay is self._overlay and step.get("maybe"):
            for change in changes:
                self._note(change, step)
        if foreseeing and overlay is self._overlay and not _in_child():
            self._after(step, reply)
        return reply, changes

    def _side(self, step: dict[str, Any]) -> Overlay | None:
        """The overlay a step runs on: the shared one when planning, one of its own when only this step is a trial, else none."""
        if self._overlay is not None:
            return self._overlay
        return Overlay(self._live, trial=True) if step.get("trial") else None

    def _call(self, module: Module, node: Node, params: Any) -> dict[str, Any]:
        deferred = unknown = None
        result: dict[str, Any] = {}
        try:
            result = module.run(node, params) or {}
        except Fail as fault:
            result = {"failed": True, "msg": fault.msg, **fault.result}
        except UnknownReading as missing:
            if module.reads_only:
                unknown = missing.because
            else:
                deferred = missing.because
        except ResultUnknown as missing:
            unknown, result = missing.because, missing.result
        except TimedOut as late:
            result = late.result(module.name)
        finally:
            self._live.rest()
        result.setdefault("failed", False)
        result.setdefault("changed", node.changed)
        if node.warnings:
            result["warnings"] = node.warnings
        reply = _reply(result)
        reply.update(deferred=deferred, unknown=unknown, diffs=node.recorder.diffs)
        return reply

    def _judge(self, step: dict[str, Any], reply: dict[str, Any], changes: list[Change], tainted: str | None) -> None:
        """Say how sure the reply is, and put the changes into it."""
        because = step.get("maybe") or tainted
        if because:
            reply["tainted"] = because
            changes[:] = [change.evolve(certain=False) for change in changes]
            if tainted and reply["result"]["failed"]:
                # It would fail on what is there now, but something before it may still put that right.
                reply["deferred"] = f"{tainted} comes first (as things are now it would fail: {reply['result'].get('msg')})"
                reply["result"] = {"failed": False, "changed": bool(changes)}
        if step.get("quiet"):
            changes[:] = [change for change in changes if change.KIND not in ("run_command", "run_module")]
            reply["result"]["changed"] = bool(changes)
        reply["changes"] = [change.summary() for change in changes]

    def _note(self, change: Change, step: dict[str, Any]) -> None:
        overlay = self._overlay
        if overlay is None:
            return
        if step.get("maybe"):
            overlay.doubt(change, str(step["maybe"]))
        else:
            overlay.fold(change)

    def _deferred(self, step: dict[str, Any], because: str) -> dict[str, Any]:
        reply = _reply({"failed": False, "changed": False})
        reply["deferred"] = because
        if self._overlay is not None:
            self._after(step, reply)
        return reply

    def _after(self, step: dict[str, Any], reply: dict[str, Any]) -> None:
        """What later steps may no longer rely on, after one that could not be decided."""
        because = reply.get("deferred")
        overlay = self._overlay
        if not because or overlay is None:
            return
        # Only the first cause is of use to a reader, not the chain of steps that could not be decided because of it.
        named = because if because.startswith("the deferred step ") else f"the deferred step {step['module']} ({because})"
        try:
            module = find_module(step["module"])
            if module.reads_only:
                return
            resources = module.resource
        except ImportError:
            resources = ()
        for kind, param in resources:
            value = step["params"].get(param)
            names = value if isinstance(value, list) else [value]
            if value is not None and all(isinstance(name, str) for name in names):
                for name in names:
                    overlay.forget(kind, name, named)
                return
        if not step.get("quiet"):
            overlay.taint(named)

    # -- what comes in -------------------------------------------------------------------------------------------------------------

    def _context(self, step: dict[str, Any]) -> Context:
        def send(pieces: Iterator[bytes]) -> None:
            for piece in pieces:
                self._ask("data", step=step["id"], body=piece, last=False)
            self._ask("data", step=step["id"], body=b"", last=True)

        return Context(
            progress=lambda text: self._ask("progress", step=step["id"], text=text),
            send=send,
            environment=step.get("environment") or {},
            diff=bool(step.get("diff")),
            login=str(self._options.get("login") or ""),
        )

    def _decode_params(self, value: Any) -> Any:
        """Parameters as the module gets them: content references become ``Content``, an unknown one ends the step."""
        if isinstance(value, dict):
            if UNKNOWN_KEY in value:
                raise _ParamUnknown(value[UNKNOWN_KEY])
            if CONTENT_KEY in value:
                digest = value[CONTENT_KEY]
                return Content(digest=digest, size=value["size"], load=lambda: self._load(digest), name=value.get("name", ""))
            return {key: self._decode_params(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self._decode_params(child) for child in value]
        return value

    def _load(self, digest: str) -> bytes:
        if digest not in self._contents:
            self._contents[digest] = self._ask("need", sha256=digest)
        return self._contents[digest]


class _Trusting:
    """A sink for a step that is declared to change nothing: its commands have a result that is not known, and no effect."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def apply(self, change: Change) -> Any:
        if _is_opaque(change):
            raise ResultUnknown(f"running {change.target}")
        return self._sink.apply(change)


def _is_opaque(change: Change) -> bool:
    """Whether the change is a command of which nobody can say what it touches."""
    return change.KIND == "run_command" and getattr(change, "touches", None) is None


class _Noting:
    """A sink that has the handlers of its step noted before the first change: whatever ends the step after it, they are not lost."""

    def __init__(self, sink: Any, step: dict[str, Any], ask: Callable[..., Any]) -> None:
        self._sink = sink
        self._ask = ask
        self._due = step["notify"]
        self._idle = ("refresh_index", "request", "run_command" if step.get("quiet") else "")

    def apply(self, change: Change) -> Any:
        if self._due and change.KIND not in self._idle:
            self._ask("note", add=self._due)
            self._due = ()
        return self._sink.apply(change)


class _ParamUnknown(Exception):
    def __init__(self, because: str) -> None:
        super().__init__(because)
        self.because = because


def find_module(name: str) -> Module:
    """The declaration of a module by its file's name; those of users live in the package ``shipped``."""
    for package in (f"{__package__}.modules", SHIPPED):
        full = f"{package}.{name}"
        if full in sys.modules:
            found: Module = sys.modules[full].MODULE
            return found
    try:
        found = importlib.import_module(f"{__package__}.modules.{name}").MODULE
    except ModuleNotFoundError:
        found = importlib.import_module(f"{SHIPPED}.{name}").MODULE
    return found


_channel: Callable[..., Any] | None = None


def use_channel(ask: Callable[..., Any]) -> None:
    """From here on talk to the controller through ``ask``: a child has no stream of its own."""
    global _channel
    _channel = ask


def plain(value: Any) -> Any:
    """A reply as plain JSON data, for the way from a child to the agent."""
    return _encode(value)


def _reply(result: dict[str, Any]) -> dict[str, Any]:
    return {"result": result, "changes": [], "diffs": [], "deferred": None, "tainted": None, "unknown": None}


_process = os.getpid()


def _in_child() -> bool:
    return os.getpid() != _process


def _own_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


# -- changes across a process border ------------------------------------------------------------------------------------------------------


def encode_change(change: Change) -> dict[str, Any]:
    """A change as plain JSON data."""
    return {"$kind": change.KIND, **{name: _encode(value) for name, value in change.as_dict().items()}}


def decode_change(data: dict[str, Any], load: Callable[[str], bytes]) -> Change:
    """The change again; contents that were not sent along are fetched through ``load``."""
    fields = {name: decode(value, load) for name, value in data.items() if name != "$kind"}
    kind = KINDS[data["$kind"]]
    for name in ("argv", "request"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if fields.get("touches") is not None and "touches" in fields:
        fields["touches"] = tuple((pair[0], pair[1]) for pair in fields["touches"])
    return kind(**fields)


def _encode(value: Any) -> Any:
    if isinstance(value, Unknown):
        return {UNKNOWN_KEY: value.because}
    if isinstance(value, Content):
        text = value.bytes().decode("latin-1") if value.at_hand() else None
        return {CONTENT_KEY: value.digest, "size": value.size, "bytes": text, "name": value.name}
    if isinstance(value, bytes):
        return {"$bytes": value.decode("latin-1")}
    if isinstance(value, dict):
        return {key: _encode(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(child) for child in value]
    return None if callable(value) else value


def decode(value: Any, load: Callable[[str], bytes] | None = None) -> Any:
    """The opposite of the encoding of changes and replies."""
    if isinstance(value, dict):
        if UNKNOWN_KEY in value:
            return Unknown(value[UNKNOWN_KEY])
        if "$bytes" in value:
            return value["$bytes"].encode("latin-1")
        if CONTENT_KEY in value:
            data = value["bytes"].encode("latin-1") if value.get("bytes") is not None else None
            digest = value[CONTENT_KEY]
            fetch = (lambda: load(digest)) if load is not None else None
            return Content(data, digest=digest, size=value["size"], load=fetch, name=value.get("name", ""))
        return {key: decode(child, load) for key, child in value.items()}
    if isinstance(value, list):
        return [decode(child, load) for child in value]
    return value
