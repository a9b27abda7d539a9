"""Steps that build on each other plan completely: nothing that follows from another step is unknown, and the apply makes exactly that."""

from __future__ import annotations

import json

import pytest

from provisioner.plan.digests import keyed_step
from tests.playbooks.commands import provision
from tests.playbooks.story import Story

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(600)]

CHAIN = """
- name: A service from nothing
  hosts: all
  become: true
  gather_facts: false
  tasks:
    - {name: folder, file: {path: /srv/chain, state: directory, mode: "0755"}}
    - {name: file, copy: {dest: /srv/chain/settings, content: "colour = red\\n", mode: "0640", force: false}}
    - {name: line, lineinfile: {path: /srv/chain/settings, regexp: "^colour", line: "colour = green"}}
    - {name: group, group: {name: chain}}
    - {name: user, user: {name: chain, group: chain, home: /srv/chain, create_home: false, shell: /usr/sbin/nologin}}
    - {name: owner, file: {path: /srv/chain/settings, owner: chain, group: chain}}
    - name: unit
      copy:
        dest: /etc/systemd/system/chain.service
        content: |
          [Service]
          Type=oneshot
          RemainAfterExit=yes
          User=chain
          ExecStart=/bin/true
          [Install]
          WantedBy=multi-user.target
    - {name: enabled and started, systemd: {name: chain, enabled: true, state: started, daemon_reload: true}}
    - {name: link, file: {src: /srv/chain/settings, dest: /etc/chain.conf, state: link}}
    - {name: read, slurp: {src: /etc/chain.conf}, register: seen}
    - {name: what was read, copy: {dest: /srv/chain/copy, content: "{{ seen.content | b64decode }}", owner: chain, mode: "0600"}}
    - {name: who, stat: {path: /srv/chain/settings}, register: settings}
    - {name: it is theirs, assert: {that: ["settings.stat.pw_name == 'chain'", "settings.stat.mode == '0640'"]}}
"""
DONE = ["folder", "file", "line", "group", "user", "owner", "unit", "enabled and started", "link", "what was read"]


def test_a_chain_plans_completely_and_is_made_exactly(story: Story) -> None:
    folder = story.fleet.folder
    (folder / "chain.yml").write_text(CHAIN)
    planned = provision(folder, "plan", story.fleet.inventory, "chain.yml", "-o", "chain.json")
    assert planned.code == 0, planned.all
    plan = json.loads((folder / "chain.json").read_text())
    assert plan["complete"] is True
    assert {step["status"] for step in plan["steps"]} == {"ok", "changed"}
    assert "unknown" not in json.dumps([step["changes"] for step in plan["steps"]])
    for name in story.fleet.names:
        assert [step["task"] for step in plan["steps"] if step["host"] == name and step["changes"]] == DONE

    made = provision(folder, "apply", "chain.json", "--format", "json")
    assert made.code == 0, made.all
    steps = [keyed_step(step, bytes.fromhex(plan["key"])) for step in made.document["steps"]]

    def changes(listed: list[dict[str, object]]) -> set[str]:
        kept = ("host", "address", "changes")
        return {json.dumps({name: step[name] for name in kept}, sort_keys=True) for step in listed if step["changes"]}

    assert changes(steps) == changes(plan["steps"])
    assert story.fleet.on(0, "cat /srv/chain/copy; stat -c '%U %a' /srv/chain/copy; systemctl is-active chain").split("\n") == [
        "colour = green",
        "chain 600",
        "active",
    ]
    again = provision(folder, "plan", story.fleet.inventory, "chain.yml", "--detailed-exitcode")
    assert again.code == 0, again.all
