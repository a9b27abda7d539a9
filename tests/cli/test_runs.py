"""``plan`` and ``apply`` on this machine, through the real agent."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import Project

FILES = """
- name: folder
  file: {path: W/out, state: directory, mode: "0755"}
- name: banner
  copy: {dest: W/out/banner, content: "hello\\n", mode: "0644"}
"""
UNREACHABLE = "all: {hosts: {gone: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_timeout: 2}}}\n"


def test_plan_then_apply_then_nothing_to_do(project: Project) -> None:
    project.tasks(FILES)
    planned = project("plan", "inventory.yml")
    assert planned.code == 0
    assert f"+ {project.folder}/out/ (mode 0755)" in planned.out
    assert f"+ {project.folder}/out/banner (mode 0644)" in planned.out
    assert planned.out.endswith("Plan: 2 to change on 1 host.\n")
    assert not project.path("out").exists()

    applied = project("apply", "inventory.yml")
    assert applied.code == 0
    assert "SUMMARY 1 host: 1 changed · tasks: 2 ok, 2 changed" in applied.out
    assert project.path("out/banner").read_text() == "hello\n"

    again = project("apply", "inventory.yml")
    assert "SUMMARY 1 host: 1 ok · tasks: 2 ok, 0 changed" in again.out
    assert project("plan", "inventory.yml").out == "Plan: nothing to do on 1 host.\n"


def test_would_run_is_told_from_not_needed_and_skipped(project: Project) -> None:
    project.write("there", "")
    project.tasks("""
- {name: two, command: {cmd: touch W/there, creates: W/there}}
- {name: three, command: touch W/c, when: false}
- {name: one, command: touch W/a}
""")
    shown = project("plan", "inventory.yml", "-v").out
    assert f"! would run: touch {project.folder}/a" in shown
    assert "not needed: " in shown
    assert f"{project.folder}/there" in shown
    assert "skipped: condition is false: False" in shown
    assert "Plan: 1 to change on 1 host." in shown


def test_handlers_stand_in_the_plan_with_their_cause(project: Project) -> None:
    project.write("same", "same\n")
    project.tasks(
        """
- name: changes
  copy: {dest: W/conf, content: new}
  notify: first
- name: does not
  copy: {dest: W/same, content: "same\\n"}
  notify: second
""",
        """
- name: first
  command: touch W/restarted
- name: second
  command: touch W/other
