"""Saved plans: carried out exactly, once, and only while inputs and nodes are what they were."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Project

TASKS = """
- name: banner
  copy: {dest: W/banner, content: "{{ text }}\\n", mode: "0644"}
  notify: restart
- name: folder
  file: {path: W/folder, state: directory, mode: "0755"}
"""
HANDLERS = "- name: restart\n  command: touch W/restarted"


@pytest.fixture
def planned(project: Project) -> Project:
    project.write("group_vars/all.yml", "text: hello\n")
    project.write("banner", "old\n")
    project.tasks(TASKS, HANDLERS)
    said = project("plan", "inventory.yml", "-o", "plan.json")
    assert said.code == 0
    assert "plan saved in plan.json" in said.err
    return project


def test_a_plan_is_carried_out_once(planned: Project) -> None:
    said = planned("apply", "plan.json")
    assert said.code == 0, said.err
    assert planned.path("banner").read_text() == "hello\n"
    assert planned.path("restarted").exists()
    assert "as planned: 3 steps" in said.err
    again = planned("apply", "plan.json")
    assert again.code == 3
    assert "already applied 20" in again.err


def test_changed_inputs_are_refused_by_name(planned: Project) -> None:
    planned.write("group_vars/all.yml", "text: other\n")
    said = planned("apply", "plan.json")
    assert said.code == 3
    assert "inputs changed: group_vars/all.yml\n" in said.err
    planned.write("group_vars/all.yml", "text: hello\n")
    planned.write("host_vars/here.yml", "text: more\n")
    assert "inputs changed: host_vars/here.yml (new)\n" in planned("apply", "plan.json").err
    planned.path("host_vars/here.yml").unlink()
    assert planned("apply", "plan.json").code == 0


def test_a_touched_resource_that_moved_is_refused_old_and_new(planned: Project) -> None:
    planned.write("banner", "edited by hand\n")
    said = planned("apply", "plan.json")
    assert said.code == 3
    assert "1 resource moved since the plan was made" in said.err
    assert f"here: {planned.folder}/banner (task 'banner', playbooks/site.yml:5)" in said.err
    assert "found: sha256 " in said.err
    assert planned.path("banner").read_text() == "edited by hand\n"
    assert not planned.path("folder").exists()


def test_what_was_done_by_hand_meanwhile_is_told(planned: Project) -> None:
    planned.path("folder").mkdir(mode=0o755)
    said = planned("apply", "plan.json")
    assert said.code == 3
    assert f"{planned.folder}/folder needs no change any more; planned was: + {planned.folder}/folder/ (mode 0755)" in said.err


def test_unrelated_changes_do_not_matter(planned: Project) -> None:
    planned.write("unrelated", "something else\n")
    assert planned("apply", "plan.json").code == 0


def test_a_refused_plan_is_not_used_up(planned: Project) -> None:
    planned.write("banner", "edited by hand\n")
    assert planned("apply", "plan.json").code == 3
    planned.write("banner", "old\n")
    assert planned("apply", "plan.json").code == 0


def test_show_works_in_all_cases(planned: Project) -> None:
    planned.write("group_vars/all.yml", "text: other\n")
    said = planned("show", "plan.json")
    assert said.code == 0
    assert "stale, inputs changed since: group_vars/all.yml" in said.out
    assert f"~ {planned.folder}/banner (content" in said.out


def test_extra_variables_have_to_be_given_again(project: Project) -> None:
    project.tasks(TASKS, HANDLERS)
    assert project("plan", "inventory.yml", "-e", "text=s3cret", "-o", "plan.json").code == 0
    kept = project.path("plan.json").read_text()
    assert "s3cret" not in kept.replace('"s3cret', "") or "text=s3cret" not in kept
    said = project("apply", "plan.json")
    assert said.code == 3
    assert "it was made with: text" in said.err
    assert project("apply", "plan.json", "-e", "text=other").code == 3
    assert project("apply", "plan.json", "-e", "text=s3cret").code == 0


def test_extra_variables_from_files_are_found_again(project: Project) -> None:
    project.tasks(TASKS, HANDLERS)
    project.write("extra.yml", "text: hello\n")
    assert project("plan", "inventory.yml", "-e", "@extra.yml", "-o", "plan.json").code == 0
    assert project("apply", "plan.json").code == 0


def test_the_selection_is_part_of_the_plan(planned: Project) -> None:
    said = planned("apply", "plan.json", "--limit", "here")
    assert said.code == 1
    assert "--limit is fixed by the plan" in said.err
    assert "a saved plan knows its playbooks" in planned("apply", "plan.json", "site.yml").err


def test_a_plan_with_an_error_is_not_appliable(project: Project) -> None:
    project.tasks("- copy: {dest: W/no/such/folder, content: x}")
    assert project("plan", "inventory.yml", "-o", "plan.json").code == 2
    said = project("apply", "plan.json")
    assert said.code == 3
    assert "the plan holds an error: here: copy" in said.err


def test_hosts_that_were_not_planned_stay_out(project: Project) -> None:
    project.write("group_vars/all.yml", "text: hello\n")
    gone = "gone: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_timeout: 2}"
    project.write("inventory.yml", f"all: {{hosts: {{here: {{ansible_connection: local}}, {gone}}}}}\n")
    project.tasks(TASKS, HANDLERS)
    assert project("plan", "inventory.yml", "-o", "plan.json").code == 4
    said = project("apply", "plan.json")
    assert said.code == 0, said.err
    assert "not in this plan, since unreachable when it was made: gone" in said.err


def test_it_works_from_another_folder(planned: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.path("elsewhere").mkdir()
    monkeypatch.chdir(planned.path("elsewhere"))
    assert planned("apply", "../plan.json").code == 0


def test_a_step_that_deviates_stops_the_host(planned: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reality moves between the check and the apply: nothing can see that but the comparison itself."""
    from provisioner.cli import saved

    def move(*_arguments: object) -> None:
        planned.path("banner").write_text("hello\n")
        planned.path("banner").chmod(0o600)

    monkeypatch.setattr(saved, "mark_applied", move)
    said = planned("apply", "plan.json")
    assert said.code == 3
    assert "task 'banner' did not keep to the plan" in said.err
    assert "planned: ~ " in said.err
    assert not planned.path("folder").exists()


