"""Arguments in text form; the wanted values are what ansible-core 2.19 makes of the same texts."""

from __future__ import annotations

import pytest

from provisioner.playbook.arguments import RAW, ArgumentTextError, action_and_rest, has_template, parse

COMMANDS: list[tuple[str, dict[str, str]]] = [
    ("uptime", {RAW: "uptime"}),
    ("", {}),
    ("echo hi chdir=/tmp", {RAW: "echo hi", "chdir": "/tmp"}),
    ('echo "a b" x\\=1 "q\\tq" creates="/tm p/x" foo=bar', {RAW: 'echo "a b" x=1 "q\\tq" foo=bar', "creates": "/tm p/x"}),
    ("echo {{ 'a b' }}   two   spaces chdir=/tmp", {RAW: "echo {{ 'a b' }}   two   spaces", "chdir": "/tmp"}),
    ("chdir=/tmp creates=/n echo hi", {RAW: "echo hi", "chdir": "/tmp", "creates": "/n"}),
    ("echo a   creates=/nope   b", {RAW: "echo a   b", "creates": "/nope"}),
    ("echo a\ncreates=/nope\necho b", {RAW: "echo a\necho b", "creates": "/nope"}),
    ("echo folded\ncreates=/nope\n", {RAW: "echo folded", "creates": "/nope"}),
    ("  echo lead\n", {RAW: "  echo lead\n"}),
    ('cat <<EOF\n  indented "quotes" a=b\nEOF\ntrue\n', {RAW: 'cat <<EOF\n  indented "quotes" a=b\nEOF\ntrue\n'}),
    ("echo x | sed 'a\\\ntext'", {RAW: "echo x | sed 'a\\\ntext'"}),
    ("echo a\\\nb", {RAW: "echo a\\\nb"}),
    ('echo "multi\n line" x=y', {RAW: 'echo "multi\n line" x=y'}),
    ('echo a\\ b "x\\"y"', {RAW: 'echo a\\ b "x\\"y"'}),
    ("{{ 'echo chdir=/tmp' }} creates=/n", {RAW: "{{ 'echo chdir=/tmp' }}", "creates": "/n"}),
    ("echo {{ 'a=b' }}=c", {RAW: "echo {{ 'a=b' }}=c"}),
    ("FOO=bar env", {RAW: "FOO=bar env"}),
    ("for i in 1 2; do\n\techo $i\ndone # it is = ok\n", {RAW: "for i in 1 2; do\n\techo $i\ndone # it is = ok\n"}),
]

OPTIONS: list[tuple[str, dict[str, str]]] = [
    ("src=a dest=b", {"src": "a", "dest": "b"}),
    ("src=\"a b\" dest='c d'", {"src": "a b", "dest": "c d"}),
    ('msg="tab\\there \\"quoted\\" \\\\ back"', {"msg": 'tab\there "quoted" \\ back'}),
    ("msg='it\\'s'", {"msg": "it's"}),
    ("msg=plain\\tx\\x41", {"msg": "plain\txA"}),
    ("msg=a=b", {"msg": "a=b"}),
    ("msg={{ v }} verbosity=0", {"msg": "{{ v }}", "verbosity": "0"}),
    ("msg=\"{{ 'a' }} and {% if true %}yes no{% endif %}\"", {"msg": "{{ 'a' }} and {% if true %}yes no{% endif %}"}),
    ('a=1 b="x y" c={{ [1,2] }}', {"a": "1", "b": "x y", "c": "{{ [1,2] }}"}),
    ("msg = 'x'", {RAW: "msg = 'x'"}),
    ("x='a' \"y\"=2", {"x": "a", '"y"': "2"}),
    ("{{ 'a=' ~ b }}={{ c }} d=1", {"{{ 'a=' ~ b }}": "{{ c }}", "d": "1"}),
    ("other.yml name=x", {RAW: "other.yml", "name": "x"}),
    ("src=a\n  dest=b\n", {"src": "a", "dest": "b"}),
]


@pytest.mark.parametrize(("text", "wanted"), COMMANDS)
def test_command_lines(text: str, wanted: dict[str, str]) -> None:
    assert parse(text, command=True) == wanted


@pytest.mark.parametrize(("text", "wanted"), OPTIONS)
def test_options(text: str, wanted: dict[str, str]) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(("text", "message"), [('msg="x', 'a " quote'), ("echo it's", "a ' quote"), ("echo {{ x", "}}"), ("{% if x", "%}")])
def test_unbalanced(text: str, message: str) -> None:
    with pytest.raises(ArgumentTextError) as caught:
        parse(text, command=True)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [("copy src=a", "copy", "src=a"), ("ping", "ping", ""), ("{{ pkg_mgr }} name=x", "{{ pkg_mgr }}", "name=x")],
)
def test_action_texts(text: str, name: str, rest: str) -> None:
    assert action_and_rest(text) == (name, rest)


def test_templates_are_found_anywhere() -> None:
    assert has_template({"a": ["x", {"b": "{{ c }}"}]})
    assert has_template({"{{ k }}": 1})
    assert not has_template(["{ not }", 5, None])


def test_quotes_inside_of_templates_hide_marks() -> None:
    assert parse('echo {{ "{{ 1 }}" }} b', command=True) == {"_raw_params": 'echo {{ "{{ 1 }}" }} b'}
    assert parse("a={{ '}} x' }} b={# it's #}") == {"a": "{{ '}} x' }}", "b": "{# it's #}"}
