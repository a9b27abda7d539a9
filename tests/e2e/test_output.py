"""Commands whose output is too much, not text, or meant for a terminal."""

from __future__ import annotations

import pytest

from tests.e2e.fleet import Fleet


@pytest.mark.parametrize(("byte", "whole"), [("x", 50_000_000), ("\\0", 50_000_000), ("\\377", 50_000_000), ("\\n", 0)])
def test_output_of_50_megabytes_is_whole(fleet: Fleet, byte: str, whole: int) -> None:
    play = fleet.play(f"""
- name: much
  shell: head -c 50000000 /dev/zero | tr '\\0' '{byte}'; head -c 3145728 /dev/zero >&2
  register: much
- name: sizes
  assert: {{that: [much.stdout | length == {whole}, much.stderr | length == 3145728]}}
- name: goes on
  command: echo on
""")
    done = fleet("apply", play, "--limit", fleet.names[0])
    assert done.code == 0, done.all
    assert len(done.all) < 100_000


def test_bytes_that_are_no_text_arrive_unharmed(fleet: Fleet, w: str) -> None:
    play = fleet.play(f"""
- file: {{path: {w}, state: directory}}
- name: odd
  command: printf 'h\\351\\377\\376\\n\\001'
  register: odd
- copy: {{dest: {w}/odd, content: "{{{{ odd.stdout }}}}"}}
""")
    done = fleet("apply", play, "--limit", fleet.names[0], "--format", "json")
    assert done.code == 0, done.all
    assert done.step("odd")["status"] == "changed"
    assert fleet.on(0, f"od -An -tx1 {w}/odd").split() == ["68", "e9", "ff", "fe", "0a", "01"]


def test_output_of_a_node_cannot_play_tricks_on_the_terminal(fleet: Fleet) -> None:
    play = fleet.play("- name: evil\n  shell: printf '\\033]0;title\\007\\033[2Jgone\\033[31m\\rok fine\\b\\b \\302\\233'; exit 1\n")
    done = fleet("apply", play, "--limit", fleet.names[0], "-vv")
    assert done.code == 2, done.all
    assert not set(done.all) & {"\x1b", "\x07", "\r", "\b", "\x9b"}
    assert "gone" in done.all


def test_template_marks_in_output_stay_data(fleet: Fleet, w: str) -> None:
    """L08."""
    text = "{{.State}} {# c #} {% raw"
    fleet.on(0, f"mkdir -p {w}; printf '%s' '{text}' > {w}/in")
    play = fleet.play(f"""
- command: cat {w}/in
  register: r
- set_fact: {{a: "{{{{ r.stdout }}}}"}}
- set_fact: {{b: "{{{{ a }}}}"}}
- set_fact: {{c: "{{{{ b }}}}"}}
- copy: {{dest: "{w}/out", content: "{{{{ item }}}}"}}
  loop: ["{{{{ c }}}}"]
  loop_control: {{label: x}}
  when: "'{{{{' in c"
""")
    done = fleet("apply", play, "--limit", fleet.names[0])
    assert done.code == 0, done.all
    assert fleet.on(0, f"cat {w}/out") == text


def test_a_background_child_does_not_hold_the_task(fleet: Fleet, w: str) -> None:
    """C04."""
    play = fleet.play("- name: start\n  shell: (sleep 1021.7 &) ; echo ok\n  register: r\n- assert: {that: [r.stdout == 'ok']}\n")
    done = fleet("apply", play, "--limit", fleet.names[0])
    assert done.code == 0, done.all
    assert fleet.on(0, "pgrep -x sleep -a | grep 1021.7; pkill -f 'sleep 1021.7'"), "the child still runs, and nobody waited for it"


def test_names_and_words_of_a_node_cannot_play_tricks_either(fleet: Fleet, w: str) -> None:
    """File names that are no text or steer a terminal, and frames of the agent's own protocol in what a command says."""
    fleet.on(
        0, f"mkdir {w}; cd {w}; touch $'bad\\xff\\xfename' $'esc\\e]0;title\\a\\e[2J' $'new\\nline'; printf 'a\\033[31mb' > $'esc\\e[1m'"
    )
    play = fleet.play(f"""
- name: frames
  shell: "printf 'PVN1\\\\000\\\\000\\\\000\\\\002\\\\000\\\\000\\\\000\\\\000{{}}'; printf '\\\\nPVN1 0 ok\\\\n' | tee /dev/stderr"
  register: r
- assert: {{that: ["'PVN1' in r.stdout", "'PVN1 0 ok' in r.stderr"]}}
- name: names
  find: {{paths: {w}}}
  register: found
- assert: {{that: [found.files | length == 4]}}
- name: marks
  copy: {{dest: "{{{{ item.path }}}}.mark", content: x}}
  loop: "{{{{ found.files }}}}"
- name: gone
  file: {{path: "{{{{ item.path }}}}", state: absent}}
  loop: "{{{{ found.files }}}}"
- name: wrong
  file: {{path: "{{{{ found.files[0].path }}}}/x/y", state: touch}}
  ignore_errors: true
""")
    one = ("--limit", fleet.names[0])
    for said in (
        fleet("plan", play, *one, "-D"),
        fleet("apply", play, *one, "-vvv", "-D"),
        fleet("run", "-m", "find", "-a", f"paths={w}", "-b", *one),
    ):
        assert said.code == 0, said.all
        assert not set(said.all) & {"\x1b", "\x07", "\r", "\b", "\x9b"}
        assert "\\xff\\xfe" in said.all
    assert fleet.on(0, f"ls -b {w}").splitlines() == [
        "bad\\377\\376name.mark", "esc\\033[1m.mark", "esc\\033]0;title\\a\\033[2J.mark", "new\\nline.mark"
    ]  # fmt: skip
    fleet.on(0, f"rm -r {w}")
