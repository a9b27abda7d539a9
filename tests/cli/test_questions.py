"""Answers to ``vars_prompt``."""

from __future__ import annotations

import io

import pytest

from provisioner.cli import questions


def test_nobody_to_ask_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert questions.answer({"name": "x", "default": "d"}) == "d"


def test_asks_confirms_and_encrypts(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["one", "two", "secret", "secret"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _question: next(typed))
    prompt = {"name": "x", "confirm": True, "encrypt": "sha512_crypt", "salt": "abcdefgh"}
    assert str(questions.answer(prompt)).startswith("$6$")
