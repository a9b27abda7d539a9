"""A callback plugin for stock ansible-playbook: each result as one line of JSON."""

from __future__ import annotations

import json

from ansible.plugins.callback import CallbackBase  # type: ignore[import-not-found]

DOCUMENTATION = """
name: recorder
type: stdout
short_description: each result as one line of JSON
description: For tests that compare runs.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Prints what happened."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "recorder"

    def _line(self, result, status, item=False):  # type: ignore[no-untyped-def]
        data = result._result
        task = result._task
        if status == "ok" and data.get("changed"):
            status = "changed"
        shown = {
            "host": result._host.get_name(),
            "task": task.get_name().rpartition(" : ")[2],
            "status": status,
            "item": item,
            "msg": data.get("msg") if task.action.endswith("debug") else None,
        }
        self._display.display("@@" + json.dumps(shown, default=str))

    def v2_runner_on_ok(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "ok")

    def v2_runner_on_failed(self, result, ignore_errors=False):  # type: ignore[no-untyped-def]
        self._line(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_skipped(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "skipped")

    def v2_runner_on_unreachable(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "unreachable")

    def v2_runner_item_on_ok(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "ok", True)

    def v2_runner_item_on_failed(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "failed", True)

    def v2_runner_item_on_skipped(self, result):  # type: ignore[no-untyped-def]
        self._line(result, "skipped", True)
