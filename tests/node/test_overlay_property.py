"""Plan equals apply: random scripts of file operations give the same changes and the same tree, foreseen and made."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provisioner.node.api import Node
from provisioner.node.faults import Fail
from provisioner.node.live import Live
from provisioner.node.overlay import Overlay

if TYPE_CHECKING:
    from provisioner.node.ports import Reader

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="ownership needs root")

NAMES = ["a", "b", "c"]
PATHS = [*NAMES, *(f"{one}/{two}" for one in NAMES for two in NAMES), "a/b/c", "b/c/a"]
CONTENTS = [b"", b"one\n", b"two\n", b"x" * 5000]
MODES = ["0644", "0600", "0755", "u+x", "g-w,o=", "a=rX", "4755"]
OWNERS = [None, "root", "daemon", "1", "4242"]

paths = st.sampled_from(PATHS)
modes = st.one_of(st.none(), st.sampled_from(MODES))
owners = st.sampled_from(OWNERS)

Operation = tuple[str, dict[str, Any]]
operations: st.SearchStrategy[Operation] = st.one_of(
    st.tuples(
        st.just("write"), st.fixed_dictionaries({"path": paths, "content": st.sampled_from(CONTENTS), "mode": modes, "owner": owners})
    ),
    st.tuples(st.just("directory"), st.fixed_dictionaries({"path": paths, "mode": modes, "group": owners})),
    st.tuples(st.just("link"), st.fixed_dictionaries({"path": paths, "to": paths, "force": st.booleans()})),
    st.tuples(st.just("hard_link"), st.fixed_dictionaries({"path": paths, "to": paths, "force": st.booleans()})),
    st.tuples(st.just("absent"), st.fixed_dictionaries({"path": paths})),
    st.tuples(st.just("attributes"), st.fixed_dictionaries({"path": paths, "mode": modes, "owner": owners, "group": owners})),
    st.tuples(st.just("read"), st.fixed_dictionaries({"path": paths})),
    st.tuples(st.just("names"), st.fixed_dictionaries({"path": paths})),
)


def perform(node: Node, root: str, operation: Operation) -> object:
    """One operation on the facade; a failure is an outcome like any other."""
    name, options = operation
    options = dict(options)
    options["path"] = f"{root}/{options['path']}"
    if name == "hard_link":
        options["to"] = f"{root}/{options['to']}"
    method: Callable[..., object] = getattr(node.files, name)
    try:
        return method(**options)
    except Fail as fault:
        return f"failed: {fault.msg}"


def run_script(node: Node, root: str, script: list[Operation]) -> tuple[list[object], list[dict[str, Any]]]:
    outcomes = [perform(node, root, operation) for operation in script]
    return outcomes, [change.summary() for change in node.recorder.changes]


def tree(reader: Reader, root: str) -> dict[str, Any]:
    """Everything below root: kind, mode, owner, group, content or target."""
    found: dict[str, Any] = {}
    for name in reader.names(root):
        path = f"{root}/{name}"
        state = reader.lstat(path)
        assert state is not None
        entry: list[Any] = [state.kind, state.mode if state.kind != "link" else None, state.owner, state.group, state.target]
        if state.kind == "file":
            entry.append(reader.content(path).bytes())
        found[path[len(root) :]] = entry
        if state.kind == "directory":
            found.update({f"/{name}{below}": entry for below, entry in tree(reader, path).items()})
    return found


def check(before: list[Operation], script: list[Operation]) -> None:
    root = os.path.realpath(tempfile.mkdtemp(prefix="overlay-"))
    try:
        live = Live()
        run_script(Node(live, live), root, before)
        untouched = tree(live, root)
        overlay = Overlay(live)
        planned = run_script(Node(overlay, overlay), root, script)
        foreseen = tree(overlay, root)
        assert tree(live, root) == untouched, "planning changed the tree"
        made = run_script(Node(live, live), root, script)
        assert planned == made
        assert foreseen == tree(live, root)
    finally:
        shutil.rmtree(root)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=st.lists(operations, max_size=6), script=st.lists(operations, min_size=1, max_size=10))
def test_a_planned_script_is_what_the_apply_does(before: list[Operation], script: list[Operation]) -> None:
    check(before, script)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=st.lists(operations, min_size=1, max_size=8))
def test_wanted_states_are_reached_at_once(script: list[Operation]) -> None:
    """Each operation, repeated right away, records nothing."""
    root = os.path.realpath(tempfile.mkdtemp(prefix="overlay-"))
    try:
        live = Live()
        for operation in script:
            node = Node(live, live)
            if isinstance(perform(node, root, operation), bool):
                again = Node(live, live)
                perform(again, root, operation)
                # Set-id bits fall off when a file changes hands and are put back: the only thing worth a second look.
                assert [change.KIND for change in again.recorder.changes] == [], operation
    finally:
        shutil.rmtree(root)


def test_an_overlay_can_be_forked(tmp_path: Path) -> None:
    live = Live()
    overlay = Overlay(live)
    Node(overlay, overlay).files.write(str(tmp_path / "one"), b"1")
    twin = overlay.fork()
    Node(twin, twin).files.write(str(tmp_path / "two"), b"2")
    assert overlay.names(str(tmp_path)) == ["one"]
    assert twin.names(str(tmp_path)) == ["one", "two"]


def test_a_directory_whose_parents_are_not_known_is_planned_with_them(tmp_path: Path) -> None:
    """A command before may make them or not: if it does not, the apply makes all of them."""
    live = Live()
    overlay = Overlay(live)
    overlay.taint("running make install")
    node = Node(overlay, overlay)
    node.files.directory(str(tmp_path / "a" / "b"))
    assert [(change.target, change.certain) for change in node.recorder.changes] == [
        (str(tmp_path / "a"), False),
        (str(tmp_path / "a" / "b"), False),
    ]
