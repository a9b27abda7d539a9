"""What importing Fabric does not bring along."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import provisioner.transport.ssh
assert "asyncio" not in sys.modules, "invoke brought asyncio along"
from unittest.mock import Mock
assert Mock().anything() is not None, "the stand-in stayed"
import fabric
assert fabric.Connection("h").host == "h"
"""


def test_fabric_comes_without_asyncio_and_the_real_mock_later() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
