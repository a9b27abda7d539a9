"""stub"""

from typing import Any

COLLECTIONS: dict[str, dict[str, Any]] = {}
SHORT: dict[str, Any] = {}
