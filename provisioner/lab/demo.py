"""``make demo``: two nodes, provisioned, provisioned again without a change, verified; each step is a command a person can type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from provisioner.lab.model import DEFAULT

PROJECT = Path(__file__).parents[2]
INVENTORY = "inventory/lab.yml"
STEPS: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("two throw-away servers on this machine; their GPUs are simulated", ("lab", "up", "-n", "2"), 0),
    ("turn them into GPU nodes", ("apply", INVENTORY), 0),
    ("look for what is left to do: nothing", ("plan", INVENTORY, "--detailed-exitcode"), 0),
    ("apply again: no change", ("apply", INVENTORY), 0),
    ("prove it with the tests that live beside the roles", ("verify", INVENTORY), 0),
)
"""What each step is for, its words after ``provision``, and the exit code it must end with."""

NEXT = f"""
The nodes stay until you take them away. Things to try:

  provision lab ssh {DEFAULT}-1 nvidia-smi          a simulated GPU, told so
  provision facts {INVENTORY}
  provision plan {INVENTORY} --diff
  provision lab down                        or: make demo-down
"""


def main() -> int:
    """Run the steps until one does not end as it must; returns its exit code, or 0."""
    for purpose, words, wanted in STEPS:
        sys.stdout.write(f"\n# {purpose}\n$ provision {' '.join(words)}\n")
        sys.stdout.flush()
        code = subprocess.call([sys.executable, "-m", "provisioner", *words], cwd=PROJECT)
        if code != wanted:
            sys.stdout.write(f"\nthe demo stops here: that ended with {code}, not {wanted}; the nodes are still there\n")
            return code or 1
    sys.stdout.write(NEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
