"""Commands that look: verify, explain, lint, and the starter project."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Project

ROLE = """
- name: banner
  copy: {dest: "{{ banner_file }}", content: "{{ banner_text }}\\n", mode: "0644"}
"""
TEST = """
def test_text(host, role_vars, hostvars):
    assert host.file(role_vars["banner_file"]).content_string == role_vars["banner_text"] + "\\n"
    assert hostvars["inventory_hostname"] == "here"
"""


@pytest.fixture
def roles(project: Project) -> Project:
    project.write("playbooks/site.yml", "- name: Try\n  hosts: all\n  gather_facts: false\n  roles:\n    - banner\n")
    project.write("playbooks/roles/banner/tasks/main.yml", ROLE)
    project.write("playbooks/roles/banner/defaults/main.yml", "banner_file: W/banner\nbanner_text: from the role\n")
    project.write("playbooks/roles/banner/tests/test_banner.py", TEST)
    project.write("group_vars/all.yml", "banner_text: from the group\n")
    return project


def test_verify_fails_before_and_passes_after_an_apply(roles: Project) -> None:
    before = roles("verify", "inventory.yml", "--junit", "before.xml")
    assert before.code == 2
    assert "failed nothing left to do on here: 1 step left to do" in before.out
    assert "failed banner : test_text on here" in before.out
    assert not roles.path("banner").exists()

    assert roles("apply", "inventory.yml").code == 0
    after = roles("verify", "inventory.yml", "--junit", "after.xml", "--format", "json")
    assert after.code == 0, after.out
    assert after.document["stats"]["passed"] == 2
    tree = ElementTree.parse(roles.path("after.xml")).getroot()
    assert [case.get("name") for case in tree.iter("testcase")] == ["nothing left to do", "test_text"]
    assert ElementTree.parse(roles.path("before.xml")).getroot().find("testsuite[@failures='2']") is not None


def test_verify_says_what_it_cannot_know(project: Project) -> None:
    project.tasks('- command: /bin/true\n- name: later\n  copy: {dest: W/x, content: "{{ r }}"}\n  vars: {r: x}')
    said = project("verify", "inventory.yml", "--only", "plan")
    assert said.code == 2  # the command would run again: that is not an empty plan
    assert "1 step left to do" in said.out


def test_verify_of_an_unreachable_host(roles: Project) -> None:
    roles.write("inventory.yml", "all: {hosts: {gone: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_timeout: 2}}}\n")
    said = roles("verify", "inventory.yml")
    assert said.code == 4
    assert "unreachable nothing left to do on gone" in said.out
    assert "VERIFY 1 host: 1 unreachable" in said.out


def test_explain_shows_every_definition_the_winner_first(roles: Project) -> None:
    roles.write("host_vars/here.yml", "other: 1\nbanner_text: from the {{ other }} host\n")
    said = roles("explain", "inventory.yml", "here", "banner_text")
    assert said.code == 0
    lines = [line.strip() for line in said.out.splitlines() if line.strip()]
    assert lines[0] == "banner_text on here (ungrouped) = from the 1 host"
    assert lines[1].startswith("wins  from the {{ other }} host")
    assert lines[2].startswith("host_vars/* beside the inventory: host_vars/here.yml:2")
    assert lines[4].startswith("group_vars/all beside the inventory: group_vars/all.yml:1")
    assert lines[6].startswith("role defaults: playbooks/roles/banner/defaults/main.yml:2")
    assert "(role banner (defaults))" in lines[6]
    document = roles("explain", "inventory.yml", "here", "banner_text", "--format", "json", "-e", "banner_text=best").document
    assert document["value"] == "best"
    assert [each["wins"] for each in document["definitions"]] == [True, False, False, False]


def test_explain_names_each_place_once(roles: Project) -> None:
    """Each role that depends on another one brings its defaults along."""
    for name in ("one", "two"):
        roles.write(f"playbooks/roles/{name}/meta/main.yml", "dependencies: [banner]\n")
    roles.write("playbooks/site.yml", "- hosts: all\n  roles: [one, two, banner]\n")
    said = roles("explain", "inventory.yml", "here", "banner_text")
    assert said.out.count("playbooks/roles/banner/defaults/main.yml:2") == 1, said.out
    assert said.out.count("wins") == 1


def test_explain_names_what_the_run_decides(roles: Project) -> None:
    files = "[first.yml, 'for-{{ ansible_facts.os_family }}.yml']"
    roles.write("playbooks/site.yml", f"- name: Try\n  hosts: all\n  gather_facts: false\n  vars_files: {files}\n  roles: [banner]\n")
    roles.write("playbooks/vars/first.yml", "other: 1\nbanner_text: from a file\n")
    roles.write("playbooks/vars/for-Debian.yml", "banner_text: for Debian\n")
    roles.write("playbooks/vars/for-RedHat.yml", "other: 2\n")
    tasks = (
        "- name: of the family\n  include_vars: 'family-{{ ansible_facts.os_family }}.yml'\n"
        "- name: reckon\n  set_fact: {banner_text: reckoned}\n  when: other == 1\n"
        "- name: ask\n  command: hostname\n  register: answer\n"
    )
    roles.write("playbooks/roles/banner/tasks/main.yml", tasks)
    roles.write("playbooks/roles/banner/vars/family-Debian.yml", "banner_text: of Debian\n")
    said = roles("explain", "inventory.yml", "here", "banner_text")
    lines = [line.strip() for line in said.out.splitlines() if line.strip()]
    assert [line for line in lines if line.startswith("may")] == [
        "may   reckoned",
        "may   of Debian",
        "may   for Debian",
    ]
    assert lines[1:3] == ["wins  from a file", "vars_files of the play: playbooks/vars/first.yml:2:1 (play Try (vars_files))"]
    task = "playbooks/roles/banner/tasks/main.yml:4:14 (role banner, task reckon (set_fact)), where its condition holds"
    assert f"set_fact and registered results: {task}" in lines
    assert any("family-Debian.yml:1" in line and "if family-{{ ansible_facts.os_family }}.yml comes to that file" in line for line in lines)
    document = roles("explain", "inventory.yml", "here", "answer", "--format", "json").document
    assert document["definitions"] == []
    assert [one["origin"] for one in document["possible"]] == ["role banner, task ask (register)"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["hree", "banner_text"], "did you mean 'here'"), (["here", "banner_txet"], "did you mean 'banner_text'")],
)
def test_explain_of_what_does_not_exist(roles: Project, arguments: list[str], said: str) -> None:
    result = roles("explain", "inventory.yml", *arguments)
    assert result.code == 1
    assert said in result.err


def test_explain_keeps_vaulted_values_shut(roles: Project) -> None:
    roles.write("secret", "password\n")
    roles.write("plain.yml", "banner_text: hunter24\n")
    assert roles("vault", "encrypt", "--vault-password-file", "secret", "--output", "host_vars_here", "plain.yml").code == 0
    roles.path("host_vars").mkdir()
    roles.path("host_vars_here").rename(roles.path("host_vars/here.yml"))
    said = roles("explain", "inventory.yml", "here", "banner_text", "--vault-password-file", "secret")
    assert said.code == 0, said.err


def test_lint(roles: Project) -> None:
    said = roles("lint")
    assert said.code == 0
    assert said.out.endswith("1 playbook, 1 task: 0 errors, 0 warnings\n")
    roles.write("playbooks/roles/banner/tasks/main.yml", "- cpoy: {dest: x}\n- file: {path: /x, mode: 644}\n")
    said = roles("lint")
    assert said.code == 1
    assert "did you mean 'copy'" in said.err
    document = roles("lint", "--format", "json").document
    assert document["ok"] is False
    assert {problem["line"] for problem in document["problems"]} == {1, 2}


def test_lint_shows_the_same_problem_once_and_counts_it_everywhere(roles: Project) -> None:
    roles.write("playbooks/roles/banner/tasks/main.yml", "- cpoy: {dest: x}\n" * 6)
    said = roles("lint")
    assert said.err.count("unknown module 'cpoy'") == 1
    assert "also at: playbooks/roles/banner/tasks/main.yml:2:3, " in said.err
    assert "and 2 more places" in said.err
    assert "6 errors, 0 warnings" in said.out
    assert len(roles("lint", "--format", "json").document["problems"]) == 6


def test_lint_follows_the_settings_of_the_tree_it_looks_at(roles: Project) -> None:
    roles.write("tree/ansible.cfg", "[defaults]\nroles_path = parts\nfilter_plugins = own\n")
    roles.write("tree/own/f.py", "class FilterModule:\n    def filters(self):\n        return {'shout': str.upper}\n")
    roles.write("tree/parts/one/tasks/main.yml", "- debug: {msg: \"{{ 'a' | shout }}\"}\n")
    roles.write("tree/site.yml", "- hosts: all\n  roles: [one]\n")
    said = roles("lint", "tree")
    assert (said.code, said.err) == (0, "")


def test_lint_takes_a_tree_that_is_a_collection_for_installed(roles: Project) -> None:
    roles.write("tree/galaxy.yml", "namespace: me\nname: mine\n")
    roles.write("tree/plugins/filter/f.py", "class FilterModule:\n    def filters(self):\n        return {'shout': str.upper}\n")
    roles.write("tree/plugins/lookup/broken.py", "import nothing_of_that_name\n")
    tasks = "- debug: {msg: \"{{ 'a' | me.mine.shout }} {{ lookup('me.mine.broken') }}\"}\n- debug: {msg: \"{{ 1 | me.mine.no }}\"}\n"
    roles.write("tree/roles/one/tasks/main.yml", tasks)
    said = roles("lint", "tree", "--format", "json").document["problems"]
    assert [(item["severity"], item["line"]) for item in said] == [("warning", 1), ("error", 2)]
    assert "nothing_of_that_name" in said[0]["message"]
    assert "me.mine.no" in said[1]["message"]


def test_lint_says_once_what_comes_of_a_plugin_that_does_not_load(roles: Project) -> None:
    roles.write("playbooks/filter_plugins/f.py", "import nothing_of_that_name\n\ndef shout(text): ...\n")
    roles.write("playbooks/roles/banner/tasks/main.yml", "- debug: {msg: \"{{ 'a' | shout }}\"}\n- debug: {msg: \"{{ 'b' | shout }}\"}\n")
    said = roles("lint")
    assert said.code == 0
    assert said.err.count("No filter named 'shout'") == 1
    assert "it seems to be defined in playbooks/filter_plugins/f.py" in said.err.replace(str(roles.path(".").absolute()) + "/", "")


def test_lint_holds_patterns_against_an_inventory_when_given_one(roles: Project) -> None:
    roles.write("playbooks/site.yml", "- hosts: nobody\n  roles: [banner]\n")
    assert roles("lint").code == 0
    assert "'nobody'" in roles("lint", "-i", "inventory.yml").err


def test_modules(project: Project) -> None:
    listed = project("modules")
    assert listed.code == 0
    assert "\ncopy " in listed.out
    page = project("modules", "copy", "ansible.builtin.file")
    assert "dest (path, required)" in page.out
    document = project("modules", "copy", "--format", "json").document
    assert "dest" in {option["name"] for option in document["modules"][0]["options"]}
    assert project("modules", "--format", "md").out.startswith("|")
    missing = project("modules", "cpoy")
    assert missing.code == 1
    assert "did you mean 'copy'" in missing.err


def test_modules_of_a_project(project: Project) -> None:
    source = 'from provisioner.node.declare import Module, Params, option\n\nclass Params(Params):\n    name: str = option("Whom.")\n\n'
    project.write("library/greet.py", source + 'MODULE = Module(name="greet", summary="A greeting.", params=Params)\n')
    assert "greet" in project("modules", "--library", "library").out


@pytest.mark.parametrize("kind", ["playbook", "tasks"])
def test_schema(project: Project, kind: str) -> None:
    import jsonschema

    document = project("schema", "--kind", kind).document
    jsonschema.Draft202012Validator.check_schema(document)
    good = [{"copy": {"dest": "/x", "content": "y"}}]
    bad = [{"copy": {"dset": "/x"}}]
    validator = jsonschema.Draft202012Validator(document)
    wrap = (lambda tasks: [{"hosts": "all", "tasks": tasks}]) if kind == "playbook" else (lambda tasks: tasks)
    assert validator.is_valid(wrap(good))
    assert not validator.is_valid(wrap(bad))


def test_facts(project: Project) -> None:
    said = project("facts", "inventory.yml")
    assert said.code == 0, said.err
    assert said.out.startswith("here\n  system ")
    document = project("facts", "inventory.yml", "--format", "json", "--filter", "distribution*").document
    assert set(document["hosts"]["here"]) >= {"distribution", "distribution_version"}
    assert all(name.startswith("distribution") for name in document["hosts"]["here"])


def test_the_starter_project_works(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project("init", "new").code == 0
    monkeypatch.chdir(project.path("new"))
    monkeypatch.setenv("ANSIBLE_ROLES_PATH", "")
    target = str(project.path("demo/banner"))
    assert project("lint").out.endswith("3 tasks: 0 errors, 0 warnings\n")
    extra = ("-e", f"banner_file={target}")
    assert project("apply", "inventory/hosts.yml", *extra).code == 0
    assert project("plan", "inventory/hosts.yml", *extra, "--detailed-exitcode").code == 0
    verified = project("verify", "inventory/hosts.yml", *extra)
    assert verified.code == 0, verified.out + verified.err
    assert "TESTS" in verified.out
