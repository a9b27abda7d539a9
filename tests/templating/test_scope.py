"""Which definition wins, when it is rendered, and what touching it sets off."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from provisioner.diagnostics import Span
from provisioner.errors import InputError
from provisioner.templating import LEVELS, PENDING, Environment, Layer, Level, NeedsResult, PendingNames, Scope, Templar
from provisioner.values import UnsafeText, WrittenFloat

ENVIRONMENT = Environment(environ={})


def render(scope: Scope, text: Any) -> Any:
    return Templar(ENVIRONMENT, scope).render(text)


def test_levels_are_those_of_ansible() -> None:
    assert [level.rank for level in LEVELS] == list(range(1, 24))
    assert [level for level in LEVELS if not level.trusted] == [Level.FACTS, Level.PLAY_PROMPT, Level.SET_FACT, Level.MAGIC]


@pytest.mark.parametrize(("weak", "strong"), list(itertools.pairwise(LEVELS)))
def test_precedence(weak: Level, strong: Level) -> None:
    for layers in (
        [Layer(weak, {"x": "weak"}), Layer(strong, {"x": "strong"})],
        [Layer(strong, {"x": "strong"}), Layer(weak, {"x": "weak"})],
    ):
        assert render(Scope(layers), "{{ x }}") == "strong"


def test_the_later_of_two_layers_of_one_level_wins() -> None:
    scope = Scope([Layer(Level.ROLE_VARS, {"x": 1}), Layer(Level.ROLE_VARS, {"x": 2})])
    assert render(scope, "{{ x }}") == 2
    assert render(scope.child(Layer(Level.ROLE_VARS, {"x": 3})), "{{ x }}") == 3
    assert render(scope.child(Layer(Level.ROLE_DEFAULTS, {"x": 4})), "{{ x }}") == 2
    assert render(scope.plus({"x": 5}), "{{ x }}") == 5


def test_child_leaves_its_parent_alone() -> None:
    parent = Scope([Layer(Level.PLAY_VARS, {"x": 1, "y": "{{ x }}"})])
    child = parent.child(Layer(Level.TASK_VARS, {"x": 2}))
    assert (render(parent, "{{ y }}"), render(child, "{{ y }}")) == (1, 2)


def test_explain_marks_the_winner() -> None:
    scope = Scope(
        [
            Layer(Level.EXTRA, {"x": 3}, "-e"),
            Layer(Level.ROLE_DEFAULTS, {"x": 1}, "roles/a/defaults/main.yml", spans={"x": Span("roles/a/defaults/main.yml", 4, 1)}),
            Layer(Level.PLAY_VARS, {"x": 2, "y": 0}, "site.yml"),
        ]
    )
    found = scope.explain("x")
    assert [(item.level, item.value, item.wins) for item in found] == [
        (Level.ROLE_DEFAULTS, 1, False),
        (Level.PLAY_VARS, 2, False),
        (Level.EXTRA, 3, True),
    ]
    assert str(found[0].span) == "roles/a/defaults/main.yml:4:1"
    assert scope.explain("nope") == []


def test_magic_variables() -> None:
    scope = Scope([], host="gpu01.rack", groups={"all": ["gpu01.rack"], "gpus": ["gpu01.rack"]}, group_names=["gpus"])
    found = render(scope, "{{ [inventory_hostname, inventory_hostname_short, groups.gpus, group_names] }}")
    assert found == ["gpu01.rack", "gpu01", ["gpu01.rack"], ["gpus"]]


def test_vars_is_lazy() -> None:
    scope = Scope([Layer(Level.PLAY_VARS, {"a": "{{ b }}", "b": 1, "bad": "{{ nope }}"})])
    assert render(scope, "{{ vars['a'] + vars.b }}") == 2
    assert (
        render(scope, "{{ 'a' in vars }} {{ 'zz' in vars }} {{ vars.zz | default('d') }} {{ vars['bad'] | default('e') }}")
        == "True False d e"
    )


def test_only_trusted_layers_are_templates() -> None:
    raw = "{{ 1 + 1 }}"
    for level in LEVELS:
        assert render(Scope([Layer(level, {"x": raw})]), "{{ x }}") == (2 if level.trusted else raw)
    assert render(Scope([Layer(Level.PLAY_VARS, {"x": raw}, trusted=False)]), "{{ x }}") == raw
    assert render(Scope([Layer(Level.PLAY_VARS, {"x": UnsafeText(raw), "y": [UnsafeText(raw)]})]), "{{ [x, y[0]] }}") == [raw, raw]


def test_what_commands_print_is_never_evaluated() -> None:
    """Bug case L08: through registered results, set_fact, loops, conditions and template files."""
    evil = "{{.State}} {# c #} {% raw"
    scope = Scope([Layer(Level.SET_FACT, {"r": {"stdout": evil, "stdout_lines": [evil]}})])
    for name in ("s1", "s2", "s3"):
        source = "{{ r.stdout }}" if name == "s1" else f"{{{{ s{int(name[1]) - 1} }}}}"
        scope = scope.child(Layer(Level.SET_FACT, {name: render(scope, source)}))
    templar = Templar(ENVIRONMENT, scope)
    assert templar.render("{{ s3 }}") == evil
    assert templar.render("{{ r.stdout_lines }}") == [evil]
    assert templar.render("<{{ s3 }}>") == f"<{evil}>"
    assert templar.evaluate("'{{' in s3") is True
    assert templar.text("{{ s3 }}", "x.j2") == evil
    assert templar.render("{{ lookup('items', s3) }}") == evil
    assert templar.render("{{ [s3] | map('upper') | list }}") == [evil.upper()]
    assert templar.within(scope.plus({"item": evil})).render("{{ item }}") == evil


def test_pending_values() -> None:
    scope = Scope([Layer(Level.SET_FACT, {"r": PENDING}), Layer(Level.PLAY_VARS, {"a": "{{ r.x }}", "c": {"deep": "{{ a }}", "n": 1}})])
    texts = ["{{ r }}", "{{ r is defined }}", "{{ vars['r'] }}", "{{ 'r' in vars }}", "{{ a }}", "{{ r | default(1) }}", "{{ c.deep }}"]
    for text in [*texts, "{{ lookup('vars', 'r', default=1, errors='ignore') }}", "{% if false or r %}{% endif %}", "{{ c | to_json }}"]:
        with pytest.raises(NeedsResult) as caught:
            render(scope, text)
        assert caught.value.name == "r"
    assert render(scope, "{{ c.n }}") == 1
    assert render(scope.child(Layer(Level.EXTRA, {"r": {"x": 7}})), "{{ c.deep }}") == 7


def test_pending_prefixes() -> None:
    facts = PendingNames(prefixes=("ansible_",), known={"cached": 1})
    scope = Scope([Layer(Level.FACTS, facts), Layer(Level.MAGIC, {"ansible_check_mode": False})])
    assert render(scope, "{{ cached }} {{ ansible_check_mode }}") == "1 False"
    with pytest.raises(NeedsResult, match="ansible_os_family"):
        render(scope, "{{ ansible_os_family }}")


def test_hostvars() -> None:
    touched: list[str] = []
    peers: dict[str, Scope] = {}
    for host in ("a", "b"):
        layers = [Layer(Level.INVENTORY_HOST, {"address": "{{ net }}.{{ inventory_hostname }}", "net": "10"})]
        peers[host] = Scope(layers, host=host, peers=peers, on_hostvars=touched.append)
    assert render(peers["a"], "{{ hostvars['b'].address }}") == "10.b"
    assert touched == ["b"]
    assert (
        render(peers["a"], "{{ hostvars[inventory_hostname].address }} {{ hostvars | list }} {{ hostvars.nope is defined }}")
        == "10.a ['a', 'b'] False"
    )
    assert touched == ["b"]
    assert render(peers["a"], "{{ ['a', 'b'] | map('extract', hostvars, 'address') | list }}") == ["10.a", "10.b"]
    with pytest.raises(InputError, match="'x' is missing in 'hostvars'"):
        render(peers["a"], "{{ hostvars.x.address }}")


class Signal(Exception):
    """What an engine may raise to leave a task."""


def test_the_hook_may_raise_anything() -> None:
    def hook(_host: str) -> None:
        raise Signal

    scope = Scope([], host="a", peers={"a": Scope(), "b": Scope()}, on_hostvars=hook)
    for text in (
        "{{ hostvars['b'].x | default('y') }}",
        "{{ ['b'] | map('extract', hostvars) | list }}",
        "{{ lookup('items', hostvars.b, errors='ignore') }}",
    ):
        with pytest.raises(Signal):
            render(scope, text)


def test_layers_may_be_live() -> None:
    values: dict[str, Any] = {"r": PENDING}
    scope = Scope([Layer(Level.SET_FACT, values)])
    with pytest.raises(NeedsResult):
        render(scope, "{{ r }}")
    values["r"] = 1
    assert render(scope, "{{ r }}") == 1


def test_hash_behaviour_merge() -> None:
    layers = [
        Layer(Level.ROLE_DEFAULTS, {"d": {"a": 1, "n": {"x": 1}}, "l": [1]}),
        Layer(Level.PLAY_VARS, {"d": {"b": "{{ two }}", "n": {"y": 2}}, "two": 2, "l": [2]}),
    ]
    assert render(Scope(layers), "{{ d }}") == {"b": 2, "n": {"y": 2}}
    assert render(Scope(layers, merge=True), "{{ d }}") == {"a": 1, "b": 2, "n": {"x": 1, "y": 2}}
    assert render(Scope(layers, merge=True), "{{ l }}") == [2]


def test_rendered_once_in_an_evaluation() -> None:
    scope = Scope([Layer(Level.PLAY_VARS, {"x": "{{ 1000000000 | random }}", "y": "{{ x }}"})])
    first, second, third = render(scope, ["{{ x }}", "{{ y }}", "{{ vars.x }}"])
    assert first == second == third


def test_changing_a_variable_in_a_template_changes_nothing_else() -> None:
    scope = Scope([Layer(Level.PLAY_VARS, {"l": [1], "d": {"a": [1]}}), Layer(Level.SET_FACT, {"facts": {"a": [1]}})])
    assert render(scope, "{% set _ = l.append(2) %}{% set _ = d.a.append(2) %}{% set _ = facts.update({'b': 2}) %}{{ [l, d, facts] }}") == [
        [1, 2],
        {"a": [1, 2]},
        {"a": [1], "b": 2},
    ]
    assert render(scope, "{{ [l, d, facts] }}") == [[1], {"a": [1]}, {"a": [1]}]


def test_numbers_keep_their_spelling_as_text() -> None:
    """Bug case L03."""
    scope = Scope([Layer(Level.PLAY_VARS, {"cuda": WrittenFloat(12.1, "12.10")})])
    assert render(scope, "cuda-toolkit-{{ cuda | replace('.', '-') }}") == "cuda-toolkit-12-10"
    assert render(scope, "{{ cuda ~ '' }} {{ cuda }}") == "12.10 12.10"
    assert render(scope, "{{ cuda + 1 }}") == 13.1
    assert render(scope, "{{ {'v': cuda} | to_nice_yaml }}") == "v: 12.10\n"


class Sealed:
    """A vaulted value as the vault makes them."""

    def reveal(self) -> str:
        return "s3cret {{ x }}"


class Undecryptable:
    """A vaulted value that no password fits."""

    def reveal(self) -> str:
        raise InputError.of("none of the vault passwords (default) fits")


def test_what_no_password_fits_is_an_error_only_for_those_who_use_it() -> None:
    """Bug case B05."""
    scope = Scope([Layer(Level.PLAY_VARS, {"bad": Undecryptable(), "d": {"bad": Undecryptable(), "n": 1}})])
    assert render(scope, "{{ d.n }} {{ 'x' if true else bad }}") == "1 x"
    for text in ("{{ bad }}", "{{ d.bad }}", "{{ d | to_json }}", "{{ bad | default('x') }}"):
        with pytest.raises(InputError, match="none of the vault passwords") as caught:
            render(scope, text)
        assert "needed by variable" in caught.value.diagnostics.errors[0].why


def test_sealed_values_are_opened_when_used_and_are_no_templates() -> None:
    scope = Scope([Layer(Level.PLAY_VARS, {"x": 1, "pw": Sealed(), "d": {"pw": Sealed()}})])
    assert render(scope, "{{ pw }}/{{ d.pw }}") == "s3cret {{ x }}/s3cret {{ x }}"
    assert render(scope, "{{ pw is vault_encrypted }} {{ x is vault_encrypted }} {{ (pw ~ '') is vault_encrypted }}") == "True False False"
    assert render(scope, {"password": Sealed()}) == {"password": "s3cret {{ x }}"}


def test_recursion_names_the_chain() -> None:
    scope = Scope(
        [Layer(Level.PLAY_VARS, {"a": "{{ b }}", "b": "{{ c.x }}", "c": {"x": "{{ a }}"}, "fine": {"one": 1, "two": "{{ fine.one }}"}})]
    )
    assert render(scope, "{{ fine.two }}") == 1
    with pytest.raises(InputError, match=r"Recursive loop detected in template: a → b → c\.x → a"):
        render(scope, "{{ a }}")


def test_a_vault_can_be_opened_with_a_password_of_its_own() -> None:
    ciphertext = render(Scope([Layer(Level.SET_FACT, {"t": "text {{"})]), "{{ t | vault('pw') }}")

    class Foreign(Undecryptable):
        def __init__(self) -> None:
            self.ciphertext = ciphertext

    scope = Scope([Layer(Level.PLAY_VARS, {"sealed": Foreign()}), Layer(Level.SET_FACT, {"text": ciphertext})])
    assert render(scope, "{{ sealed | unvault('pw') }}/{{ text | unvault('pw') }}/{{ 'plain' | unvault('pw') }}") == "text {{/text {{/plain"
    with pytest.raises(InputError, match="filter plugin 'unvault' failed"):
        render(scope, "{{ text | unvault('wrong') }}")
    with pytest.raises(InputError):
        render(scope, "{{ sealed | unvault('wrong') }}")
