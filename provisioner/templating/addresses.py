"""stub"""

from typing import Any

TESTS: dict[str, Any] = {}
