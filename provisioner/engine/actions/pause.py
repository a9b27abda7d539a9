"""``pause``: wait, or ask the operator."""

from __future__ import annotations

import datetime
import time
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.engine.truth import as_bool, as_number


def pause(call: Call) -> Outcome:
    """Let a time pass, or wait for an answer; without anybody to ask nothing is waited for."""
    started = time.time()
    minutes, seconds = call.given("minutes"), call.given("seconds")
    if minutes is not None or seconds is not None:
        length = as_number(minutes, "minutes") * 60 if minutes is not None else as_number(seconds, "seconds")
        call.run.hands.wait(call.walk.pause, max(0.0, length))
        answer = ""
        text = f"Paused for {length:g} seconds"
    else:
        prompt = str(call.given("prompt", default="Press enter to continue"))
        answer = _answer(call, prompt)
        text = f"Paused for {round(time.time() - started, 2)} seconds"
    ended = time.time()
    return Outcome.ok(
        start=_clock(started),
        stop=_clock(ended),
        delta=int(ended - started),
        rc=0,
        stderr="",
        stdout=text,
        user_input=answer,
        echo=as_bool(call.given("echo", default=True), "echo"),
    )


def _answer(call: Call, prompt: str) -> Any:
    ask = call.run.options.ask
    if ask is None:
        call.run.notes.warn("pause has nobody to ask and goes on", call.task.span, help="give seconds or minutes")
        return ""
    question = {"name": "pause", "prompt": prompt, "private": not as_bool(call.given("echo", default=True), "echo")}
    answer = call.run.hands.ask(lambda: ask(question), "the answer to a pause")
    return "" if answer is None else answer


def _clock(when: float) -> str:
    return str(datetime.datetime.fromtimestamp(when))
