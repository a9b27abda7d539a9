"""Python packages, of the system or in a virtual environment."""

from __future__ import annotations

import os
import shlex

from ..declare import Module, Params, exclusive, one_of, option
from ..faults import UnknownReading
from ..requirements import parse, satisfied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

VERBS = {"present": "install", "latest": "upgrade", "forcereinstall": "reinstall"}


class PipParams(Params):
    """Parameters of ``pip``."""

    name: list[str] | None = option("Packages: names, with versions or not, or URLs.", None)
    version: str | None = option("The version, when there is one name.", None)
    requirements: str | None = option("A file of requirements on the node.", None)
    state: str = option("What they shall be.", "present", choices=("absent", "forcereinstall", "latest", "present"))
    virtualenv: str | None = option("A virtual environment, made when it is not there.", None, kind="path")
    virtualenv_command: str = option("What makes it; python3 -m venv serves where virtualenv is not installed.", "virtualenv", kind="path")
    virtualenv_python: str | None = option("The Python for it; only virtualenv knows how.", None)
    virtualenv_site_packages: bool = option("Let it see the system's packages.", False)
    executable: str | None = option("The pip to use, such as pip3.11.", None, kind="path")
    extra_args: str | None = option("Further arguments for pip.", None)
    editable: bool = option("Install from sources that stay where they are.", False)
    chdir: str | None = option("The folder to run pip in.", None, kind="path")
    umask: Any = option("Umask for what is installed.", None, kind="raw")
    break_system_packages: bool = option("Install into a Python that belongs to the system's packages.", False)


def run(node: Node, p: PipParams) -> dict[str, Any]:
    """The environment first, then the packages that are missing."""
    names = _names(node, p)
    chdir = node.files.expand(p.chdir) if p.chdir else ""
    python, about = _environment(node, p, chdir)
    manager = f"pip:{python}"
    options = _options(node, p, chdir, about)
    requirements = os.path.join(chdir, p.requirements) if p.requirements else ""
    result: dict[str, Any] = {"name": names or None, "version": p.version, "requirements": p.requirements, "virtualenv": p.virtualenv}
    result["state"] = p.state
    if p.state == "absent":
        present = [name for name in names if _version(node, manager, name) is not None]
        if present:
            node.packages.remove(manager, present, options)
        return result
    request = [*(["-r", requirements] if requirements else []), *(_word(p, name) for name in names)]
    if requirements:
        options["about"] = [*options.get("about", ()), ("path", requirements)]
    wanted = [*names, *(_listed(node, requirements) if requirements else [])]
    if p.state != "present" or p.editable or not all(_is_there(node, manager, name) for name in wanted):
        node.packages.install(manager, request, options, VERBS[p.state])
    return {**result, "cmd": [python, "-m", "pip", "install", *request]}


def _names(node: Node, p: PipParams) -> list[str]:
    """The packages as pip's own words; a version given apart is put behind the only name."""
    names: list[str] = []
    for entry in p.name or ():
        # A comma parts two names, unless what follows is a further bound of the same.
        for word in str(entry).split(","):
            if names and word.strip()[:1] in ("<", ">", "=", "!", "~"):
                names[-1] += f",{word.strip()}"
            elif word.strip():
                names.append(word.strip())
    if p.version is None:
        return names
    if p.state == "latest":
        node.fail("version is incompatible with state=latest")
    if len(names) != 1:
        node.fail("'version' argument is ambiguous when installing multiple package distributions. Give the versions with the names.")
    requirement = parse(names[0])
    if requirement is None or requirement.specs:
        node.fail(f"The 'version' argument conflicts with any version specifier provided along with a package name: {names[0]}")
    return [f"{names[0]}{'' if p.version[:1] in '<>=!~' else '=='}{p.version}"]


def _word(p: PipParams, name: str) -> str:
    return f"--editable={name}" if p.editable else name


def _options(node: Node, p: PipParams, chdir: str, about: list[tuple[str, str]]) -> dict[str, Any]:
    options = {
        "chdir": chdir,
        "umask": _umask(p.umask),
        "extra_args": shlex.split(p.extra_args) if p.extra_args else [],
        "break_system_packages": p.break_system_packages,
        "environment": dict(node.context.environment),
        "about": about,
    }
    return {key: value for key, value in options.items() if value}


