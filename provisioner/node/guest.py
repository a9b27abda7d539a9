"""Runs a module that is not written against ``Node``: a Python module of Ansible's kind in a forked child, any other program as itself.

What it needs lies in a private folder while it runs. Its result is the JSON object on its standard output; what stands before and behind
that is tolerated, as Ansible does.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys

from . import imported, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from .foreign import ForeignParams

ARGUMENTS = b"<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"
"""What stands in the text of a program of kind ``complete`` for its arguments."""
TAIL = 4000
"""Characters of a broken module's output that its failure shows."""


class Guest:
    """A foreign module, its code (an archive or a program), and how the controller wants it called: see ``foreign.ForeignParams``."""

    def __init__(self, name: str, code: bytes, wanted: ForeignParams) -> None:
        self.name = name
        self.code = code
        self.wanted = wanted

    def run(self, arguments: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
        """Run it to its end and return its result; one that gives none has failed."""
        place = self._private_folder()
        try:
            if self.wanted.kind == "python":
                finished = self._python(place, arguments, environment)
            else:
                finished = self._program(place, arguments, environment)
        except OSError as error:
            return {"failed": True, "msg": f"module {self.name} cannot be started: {error.strerror} ({error.filename})"}
        finally:
            _remove(place)
        return self._result(finished)

    def _private_folder(self) -> str:
        base = os.path.expanduser(self.wanted.folder)
        os.makedirs(base, 0o700, exist_ok=True)
        path = os.path.join(base, f"provision-{os.getpid()}-{os.urandom(6).hex()}")
        os.mkdir(path, 0o700)
        return path

    def _python(self, place: str, arguments: dict[str, Any], environment: Mapping[str, str]) -> process.Finished:
        archive = _write(place, "archive.zip", self.code, 0o600)
        given = json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_tmpdir": place}}).encode()
        compiled = os.path.join(place, "compiled")
        work = functools.partial(_python_child, archive, self.wanted.main, given, environment, compiled, self.wanted.files)
        finished = process.attended(process.Child(b"", lambda ends: _fork(work, ends)))
        imported.take(compiled)
        return finished

    def _program(self, place: str, arguments: dict[str, Any], environment: Mapping[str, str]) -> process.Finished:
        data = self.code
        if self.wanted.kind == "complete":
            data = data.replace(ARGUMENTS, json.dumps(arguments).encode())
        argv = [*_with_own_python(self.wanted.launcher), _write(place, "module", data, 0o700)]
        if self.wanted.kind == "json":
            argv.append(_write(place, "arguments", json.dumps({**arguments, "_ansible_tmpdir": place}).encode(), 0o600))
        elif self.wanted.kind == "words":
            argv.append(_write(place, "arguments", _words(arguments).encode("utf-8", "surrogateescape"), 0o600))
        return process.collect(argv, env={"PATH": process.DEFAULT_PATH, **os.environ, **environment})

    def _result(self, finished: process.Finished) -> dict[str, Any]:
        text = finished.stdout.decode("utf-8", "surrogateescape")
        errors = finished.stderr.decode("utf-8", "surrogateescape")
        found, behind = _object_in(text)
        if found is None:
            return self._broken(finished.rc, text, errors)
        if behind:
            found.setdefault("warnings", [])
            if isinstance(found["warnings"], list):
                found["warnings"].append(f"Module invocation had junk after the JSON data: {behind}")
        return found

    def _broken(self, rc: int, text: str, errors: str) -> dict[str, Any]:
        lines = [line for line in errors.strip().splitlines() if line.strip()]
        last = lines[-1].strip() if lines else f"it ended with exit status {rc} and printed no JSON"
        return {
            "failed": True,
            "msg": f"module {self.name} broke off: {last} (see module_stdout, module_stderr and rc of its result)",
            "exception": errors[-TAIL:],
            "module_stdout": text[-TAIL:],
            "module_stderr": errors[-TAIL:],
            "rc": rc,
        }


def _object_in(text: str) -> tuple[dict[str, Any] | None, str]:
    """The first JSON object that starts a line, and what follows it; None when there is none."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = start + len(text[start:end]) - len(text[start:end].lstrip())
        if text.startswith("{", line):
            try:
                found, stop = json.JSONDecoder(strict=False).raw_decode(text, line)
            except ValueError:
                return None, ""
            return found, text[stop:].strip()
        start = end + 1
    return None, ""


def _with_own_python(launcher: list[str]) -> list[str]:
    """A program in Python is run by the one that runs us, wherever its first line says that one is."""
    for position, word in enumerate(launcher[:2]):
        if os.path.basename(word).startswith("python"):
            return [sys.executable, *launcher[position + 1 :]]
    return launcher


def _words(arguments: Mapping[str, Any]) -> str:
    """Arguments as the oldest kind of modules reads them."""
    import shlex

    plain = {name: value for name, value in arguments.items() if value is not None}
    return " ".join(f"{name}={shlex.quote(value if isinstance(value, str) else json.dumps(value))}" for name, value in plain.items())


def _write(place: str, name: str, data: bytes, mode: int) -> str:
    path = os.path.join(place, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    return path


def _remove(place: str) -> None:
    for folder, _folders, files in os.walk(place, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


# -- in the child -----------------------------------------------------------------------------------------------------------------------


def _fork(work: Callable[[], NoReturn], ends: Sequence[int]) -> int:
    """Start ``work`` in a child with ``ends`` as its first three descriptors; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        process.detach(ends)
        # The agent's stream is among these: nobody but the agent may write to it.
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        work()
    finally:
        os._exit(1)


def _python_child(archive: str, main: str, arguments: bytes, environment: Mapping[str, str], compiled: str, files: int) -> NoReturn:
    """Become the interpreter of one module; never returns."""
    import atexit
    import traceback

    status = 1
    try:
        atexit._clear()
        _like_a_fresh_interpreter(archive, environment)
        _limit_files(files)
        status = _run_main(archive, main, arguments)
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        _finish(status, compiled)


def _like_a_fresh_interpreter(archive: str, environment: Mapping[str, str]) -> None:
    """Undo what makes an agent start fast and run undisturbed: no site-packages, no locale, signals of its own."""
    import site

    os.environ.update(environment)
    os.environ.setdefault("PATH", process.DEFAULT_PATH)
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != f"{__package__}.loader"]
    site.main()
    own = site.getusersitepackages()
    if os.path.isdir(own):
        site.addsitedir(own)
    sys.argv[:] = [archive]
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
    imported.open_archive(archive)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - they are the process's own
        for number, mode in enumerate(("r", "w", "w"))
    )


def _limit_files(wanted: int) -> None:
    """Set the number of files that may be open, no higher than is allowed."""
    import resource

    if wanted > 0:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def _run_main(archive: str, main: str, arguments: bytes) -> int:
    """Hand the arguments to the library of modules in the archive, and run the module as a main program."""
    import importlib
    import runpy

    basic: Any = importlib.import_module("ansible.module_utils.basic")
    basic._ANSIBLE_ARGS = arguments
    if hasattr(basic, "_ANSIBLE_PROFILE"):  # since ansible-core 2.19: how arguments and results are encoded
        basic._ANSIBLE_PROFILE = "legacy"
    runpy.run_module(main, init_globals={"_module_fqn": main, "_modlib_path": archive}, run_name="__main__", alter_sys=True)
    return 0


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    sys.stderr.write(f"{leaving.code}\n")
    return 1


def _finish(status: int, compiled: str) -> NoReturn:
    """What an interpreter does before it ends."""
    import atexit

    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        imported.leave(compiled)
    finally:
        os._exit(status & 0xFF)
