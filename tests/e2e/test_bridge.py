"""Foreign modules on real nodes: shipped once, as whom, with whose Python, and nothing written by a plan."""

from __future__ import annotations

from tests.bridge.conftest import COLLECTIONS, CORE
from tests.e2e.fleet import Fleet

CORE_PATH, COLLECTIONS_PATH = str(CORE), str(COLLECTIONS)
WHO = """
import getpass, os, sys
from ansible.module_utils.basic import AnsibleModule



def target(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""  # the one by which the folder was read


module = AnsibleModule({"path": {}}, supports_check_mode=True)
if module.params["path"] and not module.check_mode:
    open(module.params["path"], "w").close()
module.exit_json(
    changed=bool(module.params["path"]),
    user=getpass.getuser(), home=os.path.expanduser("~"), python=sys.executable, packages=any("packages" in path for path in sys.path),
    streams=[link for link in map(target, sorted(os.listdir("/proc/self/fd"))) if link.startswith(("socket:", "pipe:"))],
)
"""


def test_a_module_runs_as_the_user_of_the_task(fleet: Fleet) -> None:
    fleet.write("library/who.py", WHO)
    fleet.play(
        """
- who:
  register: root
- who:
  become_user: daemon
  register: other
- who:
  become: false
  register: login
- my.own.hello: {name: node}
  register: said
- assert:
    that:
      - root.user == "root" and root.home == "/root"
      - other.user == "daemon"
      - login.user == "admin" and login.home == "/home/admin"
      - root.packages and root.python is search("python3") and root.streams | length == 2
      - said.msg == "hello node"
"""
    )
    said = fleet("apply", "site.yml", "--limit", fleet.names[0], ANSIBLE_PATH=CORE_PATH, ANSIBLE_COLLECTIONS_PATH=COLLECTIONS_PATH)
    assert said.code == 0, said.all


def test_a_plan_leaves_nothing_on_the_node(fleet: Fleet, w: str) -> None:
    fleet.write("library/who.py", WHO)
    fleet.play(f"- name: ask\n  who: {{path: {w}}}\n")
    listed = "find / -xdev -newer /etc/machine-id -not -path '/proc/*' 2>/dev/null | grep -e provision- -e ansible || true"
    said = fleet(
        "plan", "site.yml", "--limit", fleet.names[0], "--format", "json", ANSIBLE_PATH=CORE_PATH, ANSIBLE_COLLECTIONS_PATH=COLLECTIONS_PATH
    )
    assert said.code == 0, said.all
    assert said.step("ask")["status"] == "maybe"
    assert fleet.on(0, f"ls {w} 2>/dev/null || echo none") == "none"
    assert fleet.on(0, listed) == ""