def test_json(planned: Project) -> None:
    document = planned("apply", "plan.json", "--format", "json").document
    assert document["fidelity"] == {"steps": 3, "deviations": 0}
    refused = planned("apply", "plan.json", "--format", "json")
    assert refused.code == 3
    assert "already applied" in refused.document["errors"][0]


SEALED = (
    "group_vars/all.yml",
    "host_vars/here.yml",
    "playbooks/given.yml",
    "playbooks/included.yml",
    "playbooks/files/plain.txt",
    "playbooks/roles/r/vars/main.yml",
)
SHOWING = """
- include_vars: included.yml
- include_role: {name: r}
- set_fact: {all: "{{ [group_secret, host_secret, given_secret, included_secret.deep[0], lookup('unvault', 'plain.txt')] }}"}
- debug: {msg: "{{ all }}"}
- copy: {dest: W/made, content: "{{ all | join(' ') }}"}
- copy: {dest: W/copied, src: plain.txt}
"""


def test_what_is_encrypted_as_a_whole_is_shown_nowhere(project: Project) -> None:
    project.write("password", "open sesame\n")
    project.write("group_vars/all.yml", "group_secret: from-the-group\nport: 80\n")
    project.write("host_vars/here.yml", "host_secret: from-the-host\n")
    project.write("playbooks/given.yml", "given_secret: from-a-file\n")
    project.write("playbooks/included.yml", "included_secret: {deep: [from-deep-inside]}\n")
    project.write("playbooks/files/plain.txt", "from-a-text\n")
    project.write("playbooks/roles/r/vars/main.yml", "role_secret: from-the-role\n")
    project.write("playbooks/roles/r/tasks/main.yml", '- debug: {msg: "{{ role_secret }}"}\n')
    project.tasks(SHOWING)
    site = project.path("playbooks/site.yml")
    site.write_text(site.read_text().replace("  tasks:", "  vars_files: [given.yml]\n  tasks:"))
    password = ("--vault-password-file", "password")
    for name in SEALED:
        assert project("vault", "encrypt", name, *password).code == 0
    said = project("plan", "inventory.yml", "-D", "-v", "-o", "plan.json", *password)
    assert said.code == 0, said.err
    done = project("apply", "plan.json", "-D", "-v", *password)
    assert done.code == 0, done.err
    shown = "".join((said.out, said.err, project.path("plan.json").read_text(), done.out, done.err))
    assert "from-" not in shown
    assert "********" in shown
    assert project.path("made").read_text().startswith("from-the-group from-the-host from-a-file from-deep-inside")


def test_the_hint_holds_what_the_plan_does_not_keep(planned: Project) -> None:
    """Variables in their order, and passwords by where they come from; never the value of a secret."""
    planned.write("more.yml", "b: 2\n")
    planned.write("password", "x\n")
    files = ("--vault-password-file", "password", "-e", "@more.yml")
    assert "with: provision apply p.json --vault-password-file password\n" in planned("plan", "inventory.yml", "-o", "p.json", *files).err
    said = planned("plan", "inventory.yml", "-o", "p.json", *files, "-e", "text='so it is' api_token=abc", "-e", '{"c": 3}', "-T", "7")
    hint = said.err.strip().rpartition("carry it out with: ")[2]
    assert "abc" not in hint
    typed = shlex.split(hint)[1:]
    assert typed == [
        *("apply", "p.json", "-e", "@more.yml", "-e", "text='so it is' api_token=…", "-e", '{"c": 3}'),
        *("--vault-password-file", "password", "--timeout", "7"),
    ]
    done = planned(*[word.replace("…", "abc") for word in typed])
    assert done.code == 0, done.err
    assert planned.path("banner").read_text() == "so it is\n"