""",
    )
    shown = project("plan", "inventory.yml").out
    assert "handler first" in shown
    assert f"because of {project.folder}/conf, step 1" in shown
    assert "second" not in shown


@pytest.mark.parametrize(
    ("tasks", "inventory", "plain", "detailed"),
    [
        ("- command: /bin/true\n  changed_when: false\n  check_mode: false", None, 0, 0),
        (FILES, None, 0, 2),
        ("- copy: {dest: W/no/such/folder, content: x}", None, 2, 1),
        (FILES, UNREACHABLE, 4, 4),
        ("- cpy: {dest: x}", None, 1, 1),
    ],
    ids=["nothing", "changes", "error", "unreachable", "input"],
)
def test_exit_codes_and_clean_json(project: Project, tasks: str, inventory: str | None, plain: int, detailed: int) -> None:
    project.tasks(tasks)
    if inventory:
        project.write("inventory.yml", inventory)
    assert project("plan", "inventory.yml").code == plain
    said = project("plan", "inventory.yml", "--detailed-exitcode", "--format", "json")
    assert said.code == detailed
    assert said.document["schema"] == "provision.plan/1"
    assert said.document["ok"] is (plain == 0)


def test_json_of_an_apply(project: Project) -> None:
    project.tasks(FILES)
    document = project("apply", "inventory.yml", "--format", "json").document
    assert document["schema"] == "provision.run/1"
    assert document["hosts"]["here"]["changed"] == 2
    assert [step["status"] for step in document["steps"]] == ["changed", "changed"]


def test_an_unreachable_host_is_explained(project: Project) -> None:
    project.tasks(FILES)
    project.write("inventory.yml", UNREACHABLE)
    said = project("apply", "inventory.yml")
    assert said.code == 4
    assert "UNREACHABLE\n  gone: " in said.out
    assert "--limit gone" in said.out


def test_a_failure_is_grouped_and_a_retry_offered(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["provision", "apply", "inventory.yml", "--limit", "all"])
    project.tasks("- name: broken\n  shell: echo it is full >&2; exit 3")
    said = project("apply", "inventory.yml")
    assert said.code == 2
    assert "FAILED broken · " in said.out
    assert "here: exit status 3: it is full" in said.out
    assert "retry: provision apply inventory.yml --limit here" in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--limit", "here,h9"], "--limit: no host or group is called 'h9'"),
        (["--limit", "!here"], "leaves no host"),
        (["--tags", "drvier"], "--tags drvier: no task has this tag"),
        (["--skip-tags", "drvier"], "--skip-tags drvier: no task has this tag"),
        (["--start-at-task", "foldr"], "--start-at-task foldr: no task has this name"),
        (["-c", "shh"], "--connection shh is not known"),
        (["--become-method", "sodu"], "--become-method sodu is not known"),
        (["-e", "novalue"], "neither name=value nor @FILE"),
        (["-e", "@nofile"], "there is no such file"),
        (["--private-key", "nokey"], "there is no such file"),
    ],
)
def test_typos_never_look_like_success(project: Project, arguments: list[str], said: str) -> None:
    project.tasks(FILES)
    result = project("apply", "inventory.yml", *arguments)
    assert result.code == 1
    assert said in result.err
    assert not project.path("out").exists()


def test_a_play_for_hosts_that_do_not_exist(project: Project) -> None:
    project.write("playbooks/site.yml", "- hosts: gpu_nodse\n  tasks: []\n")
    project.write("inventory.yml", "gpu_nodes: {hosts: {here: {ansible_connection: local}}}\n")
    said = project("plan", "inventory.yml")
    assert said.code == 1
    assert "playbooks/site.yml:1:3: error: no host or group is called 'gpu_nodse'" in said.err
    assert "did you mean 'gpu_nodes'" in said.err


@pytest.mark.parametrize("command", [("plan", "-o"), ("verify", "--junit")])
def test_a_file_that_could_not_be_written_later_is_said_first(project: Project, command: tuple[str, str]) -> None:
    project.tasks("- command: touch W/ran\n  check_mode: false")
    verb, option = command
    said = project(verb, "inventory.yml", option, "no/such/p.json")
    assert said.code == 1
    assert "to no/such/p.json: there is no folder no/such" in said.err
    assert "mkdir -p no/such" in said.err
    assert not project.path("ran").exists()


def test_problems_of_a_file_are_shown_from_top_to_bottom(project: Project) -> None:
    project.tasks("- wehn: true\n  command: echo\n- file: {pth: /x, sate: directory}\n- cpy: {dest: x}")
    said = project("lint")
    lines = [int(line.split(":")[1]) for line in said.err.splitlines() if ": error: " in line]
    assert lines == sorted(lines)
    assert len(lines) >= 4


def test_all_problems_come_together(project: Project) -> None:
    project.tasks("- cpy: {dest: x}\n- file: {pth: /x}\n- command: echo hi\n  wehn: true")
    said = project("apply", "inventory.yml", "--limit", "h9")
    assert said.code == 1
    assert all(text in said.err for text in ("'cpy'", "'pth'", "'wehn'", "'h9'"))


def test_listings_touch_nothing(project: Project) -> None:
    project.tasks(FILES + "  tags: [text, late]\n")
    said = project("apply", "inventory.yml", "--list-hosts", "--list-tasks", "--list-tags")
    assert said.code == 0
    assert "1 host:\n      here\n" in said.out
    assert "      banner  TAGS: [late, text]\n" in said.out
    assert "tags: late, text" in said.out
    assert project("apply", "inventory.yml", "--syntax-check").out.endswith("1 playbook, 1 play: no problems found\n")
    assert not project.path("out").exists()


def test_check_is_plan(project: Project) -> None:
    project.tasks(FILES)
    assert project("apply", "inventory.yml", "--check").out == project("plan", "inventory.yml").out
    assert not project.path("out").exists()


def test_diffs_on_request(project: Project) -> None:
    project.write("conf", "old\n")
    project.tasks('- copy: {dest: W/conf, content: "new\\n"}')
    shown = project("plan", "inventory.yml", "--diff").out
    assert "      -old\n      +new\n" in shown
    assert "-old" in project("apply", "inventory.yml", "-D").out


def test_extra_variables(project: Project) -> None:
    project.tasks('- copy: {dest: W/conf, content: "{{ a }} {{ b }} {{ c }}"}')
    project.write("vars.yml", "b: two\n")
    assert project("apply", "inventory.yml", "-e", "a=one c=no", "-e", "@vars.yml", "-e", "{c: three}").code == 0
    assert project.path("conf").read_text() == "one two three"


def test_ansible_cfg_is_heeded(project: Project) -> None:
    project.write("ansible.cfg", "[defaults]\ninventory = inventory.yml\n")
    project.tasks(FILES)
    assert project("plan").code == 0
    assert project("plan", "-t", "nothing").code == 1


def test_without_an_inventory_or_a_playbook(project: Project) -> None:
    assert "no inventory is named" in project("plan").err
    assert "no playbook was named" in project("plan", "inventory.yml").err


def test_a_module_ad_hoc(project: Project) -> None:
    said = project("run", "inventory.yml", "-m", "shell", "-a", "echo one; echo two >&2")
    assert said.out == "here changed\n  one\n  two\n"
    said = project("run", "inventory.yml", "-m", "file", "-a", "path=W/x state=touch".replace("W", str(project.folder)), "--check")
    assert "here changed\n  + " in said.out
    assert not project.path("x").exists()
    assert project("run", "inventory.yml", "-m", "fiel", "-a", "path=/x").code == 1
    assert project("run", "inventory.yml", "-a", "/bin/false").code == 2
    document = project("run", "inventory.yml", "-a", "echo hi", "--format", "json").document
    assert document["results"]["here"]["stdout"] == "hi"
    assert project("run", "inventory.yml", "nobody", "-a", "true").code == 1


def test_diffs_of_foreign_bytes(project: Project) -> None:
    project.path("latin").write_bytes(b"h\xe9\n")
    project.path("binary").write_bytes(bytes(range(256)))
    lines = [f"line {number}\n" for number in range(50_000)]
    project.write("big", "".join(lines))
    project.write("new", "".join(["changed\n" if number == 30_000 else line for number, line in enumerate(lines)]))
    project.tasks("""
