"""The language cases: one small playbook a file, ``language/TOPIC/NAME.yml``, with the files that it needs in the same file.

    # What the case is about.
    # args: --tags one          further arguments of the command line
    # refused: why              we find before the run what stock finds in it (see docs/compatibility.md)
    - hosts: all
      tasks: [...]
    --- # roles/app/tasks/main.yml
    - debug: {msg: a further file}

There are two hosts, h1 and h2, unless the case brings an ``inventory.ini`` of its own. How they are reached is told by the environment,
so that each case runs over any connection. A play at the end shows every registered variable as it is then.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent / "language"
INVENTORY = "h1\nh2\n"
_FILE = re.compile(r"^--- # (\S+)\n", re.M)
_SETTING = re.compile(r"^# (args|refused): (.+)\n", re.M)
_REGISTERED = re.compile(r"\bregister: *(\w+)")
_SHOW = """\
- name: show
  hosts: all
  gather_facts: false
  tags: [always]
  tasks: [{meta: clear_host_errors}]
- name: show
  hosts: all
  gather_facts: false
  tags: [always]
  tasks:
"""


@dataclass(frozen=True)
class Case:
    """``name`` is ``TOPIC/NAME``, ``text`` the whole file."""

    name: str
    text: str

    @property
    def path(self) -> Path:
        """The file that it is read from."""
        return FOLDER / f"{self.name}.yml"

    @property
    def topic(self) -> str:
        """The folder it is in."""
        return self.name.partition("/")[0]

    @property
    def digest(self) -> str:
        """Changes with every edit of the case."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """``args`` and ``refused``, where they are given."""
        return dict(_SETTING.findall(_FILE.split(self.text, maxsplit=1)[0]))

    @property
    def args(self) -> list[str]:
        """Further arguments of the command line."""
        return self.settings.get("args", "").split()

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path → text of all files of the project."""
        playbook, *others = _FILE.split(self.text)
        found = {"inventory.ini": INVENTORY, **dict(zip(others[::2], others[1::2], strict=True))}
        registered = sorted(set(_REGISTERED.findall(self.text)))
        shown = "".join(f"    - {{name: {name}, debug: {{var: {name}}}}}\n" for name in registered)
        return {**found, "site.yml": playbook + (_SHOW + shown if shown else "")}

    def write(self, folder: Path) -> None:
        """Make the project; scripts become executable."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)


def read() -> dict[str, Case]:
    """Name → case, by topic."""
    names = {f"{path.parent.name}/{path.stem}": path for path in sorted(FOLDER.glob("*/*.yml"))}
    return {name: Case(name, path.read_text()) for name, path in names.items()}
