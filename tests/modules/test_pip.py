"""pip, with packages of our own in a folder: nothing comes from an index."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tests.modules.steps import Steps, converge, shown

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="modules act as root")


def wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", f"version = {version!r}\n")
        requires = f"Requires-Dist: {needs}\n" if needs else ""
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages, and a virtual environment beside it."""
    root = tmp_path_factory.mktemp("pip")
    (root / "wheels").mkdir()
    wheel(root / "wheels", "demo", "1.0", "helper>=1")
    wheel(root / "wheels", "demo", "1.1", "helper>=1")
    wheel(root / "wheels", "helper", "1.5")
    return root


def params(place: Path, **given: object) -> dict[str, object]:
    return {
        "virtualenv": str(place / "venv"),
        "virtualenv_command": "python3 -m venv",
        "extra_args": f"--no-index --find-links {place / 'wheels'}",
        **given,
    }


def test_the_life_of_a_package(place: Path) -> None:
    wanted = params(place, name="demo==1.0")
    planned = Steps("plan").run("pip", wanted)
    assert [change["kind"] for change in planned["changes"]] == ["run_command", "install_packages"]
    assert planned["changes"][1]["after"]["demo"] == "1.0"
    assert not (place / "venv").exists()
    made = Steps().run("pip", wanted)
    assert not made["result"]["failed"], made["result"]
    assert made["changes"][1]["after"] == {"demo": "1.0", "helper": "1.5"}
    assert Steps().run("pip", wanted)["changes"] == []
    # Any version will do, so nothing moves.
    assert Steps().run("pip", params(place, name="demo"))["changes"] == []
    assert Steps().run("pip", params(place, name=["demo>=1,<2", "Helper"]))["changes"] == []
    newest = converge("pip", params(place, name="demo", state="latest"))
    assert (newest["changes"][0]["before"], newest["changes"][0]["after"]) == ({"demo": "1.0"}, {"demo": "1.1"})
    (place / "requirements.txt").write_text("# what we need\ndemo==1.0  # the old one\nhelper\n")
    listed = converge("pip", params(place, requirements=str(place / "requirements.txt")))
    assert listed["changes"][0]["after"] == {"demo": "1.0"}
    assert shown(converge("pip", params(place, name=["demo", "helper"], state="absent", extra_args=None))) == [
        "remove_packages demo, helper"
    ]


def test_a_plan_of_packages_after_packages(place: Path) -> None:
    """The second step sees what the first will have installed."""
    if not (place / "venv").exists():
        Steps().run("pip", params(place, name="helper"))
    steps = Steps("plan")
    assert shown(steps.run("pip", params(place, name="demo==1.1"))) == ["install_packages demo==1.1"]
    assert steps.run("pip", params(place, name="demo==1.1"))["changes"] == []
    assert shown(steps.run("pip", params(place, name="demo", state="absent", extra_args=None))) == ["remove_packages demo"]


def test_what_cannot_be(place: Path) -> None:
    if not (place / "venv").exists():
        Steps().run("pip", params(place, name="helper"))
    failed = Steps().run("pip", params(place, name="nosuchthing"))["result"]
    assert failed["failed"]
    assert "nosuchthing" in failed["msg"]
    for given, words in (
        ({"name": ["a", "b"], "version": "1"}, "ambiguous"),
        ({"name": "a>1", "version": "1"}, "conflicts"),
        ({"name": "a", "version": "1", "state": "latest"}, "incompatible"),
    ):
        assert words in Steps("plan").run("pip", params(place, **given))["result"]["msg"]
