"""Plugin files beside playbooks and in roles."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from provisioner.diagnostics import Diagnostics
from provisioner.errors import InputError
from provisioner.templating import Environment
from provisioner.templating.plugins import load_plugins
from provisioner.values import Unknown
from tests.templating.build import templar

FILTERS = """
from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.text.converters import to_text

def shout(value, mark='!'):
    if not value:
        raise AnsibleFilterError('nothing to shout')
    return to_text(value).upper() + mark

class FilterModule:
    def filters(self):
        return {'shout': shout}
"""
TESTS = """
class TestModule(object):
    def tests(self):
        return {'loud': lambda value: value.isupper()}
"""
LOOKUPS = '''
DOCUMENTATION = """
options:
  sep:
    default: "-"
"""
from ansible.plugins.lookup import LookupBase

class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        return [term + self.get_option('sep') + variables['x'] for term in terms]
'''


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    for folder, text in [("filter_plugins", FILTERS), ("test_plugins", TESTS), ("lookup_plugins", LOOKUPS)]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text)
        (tmp_path / folder / "__init__.py").write_text("raise RuntimeError")
    environment = Environment(environ={})
    diagnostics = Diagnostics()
    load_plugins(environment, tmp_path, diagnostics)
    assert list(diagnostics) == []
    return environment


@pytest.mark.skipif("ansible" in sys.modules, reason="the real thing is loaded")
def test_plugins(environment: Environment) -> None:
    subject = templar({"x": "{{ 'y' }}", "l": ["{{ x }}"]}, {"r": Unknown("x")}, environment=environment)
    assert subject.render("{{ 'a' | shout }} {{ 'a' | shout('?') is loud }}") == "A! True"
    assert subject.render("{{ l | map('shout') | list }}") == ["Y!"]
    assert subject.render("{{ lookup('mine', 'a') }} {{ lookup('mine', 'a', sep='+') }}") == "a-y a+y"
    assert isinstance(subject.render("{{ r | shout }}"), Unknown)
    with pytest.raises(Exception, match="filter plugin 'shout' failed: nothing to shout"):
        subject.render("{{ '' | shout }}")
    assert "ansible" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("import nothing_of_that_name", "no module named 'nothing_of_that_name'", 1),
        ("import ansible.playbook.play", "no module named 'ansible.playbook'", 1),
        ("\n\ndef f(:\n", "SyntaxError", 3),
        ("\n1 / 0\n", "ZeroDivisionError: division by zero", 2),
        ("x = 1", "defines no class FilterModule", 0),
    ],
)
def test_broken_files(tmp_path: Path, text: str, message: str, line: int) -> None:
    (tmp_path / "filter_plugins").mkdir()
    file = tmp_path / "filter_plugins" / "broken.py"
    file.write_text(text)
    diagnostics = Diagnostics()
    load_plugins(Environment(environ={}), tmp_path, diagnostics)
    assert diagnostics.errors == []
    found = diagnostics.warnings[0]
    assert message in found.message
    assert found.span is not None
    assert (found.span.file, found.span.line) == (str(file), line)


def test_using_what_could_not_be_loaded(tmp_path: Path) -> None:
    for folder in ("filter_plugins", "lookup_plugins"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "broken.py").write_text("import nothing_of_that_name")
    environment = Environment(environ={})
    load_plugins(environment, tmp_path, Diagnostics())
    subject = templar(environment=environment)
    assert subject.render("{{ 1 + 1 }}") == 2
    with pytest.raises(InputError, match="lookup plugin 'broken' failed to load: No module named 'nothing_of_that_name'"):
        subject.render("{{ lookup('broken') }}")
    with pytest.raises(InputError) as caught:
        subject.render("{{ 1 | of_that_file }}")
    assert "it may be defined in" in caught.value.diagnostics.errors[0].help
