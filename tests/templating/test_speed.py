"""Rendering is on the path of every task of every host. Budgets are several times what is measured, so that a busy machine passes."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.templating.build import templar

SUBJECT = templar(
    {"s": "text", "n": {"a": "{{ s }}"}, "big": [{"name": f"p{index}", "version": "1"} for index in range(2000)]}, {"r": {"rc": 0}}
)


def milliseconds(work: Callable[[], object], times: int) -> float:
    work()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def test_simple_expressions() -> None:
    assert milliseconds(lambda: SUBJECT.render("{{ s }}"), 300) < 30


def test_plain_texts() -> None:
    assert milliseconds(lambda: SUBJECT.render("/etc/apt/sources.list"), 300) < 3


def test_conditions() -> None:
    assert milliseconds(lambda: SUBJECT.evaluate("r.rc == 0 and s is defined"), 300) < 30


def test_arguments_of_a_task() -> None:
    arguments = {"src": "{{ s }}.j2", "dest": "/etc/{{ n.a }}", "mode": "0644", "owner": "root", "backup": True}
    assert milliseconds(lambda: SUBJECT.render(arguments), 300) < 100


def test_one_element_of_a_large_variable() -> None:
    assert milliseconds(lambda: SUBJECT.render("{{ big[7].name }}"), 100) < 100
