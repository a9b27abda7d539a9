"""Plan equals apply beside the file tree: random scripts on accounts, packages, units and values, foreseen over a fake node and made on it.

What a plan is sure of must come true; what it is not sure of may come out in any way.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provisioner.node.api import Node
from provisioner.node.faults import Fail, ResultUnknown, UnknownReading
from provisioner.node.overlay import Overlay
from provisioner.node.wire import Unknown
from provisioner.plan.compare import compare_changes
from provisioner.testing import FakeNode, Package

USERS = ["ada", "bob", "demo"]
GROUPS = ["gpu", "ada", "demo", "wheel"]
PACKAGES = ["demo", "helper", "agent", "other-agent", "nosuch"]
UNITS = ["demo.service", "agent.service", "hand.service", "nosuch.service"]
KEYS = [("sysctl", "vm.swappiness"), ("sysctl", "net.x"), ("kernel_module", "nvidia")]
UNIT_TEXTS = ["[Service]\nExecStart=/bin/a\n[Install]\nWantedBy=multi-user.target\n", "[Service]\nExecStart=/bin/b\n"]

AVAILABLE = [
    Package("helper", "1.0"),
    Package("demo", "1.0", depends=("helper",), units={"demo.service": "multi-user.target"}, users=("demo",)),
    Package("demo", "1.1", depends=("helper",), units={"demo.service": "multi-user.target"}, users=("demo",)),
    Package("agent", "2.0", units={"agent.service": "multi-user.target"}, files={"/etc/agent.conf": b"x"}),
    Package("other-agent", "1.0", conflicts=("agent",)),
]

numbers = st.one_of(st.none(), st.integers(2000, 2003))
maybe_group = st.one_of(st.none(), st.sampled_from(GROUPS))
group_lists = st.one_of(st.none(), st.lists(st.sampled_from(GROUPS), max_size=2, unique=True).map(tuple))
Operation = tuple[str, dict[str, Any]]

operations: st.SearchStrategy[Operation] = st.one_of(
    st.tuples(
        st.just("user"),
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(USERS),
                "uid": numbers,
                "group": maybe_group,
                "groups": group_lists,
                "append_groups": group_lists,
                "comment": st.sampled_from([None, "A", "B"]),
                "shell": st.sampled_from([None, "/bin/sh", "/bin/bash"]),
            }
        ),
    ),
    st.tuples(st.just("no user"), st.fixed_dictionaries({"name": st.sampled_from(USERS)})),
    st.tuples(st.just("group"), st.fixed_dictionaries({"name": st.sampled_from(GROUPS), "gid": numbers})),
    st.tuples(st.just("no group"), st.fixed_dictionaries({"name": st.sampled_from(GROUPS)})),
    st.tuples(
        st.just("install"),
        st.fixed_dictionaries(
            {"names": st.lists(st.sampled_from([*PACKAGES, "demo=1.0", "demo=1.1"]), min_size=1, max_size=2), "may": st.booleans()}
        ),
    ),
    st.tuples(st.just("remove"), st.fixed_dictionaries({"names": st.lists(st.sampled_from(PACKAGES), min_size=1, max_size=2)})),
    st.tuples(st.just("refresh"), st.just({})),
    st.tuples(
        st.just("unit"),
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(UNITS),
                "active": st.sampled_from([None, True, False]),
                "enabled": st.sampled_from([None, True, False]),
                "masked": st.sampled_from([None, None, True, False]),
            }
        ),
    ),
    st.tuples(st.just("restart"), st.fixed_dictionaries({"name": st.sampled_from(UNITS)})),
    st.tuples(st.just("reload units"), st.just({})),
    st.tuples(st.just("unit file"), st.fixed_dictionaries({"text": st.sampled_from(UNIT_TEXTS)})),
    st.tuples(st.just("no unit file"), st.just({})),
    st.tuples(st.just("value"), st.fixed_dictionaries({"key": st.sampled_from(KEYS), "value": st.sampled_from(["1", "2", None])})),
    st.tuples(st.just("look"), st.fixed_dictionaries({"user": st.sampled_from(USERS), "unit": st.sampled_from(UNITS)})),
)


def perform(node: Node, operation: Operation) -> object:
    """One operation on the facade; its outcome, or how it failed."""
    kind, o = operation
    o = dict(o)
    try:
        if kind == "user":
            name = o.pop("name")
            if o["groups"] is not None:
                o["append_groups"] = None
            for group in (*(o["groups"] or ()), *(o["append_groups"] or ())):
                node.accounts.known_owner(None, group)
            if o["group"] is not None:
                node.accounts.known_owner(None, o["group"])
            return node.accounts.ensure_user(name, o)
        if kind == "no user":
            return node.accounts.remove_user(o["name"])
        if kind == "group":
            return node.accounts.ensure_group(o["name"], gid=o["gid"])
        if kind == "no group":
            return node.accounts.remove_group(o["name"])
        if kind == "install":
            return node.packages.install("fake", o["names"], {"allow_remove": True} if o["may"] else {})
        if kind == "remove":
            return node.packages.remove("fake", o["names"])
        if kind == "refresh":
            node.packages.refresh("fake")
            return None
        if kind == "unit":
            return node.units.ensure(o["name"], active=o["active"], enabled=o["enabled"], masked=o["masked"])
        if kind == "restart":
            return node.units.request(o["name"], "restart")
        if kind == "reload units":
            node.units.reload()
            return None
        if kind == "unit file":
            return node.files.write("/etc/systemd/system/hand.service", o["text"], mode=0o644)
        if kind == "no unit file":
            return node.files.absent("/etc/systemd/system/hand.service")
        if kind == "value":
            return node.values.ensure(o["key"][0], o["key"][1], o["value"])
        return (node.accounts.user(o["user"]) is not None, node.units.state(o["unit"]).exists)
    except Fail as fault:
        return f"failed: {fault.msg}"


def fresh() -> FakeNode:
    fake = FakeNode(users=["ada"], available=AVAILABLE, values={("sysctl", "vm.swappiness"): "1"})
    fake.folder("/etc/systemd/system")
    return fake


def check(before: list[Operation], script: list[Operation]) -> int:
    """Foresee the script and make it; returns how many operations were foreseen for certain."""
    base = fresh()
    for operation in before:
        perform(Node(base, base), operation)
    untouched = copy.deepcopy(base.__dict__)
    overlay = Overlay(base)
    real = copy.deepcopy(base)
    certain = 0
    for operation in script:
        planned = Node(overlay, overlay)
        overlay.tainted = None
        try:
            foreseen: object = perform(planned, operation)
        except (UnknownReading, ResultUnknown):
            break  # from here on the plan promises nothing
        made = Node(real, real)
        outcome = perform(made, operation)
        promised = [_plain(change.summary()) for change in planned.recorder.changes]
        done = [_plain(change.summary()) for change in made.recorder.changes]
        sure = overlay.tainted is None and all(change["certain"] for change in promised) and "{'unknown'" not in repr(promised)
        missing, extra = compare_changes(promised, done)
        if not sure:
            # Decided on what may turn out otherwise: its changes may be absent, or it may fail.
            if isinstance(outcome, str) or missing or extra:
                break
            continue
        if isinstance(outcome, str) and overlay.pending():
            break  # it names something that a pending step was expected to bring, and did not
        assert (missing, extra) == ((), ()), operation
        assert foreseen == outcome, operation
        certain += 1
        compare(overlay, real)
    assert {**base.__dict__, "made": None} == {**untouched, "made": None} or same_state(base, untouched), "planning changed the node"
    return certain


def same_state(base: FakeNode, untouched: dict[str, Any]) -> bool:
    names = ("_users", "_groups", "_installed", "_units", "_values")
    return all(base.__dict__[name] == untouched[name] for name in names) and base.made == untouched["made"]


def _plain(change: dict[str, Any]) -> dict[str, Any]:
    """A change as documents carry it."""

    def plain(value: Any) -> Any:
        if isinstance(value, Unknown):
            return {"unknown": value.because}
        if isinstance(value, dict):
            return {key: plain(child) for key, child in value.items()}
        return value

    return {key: plain(value) for key, value in change.items()}


def compare(overlay: Overlay, real: FakeNode) -> None:
    """Whatever the overlay claims to know is so on the node."""
    for name in USERS:
        known, there = ask(overlay, lambda name=name: overlay.users().get(name)), real.users().get(name)
        if known is UNKNOWN:
            continue
        assert (known is None) == (there is None), name
        if known is not None and there is not None:
            for field in ("uid", "gid", "group", "comment", "home", "shell", "groups"):
                value = getattr(known, field)
                if value is not None and not isinstance(value, Unknown):
                    same = set(value) == set(there.groups) if field == "groups" else value == getattr(there, field)
                    assert same, (name, field, known, there)
    for name in GROUPS:
        group, real_group = ask(overlay, lambda name=name: overlay.groups().get(name)), real.groups().get(name)
        if group is not UNKNOWN:
            assert (group is None) == (real_group is None), name
            if group is not None and real_group is not None:
                assert group.gid in (None, real_group.gid), name
                assert set(group.members) == set(real_group.members), name
    for name in PACKAGES:
        package, real_package = ask(overlay, lambda name=name: overlay.package("fake", name)), real.package("fake", name)
        if package is not UNKNOWN:
            assert (package and package.version) == (real_package and real_package.version), name
    for name in UNITS:
        unit, real_unit = ask(overlay, lambda name=name: overlay.unit(name, {})), real.unit(name, {})
        if unit is not UNKNOWN:
            assert (unit.exists, unit.running, unit.is_enabled) == (real_unit.exists, real_unit.running, real_unit.is_enabled), name
            assert (unit.load, unit.needs_reload) == (real_unit.load, real_unit.needs_reload), name
    for namespace, key in KEYS:
        value = ask(overlay, lambda namespace=namespace, key=key: overlay.value(namespace, key))
        if value is not UNKNOWN:
            assert value == real.value(namespace, key), key


UNKNOWN = object()


def ask(overlay: Overlay, reading: Any) -> Any:
    """A reading, or UNKNOWN for one the overlay does not vouch for."""
    overlay.tainted = None
    try:
        found = reading()
    except UnknownReading:
        return UNKNOWN
    return UNKNOWN if overlay.tainted else found


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=st.lists(operations, max_size=5), script=st.lists(operations, min_size=1, max_size=8))
def test_what_a_plan_is_sure_of_comes_true(before: list[Operation], script: list[Operation]) -> None:
    check(before, script)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=st.lists(operations, min_size=1, max_size=8))
def test_wanted_states_are_reached_at_once(script: list[Operation]) -> None:
    """Each operation, repeated right away, records nothing (asking for a restart, a reload, a refresh aside)."""
    real = fresh()
    for operation in script:
        if isinstance(perform(Node(real, real), operation), bool) and operation[0] not in ("restart", "reload units", "refresh"):
            again = Node(real, real)
            perform(again, operation)
            assert [change.summary() for change in again.recorder.changes] == [], operation


def test_a_plan_knows_a_lot() -> None:
    """The property above would hold for a plan that claims to know nothing; this one knows all of it."""
    script: list[Operation] = [
        ("group", {"name": "gpu", "gid": 2001}),
        ("user", user("bob", group="gpu")),
        ("user", user("bob", append_groups=("wheel",), comment="A")),
        ("unit file", {"text": UNIT_TEXTS[0]}),
        ("unit", {"name": "hand.service", "active": True, "enabled": True, "masked": None}),
        ("value", {"key": ("sysctl", "vm.swappiness"), "value": "2"}),
        ("install", {"names": ["agent"], "may": False}),
        ("install", {"names": ["other-agent"], "may": True}),
        ("no user", {"name": "bob"}),
    ]
    assert check([("group", {"name": "wheel", "gid": None})], script) >= 6


def user(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, **dict.fromkeys(("uid", "group", "groups", "append_groups", "comment", "shell")), **fields}
