"""``provision init``: a starter project that works as it is."""

from __future__ import annotations

from pathlib import Path

import click

from provisioner.cli.options import GENERAL, Choices, shared
from provisioner.errors import UsageError

FILES: dict[str, str] = {
    "inventory/hosts.yml": """\
# Hosts and groups. Try it first on this machine: it is in the group "nodes" until you name others.
all:
  children:
    nodes:
      hosts:
        localhost:
          ansible_connection: local
        # gpu01:
        #   ansible_host: 192.0.2.11
        #   ansible_user: ops
""",
    "inventory/group_vars/nodes.yml": """\
# Variables of the hosts in the group "nodes". Where does a value come from?  provision explain inventory/hosts.yml HOST VARIABLE
banner_text: This node is managed by provision.
""",
    "playbooks/site.yml": """\
- name: Every node
  hosts: nodes
  roles:
    - role: banner
""",
    "playbooks/roles/banner/defaults/main.yml": """\
banner_file: /tmp/provision-demo/banner
banner_text: Hello.
""",
    "playbooks/roles/banner/tasks/main.yml": """\
- name: The folder is there
  file:
    path: "{{ banner_file | dirname }}"
    state: directory
    mode: "0755"

- name: The banner says who looks after the node
  template:
    src: banner.j2
    dest: "{{ banner_file }}"
    mode: "0644"
  notify: banner has changed
""",
    "playbooks/roles/banner/handlers/main.yml": """\
- name: banner has changed
  debug:
    msg: "{{ banner_file }} is new on {{ inventory_hostname }}"
""",
    "playbooks/roles/banner/templates/banner.j2": """\
{{ banner_text }}
Host: {{ inventory_hostname }}
""",
    "playbooks/roles/banner/tests/test_banner.py": '''\
"""Run by "provision verify" on every host that has the role; see https://testinfra.readthedocs.io for what a host can be asked."""


def test_the_banner_is_there(host, role_vars):
    file = host.file(role_vars["banner_file"])
    assert file.mode == 0o644
    assert role_vars["banner_text"] in file.content_string
''',
    "README.md": """\
# A project of provision

    provision plan inventory/hosts.yml           what would change
    provision apply inventory/hosts.yml          change it
    provision verify inventory/hosts.yml         prove it

Hosts are in `inventory/`, what they shall be in `playbooks/`; tests stand beside each role.
""",
}


@click.command("init")
@shared(*GENERAL)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def command(_choices: Choices, folder: Path) -> int:
    """Write a starter project into FOLDER: an inventory, a playbook, a role with a template and a test.

    Nothing that is there already is overwritten.
    """
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise UsageError(
            f"{folder} already has {', '.join(taken[:3])}{f' and {len(taken) - 3} more' if len(taken) > 3 else ''}",
            why="nothing is overwritten",
            help="name a new or empty folder",
        )
    for name, text in FILES.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
    click.echo(f"{len(FILES)} files in {folder}")
    click.echo(f"next: cd {folder} && provision plan inventory/hosts.yml")
    return 0
