"""What a person can get wrong in files and options: all of it said together, before any node is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.e2e.fleet import Fleet, Said

FIRST = """\
- name: Try
  hosts: all
  become: true
  gather_facts: false
  tasks:
    - name: mark
      file: {path: /srv/never, state: directory}
"""


@pytest.fixture
def untouched(fleet: Fleet) -> Iterator[Fleet]:
    """The fleet; afterwards no node may have seen a login or have the mark."""
    count = "journalctl -q _COMM=sshd | grep -c Accepted || true"
    before = fleet.on(0, count)
    yield fleet
    assert int(fleet.on(0, count)) == int(before) + 1, "a node was logged in to"
    assert fleet.on(0, "ls -d /srv/never 2>/dev/null || echo none") == "none"


def refused(said: Said, *words: str) -> None:
    """Bad input: exit code 1, nothing on standard output, and each of these in the report."""
    assert said.code == 1, said.all
    assert said.out == ""
    for word in words:
        assert word in said.err, f"{word!r} is not in\n{said.err}"


YAML = [
    ("a tab", FIRST + "    - name: two\n\t  command: x\n", "9:1"),
    ("an open bracket", FIRST + "    - command: [a, b\n", "8"),
    ("a colon", FIRST + "    - debug: msg=a: b\n", "8:"),
    ("an open quote", FIRST + "    - debug: 'x\n", "8"),
    ("a template without quotes", FIRST + "    - debug:\n        msg: {{ x }}\n", "9:14"),
    ("a wrong indentation", FIRST + "   - debug: msg=x\n", "8:4"),
]


@pytest.mark.parametrize(("what", "text", "place"), YAML, ids=[case[0] for case in YAML])
def test_yaml_that_cannot_be_read(untouched: Fleet, what: str, text: str, place: str) -> None:
    untouched.write("site.yml", text)
    said = untouched("apply", "site.yml", "--limit", untouched.names[0])
    refused(said, f"site.yml:{place}", "error: ", "^")
    assert said.err.count("error: ") == 1, said.err


def test_all_mistakes_of_a_playbook_are_reported_together(untouched: Fleet) -> None:
    untouched.write(
        "site.yml",
        FIRST
        + """\
    - name: unknown module
      coppy: {src: a, dest: /b}
    - name: unknown keyword
      command: "true"
      wen: x
    - name: unknown option
      copy: {content: a, dst: /b}
    - name: missing option
      copy: {content: a}
    - name: wrong choice
      file: {path: /x, state: dirctory}
    - name: wrong type
      wait_for: {port: http}
    - name: unknown handler
      command: "true"
      notify: restart demoo
    - name: bad template
      debug: {msg: "{{ x | no_such_filter }}"}
    - name: bad expression
      command: "true"
      when: a ==
    - name: number mode
      copy: {content: a, dest: /a, mode: 644}
    - name: no such file
      template: {src: nowhere.j2, dest: /a}
    - include_tasks: nowhere.yml
  handlers:
    - name: restart demo
      command: "true"
- name: Nobody
  hosts: gpu_nodse
  tasks: []
""",
    )
    said = untouched("apply", "site.yml")
    refused(
        said,
        "site.yml:9:7: error: unknown module 'coppy'",
        "did you mean 'copy'",
        "wen",
        "did you mean 'when'",
        "dst",
        "did you mean 'dest'",
        "dirctory",
        "did you mean 'directory'",
        "http",
        "restart demoo",
        "did you mean 'restart demo'",
        "no_such_filter",
        "a ==",
        "0644",
        "nowhere.j2",
        "nowhere.yml",
        "gpu_nodse",
        "gpu_nodes",
    )
    count = int(re.findall(r"(\d+) errors", said.err)[0])
    assert count >= 13
    places = re.findall(r"site\.yml:(\d+):\d+: error", said.err)
    assert len(set(places)) >= 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--limit", "NAME,nope9"), ("nope9",)),
        (("--limit", "NAME,!nope9"), ("nope9",)),
        (("--tags", "drvier"), ("drvier", "driver")),
        (("--skip-tags", "drvier"), ("drvier", "driver")),
        (("--start-at-task", "nope"), ("nope", "note")),
        (("-e", "@nowhere.yml"), ("nowhere.yml",)),
        (("-e", "{broken"), ("<command line>", "not closed")),
        (("--forks", "0"), ("0",)),
        (("--colour",), ("--colour", "--color")),
        (("--vault-password-file", "nowhere.txt"), ("nowhere.txt",)),
        (("--private-key", "nowhere.key"), ("nowhere.key",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_options_that_mean_nothing(untouched: Fleet, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    """L11."""
    untouched.write("site.yml", FIRST + "    - name: note\n      command: 'true'\n      tags: driver\n")
    said = untouched("apply", "site.yml", *(part.replace("NAME", untouched.names[0]) for part in arguments))
    refused(said, *words)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("inventory.ini", "[gpu\nnode1\n", ("inventory.ini:1",)),
        ("inventory.ini", "[a:children]\nb\n", ("inventory.ini", "b")),
        ("inventory.yml", "all:\n  hosts:\n    a:\n   b:\n", ("inventory.yml:4",)),
    ],
)
def test_inventories_that_cannot_be_read(fleet: Fleet, name: str, text: str, words: tuple[str, ...]) -> None:
    fleet.play("- ping:\n")
    said = fleet("apply", "site.yml", inventory=fleet.write(name, text))
    refused(said, *words)


def test_an_inventory_or_playbook_that_is_not_there(fleet: Fleet) -> None:
    fleet.play("- ping:\n")
    refused(fleet.bare("apply", "inventori.yml", "site.yml"), "inventori.yml")
    refused(fleet("apply", "sit.yml"), "sit.yml", "site.yml")
    refused(fleet.bare("aply", "x"), "aply", "apply")


def test_an_undefined_variable_deep_in_a_template(fleet: Fleet, w: str) -> None:
    """L13: the place in the template, the task that used it, and the host."""
    lines = [f"line {number}" for number in range(1, 61)]
    lines[40] = "watts = {{ gpu.limit.watts }}"
    fleet.write("templates/x.j2", "\n".join(lines) + "\n")
    play = fleet.play(
        f"- name: settings\n  template: {{src: x.j2, dest: {w}.conf}}\n- name: after\n  file: {{path: {w}.after, state: touch}}\n",
        keywords="vars: {gpu: {branch: 535, count: 2}}",
    )
    for command in ("plan", "apply"):
        said = fleet(command, play)
        assert said.code == 2, said.all
        report = said.all
        for word in ("templates/x.j2:41:", "'limit'", "branch, count", "site.yml:7", "settings"):
            assert word in report, f"{word!r} is not in\n{report}"
        assert f"{fleet.lab.name}-[1-3]" in report
        assert "line 39" not in report
    assert fleet.on(0, f"ls {w}* 2>/dev/null || echo none") == "none"


def test_an_undefined_variable_in_an_argument_condition_and_loop(fleet: Fleet) -> None:
    play = fleet.play("- name: says\n  debug: {msg: 'a {{ colour }}'}\n", keywords="vars: {color: red}")
    said = fleet("apply", play, "--limit", fleet.names[0])
    assert said.code == 2
    for word in ("'colour'", "site.yml", "says", "did you mean 'color'"):
        assert word in said.all, said.all
    play = fleet.play("- name: asks\n  debug: {msg: x}\n  when: colour == 'red'\n", keywords="vars: {color: red}")
    said = fleet("apply", play, "--limit", fleet.names[0])
    assert said.code == 2
    assert "'colour'" in said.all
    assert "when: " in said.all
    assert "site.yml:7" in said.all, said.all
