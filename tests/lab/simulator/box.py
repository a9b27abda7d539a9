"""A simulated machine in a folder: nothing is mounted, nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from provisioner.lab.simulator.node.machine import Machine
from provisioner.lab.simulator.node.paths import Paths
from provisioner.lab.simulator.node.smi import Session
from provisioner.lab.simulator.spec import entries, specs

DEBIAN = ("libnvidia-ml1", "libcuda1", "nvidia-smi")


class Box:
    """A machine with boards, a driver and a power button."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = Paths(str(root))
        self._boots = 0
        for folder in ("var/lib/provision-sim", "var/lib/dpkg", "run/provision-sim", "etc/modprobe.d", "dev"):
            (root / folder).mkdir(parents=True)
        self.packages({})

    def boards(self, *words: str, nouveau: bool = False) -> None:
        """Put these boards in."""
        made = {"nouveau": nouveau, "gpus": entries(specs(words), "test")}
        Path(self.paths.hardware).write_text(json.dumps(made), encoding="utf-8")

    def packages(self, versions: dict[str, str]) -> None:
        """What dpkg says is installed."""
        stanzas = (f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n" for name, version in versions.items())
        Path(self.paths.dpkg_status).write_text("\n".join(stanzas), encoding="utf-8")

    def driver(self, version: str, *names: str) -> None:
        """Install one driver, by Debian's names unless others are given."""
        self.packages(dict.fromkeys(names or DEBIAN, f"{version}-1"))

    def reboot(self) -> None:
        """Power off and on: /run is empty again."""
        self._boots += 1
        for path in Path(self.paths.run).glob("*.json"):
            path.unlink()
        (Path(self.paths.run) / "boot").write_text(str(self._boots), encoding="ascii")

    def smi(self, *argv: str, root: bool = True) -> tuple[str, int]:
        """Run nvidia-smi: its output and exit code."""
        with Machine.open(self.paths) as machine:
            session = Session(machine, root=root)
            code = session.run(argv)
            machine.settle()
        return "".join(session.output), code

    def query(self, fields: str, *argv: str) -> list[list[str]]:
        """Rows of a --query-gpu without header and units."""
        text, code = self.smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits", *argv)
        assert code == 0, text
        return [line.split(", ") for line in text.splitlines()]

    def log(self) -> str:
        """The kernel's log."""
        path = Path(self.paths.kernel_log)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def change(self, action: Callable[[Machine], object]) -> None:
        """Anything else that happens to the machine."""
        with Machine.open(self.paths) as machine:
            action(machine)
