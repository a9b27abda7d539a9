"""Promises that only real nodes can break: a saved plan is carried out as it is or not at all, and secrets stay where they belong."""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.e2e.fleet import Fleet


def test_a_plan_whose_node_has_moved_is_refused(fleet: Fleet, w: str) -> None:
    one = ("--limit", fleet.names[0])
    fleet.on(0, f"mkdir {w}; echo old > {w}/conf; echo other > {w}/other")
    play = fleet.play(
        f'- name: conf\n  copy: {{dest: {w}/conf, content: "new\\n"}}\n- name: more\n  file: {{path: {w}/more, state: directory}}\n'
    )
    assert fleet("plan", play, *one, "-o", "plan.json").code == 0
    fleet.on(0, f"echo by hand > {w}/conf; echo changed > {w}/other")
    refused = fleet.bare("apply", "plan.json")
    assert refused.code == 3, refused.all
    assert f"{w}/conf" in refused.all, refused.all
    assert f"{w}/other" not in refused.all
    assert "size 4" in refused.all
    assert "size 8" in refused.all
    assert fleet.on(0, f"cat {w}/conf; ls {w}").split("\n") == ["by hand", "conf", "other"]

    fleet.on(0, f"echo old > {w}/conf")
    assert fleet("plan", play, *one, "-o", "plan.json").code == 0
    fleet.on(0, f"echo again > {w}/other")
    applied = fleet.bare("apply", "plan.json")
    assert applied.code == 0, applied.all
    assert fleet.on(0, f"cat {w}/conf; ls {w}").split("\n") == ["new", "conf", "more", "other"]


def test_secrets_leak_nowhere(fleet: Fleet, w: str) -> None:
    """Vaulted values, ``no_log`` and passwords: not in any output, plan, record or file but where they were to go."""
    vaulted, hidden, password = (f"{name}{secrets.token_hex(6)}" for name in ("vaulted", "hidden", "password"))
    fleet.write("vault.txt", "open sesame\n")
    encrypted = fleet.bare("vault", "encrypt-string", "--vault-password-file", "vault.txt", "--name", "token", vaulted)
    assert encrypted.code == 0, encrypted.all
    fleet.write("vars.yml", encrypted.out)
    play = fleet.play(
        f"""
- file: {{path: {w}, state: directory, mode: "0700"}}
- name: vaulted
  copy: {{dest: {w}/vaulted, content: "a={{{{ token }}}}\\n", mode: "0600"}}
  notify: "restart {{{{ token }}}}"
- name: template of it
  template: {{src: t.j2, dest: {w}/template, mode: "0600"}}
- name: hidden
  copy: {{dest: {w}/hidden, content: "{hidden}", mode: "0600"}}
  no_log: true
- name: hidden command
  command: {{cmd: cat, stdin: "{hidden}"}}
  no_log: true
  register: said
- name: user
  user: {{name: "u{w[-6:]}", password: "{password}"}}
- name: watched
  shell: cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c -e [v]{vaulted[1:-2]} -e [h]{hidden[1:-2]} | cat
  register: seen
- name: unseen
  assert: {{that: [seen.stdout | default('0') == '0']}}
- name: fails
  command: "false {{{{ token }}}}"
  ignore_errors: true
- name: says
  debug: {{msg: "{{{{ token }}}} {{{{ said.stdout | default('') | length }}}}"}}
""",
        f'- name: "restart {{{{ token }}}}"\n  command: touch {w}/restarted\n',
        keywords="vars_files: [vars.yml]",
    )
    fleet.write("templates/t.j2", "b={{ token }}\n")
    start = fleet.on(0, "date +%s")
    one = ("--limit", fleet.names[0], "--vault-password-file", "vault.txt", "--diff")
    said = [
        fleet("plan", play, *one, "-o", "plan.json", "-vvv"),
        fleet("plan", play, *one, "--format", "json"),
        fleet("plan", play, *one, "--format", "html"),
        fleet.bare("show", "plan.json", "--format", "md"),
        fleet("apply", play, *one, "-vvv", "--format", "json"),
        fleet("apply", play, *one, "-vvv"),
    ]
    for one_said in said:
        assert one_said.code == 0, one_said.all
        for secret in (vaulted, hidden, password):
            assert secret not in one_said.all, f"{secret}: {one_said.all}"
    plan = (fleet.folder / "plan.json").read_text()
    kept = [path.read_text("utf-8", "replace") for path in Path(fleet.folder / "home").rglob("*") if path.is_file()]
    for secret in (vaulted, hidden, password):
        assert all(secret not in text for text in (plan, *kept))
    assert said[4].step("unseen")["status"] == "ok"
    places = "/var/lib/provision /var/cache/provision /run/provision.lock /tmp /var/tmp /var/log /root /home"
    for secret in (vaulted[:-1], hidden, password):
        files = f"grep -rlaF {secret} {places} 2>/dev/null | grep -v /var/log/journal"
        found = fleet.on(0, f"{files}; journalctl -q --since @{start} | grep -cF {secret} || true")
        assert found == "0", f"{secret} is in {found}"
    assert fleet.on(0, f"cat {w}/vaulted {w}/template {w}/hidden; ls {w}").split() == [
        f"a={vaulted}", f"b={vaulted}", *f"{hidden}hidden restarted template vaulted".split()
    ]  # fmt: skip
