"""A callback plugin for stock ansible-playbook: each result as one line of JSON."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.callback import CallbackBase  # type: ignore[import-not-found, unused-ignore]

DOCUMENTATION = """
name: recorder
type: stdout
short_description: each result as one line of JSON
description: For tests that compare runs.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc, unused-ignore]
    """Prints what happened."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "recorder"

    def _line(self, result: Any, status: str, item: bool = False) -> None:
        data, task = result._result, result._task
        if status == "ok" and data.get("changed"):
            status = "changed"
        message = data.get("msg") if task.action.endswith("debug") else None
        shown = {
            "host": result._host.get_name(),
            "task": task.get_name().rpartition(" : ")[2],
            "status": status,
            "item": item,
            "msg": message,
        }
        self._display.display("@@" + json.dumps(shown, default=str))

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task, or a loop as a whole."""
        self._line(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """See above."""
        self._line(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """See above."""
        self._line(result, "skipped")

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """An item of a loop."""
        self._line(result, "ok", True)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """See above."""
        self._line(result, "failed", True)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        """See above."""
        self._line(result, "skipped", True)