def _umask(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:04o}" if isinstance(value, int) else str(value)


def _listed(node: Node, path: str) -> list[str]:
    """The lines of a file of requirements; one that cannot be judged here is given as it is, and counts as not there."""
    try:
        text = node.files.read(path).decode("utf-8", "replace")
    except UnknownReading:
        return ["-r"]
    lines = (line.split(" #")[0].strip() for line in text.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _is_there(node: Node, manager: str, word: str) -> bool:
    """Whether a requirement is certainly met; anything but a name and versions is left to pip to judge."""
    requirement = parse(word)
    if requirement is None or not requirement.plain:
        return False
    version = _version(node, manager, requirement.name)
    return version is not None and satisfied(requirement, version)


def _version(node: Node, manager: str, word: str) -> str | None:
    requirement = parse(word)
    try:
        state = node.packages.installed(manager, requirement.name if requirement is not None else word)
    except UnknownReading:
        return None
    return None if state is None else str(state.version)


def _environment(node: Node, p: PipParams, chdir: str) -> tuple[str, list[tuple[str, str]]]:
    """The interpreter whose packages are meant, and what that depends on."""
    if not p.virtualenv:
        return _interpreter(node, p), []
    place = os.path.join(chdir, p.virtualenv) if chdir else node.files.expand(p.virtualenv)
    python = f"{place}/bin/python"
    try:
        missing = not node.files.exists(f"{place}/bin/activate")
    except UnknownReading:
        missing = False
    if missing:
        argv = _creation(node, p)
        touches = [("path", place)]
        node.commands.perform([*argv, place], touches=touches, what=f"virtual environment {place}", chdir=chdir, after="made")
    return python, [("path", place)]


def _creation(node: Node, p: PipParams) -> list[str]:
    """The command that makes an environment."""
    argv = shlex.split(p.virtualenv_command)
    is_virtualenv = os.path.basename(argv[0]).startswith("virtualenv")
    if node.commands.find(argv[0]) is None:
        python = node.commands.find("python3")
        if p.virtualenv_command != "virtualenv" or python is None:
            node.fail(f"Failed to find required executable {argv[0]!r}; install it first")
        if p.virtualenv_python is not None:
            node.fail("virtualenv_python needs virtualenv, which is not installed; or use virtualenv_command: PYTHON -m venv")
        argv, is_virtualenv = [python, "-m", "venv"], False
    if p.virtualenv_python is not None:
        if not is_virtualenv:
            node.fail("virtualenv_python should not be used when using the venv module or pyvenv as virtualenv_command")
        argv += [f"-p{p.virtualenv_python}"]
    return [*argv, *(["--system-site-packages"] if p.virtualenv_site_packages else [])]


def _interpreter(node: Node, p: PipParams) -> str:
    """The Python behind the pip that is meant: what the first line of its script says."""
    for name in [p.executable] if p.executable else ["pip3", "pip"]:
        path = node.commands.find(name)
        if path is not None:
            words = node.files.read(path)[:512].splitlines()[0].decode("utf-8", "replace").lstrip("#! ").split()
            python = node.commands.find(words[-1]) if words and os.path.basename(words[0]) == "env" else (words[0] if words else None)
            if python is None or "python" not in os.path.basename(python):
                node.fail(f"{path} is no script of pip, so it is not clear which Python it serves; give virtualenv, or another executable")
            return python
    wanted = p.executable or "pip3"
    node.fail(f"Unable to find any of {wanted} to use; pip needs to be installed (the package python3-pip on Debian and most others)")


MODULE = Module(
    name="pip",
    summary="Python packages, of the system or in a virtual environment.",
    params=PipParams,
    run=run,
    rules=(one_of("name", "requirements"), exclusive("name", "requirements"), exclusive("executable", "virtualenv")),
    resource=(("path", "virtualenv"),),
    examples="""
- pip: {name: [nvitop, 'py3nvml>=0.2'], virtualenv: /opt/gpu-tools, virtualenv_command: python3 -m venv}
- pip: {requirements: /opt/app/requirements.txt, virtualenv: /opt/app/venv}
""",
)