- copy: {dest: W/latin, content: "hé\\n"}
- copy: {dest: W/binary, content: "text\\n"}
- copy: {dest: W/big, src: W/new}
""")
    started = time.monotonic()
    shown = project("plan", "inventory.yml", "--diff").out
    assert time.monotonic() - started < 10
    assert "      -h\\xe9\n      +hé\n" in shown
    assert "256" in shown
    assert "sha256" in shown
    assert shown.count("@@ ") <= 4
    assert "      -line 30000\n      +changed\n" in shown
    document = project("plan", "inventory.yml", "--diff", "--format", "json").document
    assert any("\\xe9" in diff for diff in document["steps"][0]["diffs"])


def test_the_inventory_may_come_by_option_as_with_ansible(project: Project) -> None:
    project.tasks(FILES)
    assert project("plan", "-i", "inventory.yml", "playbooks/site.yml").code == 0
    assert project("plan", "-i", "inventory.yml").code == 0
    wrong = project("plan", "playbooks/site.yml")
    assert wrong.code == 1
    assert "is a playbook, and an inventory is wanted first" in wrong.err


@pytest.mark.parametrize(("setting", "imported", "included"), [(None, "kept", "gone"), ("0", "kept", "kept"), ("1", "gone", "gone")])
def test_variables_of_roles_stay_or_go(
    project: Project, monkeypatch: pytest.MonkeyPatch, setting: str | None, imported: str, included: str
) -> None:
    if setting is not None:
        monkeypatch.setenv("ANSIBLE_PRIVATE_ROLE_VARS", setting)
    for name in ("one", "two"):
        project.write(f"playbooks/roles/{name}/vars/main.yml", f"{name}: kept\n")
        project.write(f"playbooks/roles/{name}/tasks/main.yml", "- debug:\n")
    project.tasks(
        "- import_role: {name: one}\n- include_role: {name: two}\n"
        "- debug: {msg: \"{{ one | default('gone') }} {{ two | default('gone') }}\"}\n"
    )
    assert f"{imported} {included}" in project("apply", "inventory.yml").out
