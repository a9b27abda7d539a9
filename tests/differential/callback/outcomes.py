"""A callback for stock Ansible: one JSON line for each task's end on a host, written to $OUTCOMES. Used by the differential tests only."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core is not installed where types are checked
    """Notes play, task, host, item and outcome."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "outcomes"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = open(os.environ["OUTCOMES"], "a", encoding="utf-8")  # noqa: SIM115 - open for the life of the process
        self._play = ""

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play.get_name()

    def _note(self, result: Any, state: str) -> None:
        task = result._task
        line = {"play": self._play, "task": task.get_name(), "action": task.action, "host": result._host.get_name(), "state": state}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def v2_runner_on_ok(self, result: Any) -> None:
        self._note(result, "changed" if result._result.get("changed") else "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._note(result, "failed")

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._note(result, "skipped")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._note(result, "unreachable")
