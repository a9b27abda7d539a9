"""A callback for stock Ansible: one JSON line for each outcome on a host, written to $OUTCOMES. Used by the differential tests only."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core is not installed where types are checked
    """Notes play, task, host, item, outcome and result; at the end the statistics."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "outcomes"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = open(os.environ["OUTCOMES"], "a", encoding="utf-8")  # noqa: SIM115 - open for the life of the process
        self._play = ""
        self._handler = False

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, default=str) + "\n")
        self._file.flush()

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play.get_name()

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._handler = False

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._handler = True

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._write({"stats": {host: stats.summarize(host) for host in stats.processed}})

    def _note(self, result: Any, state: str, item: bool = False) -> None:
        task, data = result._task, dict(result._result)
        label = data.get("_ansible_item_label", "")
        line = {
            "play": self._play,
            "task": task.get_name(),
            "action": task.action,
            "host": result._host.get_name(),
            "state": "changed" if state == "ok" and data.get("changed") else state,
            "item": None if not item else label if isinstance(label, str) else json.dumps(label, ensure_ascii=False, default=str),
            "handler": self._handler,
            "result": data,
        }
        self._write(line)

    def v2_runner_on_ok(self, result: Any) -> None:
        self._note(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._note(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._note(result, "skipped")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._note(result, "unreachable")

    def v2_runner_item_on_ok(self, result: Any) -> None:
        self._note(result, "ok", item=True)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        self._note(result, "failed", item=True)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        self._note(result, "skipped", item=True)
