"""``plugin_filters_cfg``: what an operator has ruled out is found by no name, and said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import InputError
from provisioner.playbook.rejects import rejected_modules
from provisioner.project.session import Session


def test_the_list(tmp_path: Path) -> None:
    path = tmp_path / "filters.yml"
    assert rejected_modules(path) == []
    path.write_text("filter_version: '1.0'\nmodule_rejectlist:\n")
    assert rejected_modules(path) == []
    path.write_text("filter_version: 1.0\nmodule_rejectlist: [copy]\nmodule_blacklist: [a.b.c]\n")
    assert rejected_modules(path) == ["copy", "a.b.c"]
    for broken in ("- copy\n", "module_rejectlist: [copy]\n", "filter_version: 1.0\nmodule_rejectlist: [{a: b}]\n"):
        path.write_text(broken)
        with pytest.raises(InputError):
            rejected_modules(path)


def test_rejected_modules_are_errors_whatever_is_around_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ansible.cfg").write_text("[defaults]\nplugin_filters_cfg = filters.yml\n")
    (tmp_path / "filters.yml").write_text("filter_version: 1.0\nmodule_rejectlist: [copy, pause]\n")
    (tmp_path / "site.yml").write_text(
        """
- hosts: all
  tasks:
    - ansible.builtin.copy: {dest: /x, content: y}
      when: sometimes
    - {ping: , name: allowed}
    - block: [pause: {seconds: 1}]
      rescue: [debug: ]
"""
    )
    monkeypatch.chdir(tmp_path)
    session = Session.open(["localhost,"])
    session.read(["site.yml"])
    problems = session.loader.context.diagnostics.errors
    assert [problem.message for problem in problems] == [
        "module 'ansible.builtin.copy' may not be used",
        "module 'pause' may not be used",
    ]
    assert all(problem.why.startswith("it is rejected by ") for problem in problems)
