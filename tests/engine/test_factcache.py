"""Facts kept between runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from provisioner.engine.factcache import FactCache
from provisioner.errors import InputError
from provisioner.events import Warned
from tests.engine.fakes import Project

SETS = "\n    - {set_fact: {kept: 1, cacheable: true}}\n    - {set_fact: {lost: 2}}\n"
READS = "\n    - {name: say, debug: {msg: '{{ kept | default(0) }} {{ lost | default(0) }}'}}\n"


def test_cacheable_facts_are_there_in_the_next_run(one: Project, tmp_path: Path) -> None:
    cache = FactCache(tmp_path / "facts", "p_")
    one.play(SETS, facts=cache)
    assert json.loads((tmp_path / "facts" / "p_h1").read_text()) == {"kept": 1}
    assert one.play(READS, facts=cache).steps[-1].msg == "1 0"
    assert one.play(READS).steps[-1].msg == "0 0"
    assert one.play(READS, facts=cache, flush_facts=True).steps[-1].msg == "0 0"
    assert not (tmp_path / "facts" / "p_h1").exists()


def test_a_plan_keeps_nothing(one: Project, tmp_path: Path) -> None:
    one.play(SETS, facts=FactCache(tmp_path / "facts"), mode="plan")
    assert not (tmp_path / "facts").exists()


def test_old_and_broken_files(tmp_path: Path) -> None:
    cache = FactCache(tmp_path, timeout=60)
    cache.save("h", {"a": 1})
    assert cache.load("h") == {"a": 1}
    os.utime(tmp_path / "h", (1, 1))
    assert cache.load("h") == {}
    (tmp_path / "h").write_text("no json")
    with pytest.raises(InputError, match="cannot be read"):
        cache.load("h")


def test_facts_that_cannot_be_kept_are_a_warning(one: Project, tmp_path: Path) -> None:
    """What the run did has been done, and is reported."""
    (tmp_path / "file").write_text("in the way")
    ran = one.play(SETS, facts=FactCache(tmp_path / "file"), flush_facts=True)
    assert ran.outcome.exit_code == 0
    [warned] = ran.events_of(Warned)
    assert "facts cannot be kept in" in warned.diagnostic.message
