"""SIMULATION of the ``nvidia-smi`` command: its options, errors and exit codes. Everything is printed to standard output, errors too.

Which kind of command it is follows from the options anywhere on the line, in this order: help, list, a modification, a query switch,
otherwise the table or the report. Each kind has its own set of options and its own words for a foreign one.
"""

from __future__ import annotations

import os
import sys
import time

from .gpu import FAULTS, Gpu
from .machine import Machine
from .packages import branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OK, INVALID, NO_PERMISSION, NOT_FOUND, NOT_LOADED, NO_LIBRARY, CORRUPTED, MISMATCH, IN_USE, OTHER = 0, 2, 4, 6, 9, 12, 14, 18, 19, 255

CUDA = {
    # newest CUDA that a driver branch supports
    470: "11.4",
    510: "11.6",
    515: "11.7",
    520: "11.8",
    525: "12.0",
    530: "12.1",
    535: "12.2",
    545: "12.3",
    550: "12.4",
    555: "12.5",
    560: "12.6",
    565: "12.7",
    570: "12.8",
    575: "12.9",
    580: "13.0",
    590: "13.1",
    595: "13.2",
    610: "13.3",
}

_NOT_LOADED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
_NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly "
    "installed and present in your system.\nPlease also try adding directory that contains libnvidia-ml.so to your system PATH.\n"
)
HELP = "Please run 'nvidia-smi -h' for help."

# Canonical name of each option and whether it takes a value ("=" or the next word). The shortest spelling comes first.
_VALUE = {
    "-i": "--id",
    "-f": "--filename",
    "-d": "--display",
    "-l": "--loop",
    "-lms": "--loop-ms",
    "--format": "--format",
    "--query-gpu": "--query-gpu",
    "--query-compute-apps": "--query-compute-apps",
    "--query-remapped-rows": "--query-remapped-rows",
    "-pm": "--persistence-mode",
    "-pl": "--power-limit",
    "-lgc": "--lock-gpu-clocks",
    "-lmc": "--lock-memory-clocks",
    "-ac": "--applications-clocks",
    "-c": "--compute-mode",
    "-e": "--ecc-config",
    "-mig": "--multi-instance-gpu",
    "-p": "--reset-ecc-errors",
}
_FLAG = {
    "-L": "--list-gpus",
    "-q": "--query",
    "-a": "--query-all",
    "-x": "--xml-format",
    "--dtd": "--dtd",
    "-h": "--help",
    "--version": "--version",
    "-r": "--gpu-reset",
    "-rgc": "--reset-gpu-clocks",
    "-rmc": "--reset-memory-clocks",
    "-rac": "--reset-applications-clocks",
    "-eow": "--error-on-warning",
    "--help-query-gpu": "--help-query-gpu",
    "--help-query-compute-apps": "--help-query-compute-apps",
    "--help-query-remapped-rows": "--help-query-remapped-rows",
}
_SPELLINGS = {
    **{word: long for long_of in (_VALUE, _FLAG) for short, long in long_of.items() for word in (short, long)},
    "--mig": "--multi-instance-gpu",
}
_TAKES_VALUE = frozenset(_VALUE.values())
MODIFICATIONS = (
    "--persistence-mode",
    "--power-limit",
    "--lock-gpu-clocks",
    "--reset-gpu-clocks",
    "--lock-memory-clocks",
    "--reset-memory-clocks",
    "--applications-clocks",
    "--reset-applications-clocks",
    "--compute-mode",
    "--ecc-config",
    "--multi-instance-gpu",
    "--reset-ecc-errors",
    "--gpu-reset",
)
QUERIES = ("--query-gpu", "--query-compute-apps", "--query-remapped-rows")


class Failure(Exception):
    """The program ends: what it prints last, and its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class Session:
    """One run of the command against an opened machine."""

    def __init__(self, machine: Machine, *, root: bool = True) -> None:
        self.machine = machine
        self.root = root
        self.version = machine.installed.userspace or "0.0"
        self.branch = branch(self.version)
        self.output: list[str] = []
        self.reboot_required = False  # a setter changed something that only a reboot makes effective

    @property
    def cuda(self) -> str:
        """The "CUDA Version" of the header: what the driver supports, N/A where libcuda is not installed."""
        known = [number for number in CUDA if number <= self.branch]
        return CUDA[max(known)] if known and self.machine.installed.libcuda else "N/A"

    def say(self, text: str = "") -> None:
        """One line of output."""
        self.output.append(f"{text}\n")

    def run(self, argv: Sequence[str]) -> int:
        """Do what the words ask; the exit code. What was printed is in ``output``."""
        try:
            return self._run(list(argv))
        except Failure as failure:
            self.output.append(failure.text)
            return failure.code

    def _run(self, argv: list[str]) -> int:
        words = [_SPELLINGS.get(word.split("=", 1)[0], word) for word in argv]
        if "--help" in words:
            return self._help()
        self._initialise()
        if argv[:1] == ["mig"]:
            from .mig import run as run_mig

            return run_mig(self, argv[1:])
        for word in words:
            if word in ("--help-query-gpu", "--help-query-compute-apps", "--help-query-remapped-rows"):
                from .fields import describe

                self.output.append(describe(word.replace("--help-", "--"), self.branch))
                return OK
        if "--list-gpus" in words:
            return self._list(argv)
        if any(word in MODIFICATIONS for word in words):
            from .setters import modify

            return modify(self, self._options(argv, (*MODIFICATIONS, "--id", "--error-on-warning"), f" {HELP}", OTHER))
        if any(word in QUERIES for word in words):
            from .fields import query

            allowed = (*QUERIES, "--format", "--id", "--filename", "--loop", "--loop-ms")
            return query(self, self._options(argv, allowed, f" {HELP}", INVALID))
        if words[:1] == ["--version"] and self.branch >= 550:
            return self._version()
        return self._show(argv)

    # Start of NVML

    def _initialise(self) -> None:
        """Load the library and reach the module, or end as every subcommand but help then does."""
        broken, library = self.machine.live["broken"], self.machine.installed.userspace
        if library is None or broken == "library":
            raise Failure(_NO_LIBRARY, NO_LIBRARY)
        if self.machine.module is None:
            raise Failure(_NOT_LOADED, NOT_LOADED)
        if broken == "permissions":
            raise Failure("Failed to initialize NVML: Insufficient Permissions\n", NO_PERMISSION)
        if broken == "inforom":
            raise Failure("Failed to initialize NVML: Corrupted infoROM\n", CORRUPTED)
        loaded = self.machine.module["version"]
        if loaded != library:
            self.machine.log(f"NVRM: API mismatch: the client has the version {library}, but", 3)
            self.machine.log(f"NVRM: this kernel module has the version {loaded}.  Please", 3)
            self.machine.log("NVRM: make sure that this kernel module and all NVIDIA driver components have the same version.", 3)
            short = ".".join(library.split(".")[:2])
            raise Failure(f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {short}\n", MISMATCH)
        if broken == "devices":
            text = "No devices were found. Please make sure /dev/nvidia* files are readable by current user.\n"
            raise Failure(text, NO_PERMISSION)

    # Options

    def _options(self, argv: list[str], allowed: Sequence[str], unknown: str, code: int) -> dict[str, str]:
        """Values by canonical option; flags have an empty value. ``unknown`` ends the complaint about a foreign one."""
        found: dict[str, str] = {}
        words = iter(argv)
        for word in words:
            spelled, equals, value = word.partition("=")
            name = _SPELLINGS.get(spelled, "")
            if name not in allowed:
                tail = unknown or " Please run 'nvidia-smi -h'."
                raise Failure(f"ERROR: Option {word} is not recognized.{tail}\n\n", code)
            if name in _TAKES_VALUE and not equals:
                following = next(words, None)
                if following is None or (following.startswith("-") and not following.lstrip("-")[:1].isdigit()):
                    if name in ("--loop", "--loop-ms"):
                        following = "5"
                    else:
                        raise Failure(f"ERROR: Option {word} is missing its value. {HELP}\n\n", OTHER)
                value = following
            found[name] = value
        return found

    def select(self, ids: str | None, *, resetting: bool = False) -> list[Gpu]:
        """The GPUs a command acts on. Raises Failure for none, and for one among them that does not answer, unless a reset can help it."""
        attached = self.machine.attached()
        if ids is not None:
            wanted = [word.strip() for word in ids.split(",")]
            attached = [gpu for gpu in attached if any(gpu.selected_by(word) for word in wanted)]
        if not attached:
            raise Failure("No devices were found\n", NOT_FOUND)
        for gpu in attached:
            if gpu.fault and not (resetting and gpu.fault == "reset"):
                text, code = FAULTS[gpu.fault]
                raise Failure(f"Unable to determine the device handle for GPU{gpu.bus_id}: {text}\n", code)
        return attached

    # Commands without a module of their own

    def _help(self) -> int:
        self.say(f"NVIDIA System Management Interface -- v{self.version}")
        self.say()
        self.say("SIMULATION by provision lab: the options below work on simulated GPUs, others are not known.")
        self.say()
        self.say("nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...")
        self.say()
        for short, long in (*_VALUE.items(), *_FLAG.items()):
            self.say(f"    {short if short != long else '':<6}{long}{'=' if long in _TAKES_VALUE else ''}")
        return OK

    def _version(self) -> int:
        self.say(f"NVIDIA-SMI version  : {self.version}")
        self.say(f"NVML version        : {'.'.join(self.version.split('.')[:2])}")
        self.say(f"DRIVER version      : {self.version}")
        self.say(f"CUDA Version        : {self.cuda}")
        return OK

    def _list(self, argv: list[str]) -> int:
        for word in argv:
            if _SPELLINGS.get(word) != "--list-gpus":
                raise Failure(f"ERROR: Option {word} is not valid for this command. {HELP}\n\n", INVALID)
        attached = self.machine.attached()
        if not attached:
            self.say("No devices found.")
            return OK
        code = OK
        for gpu in attached:
            if gpu.fault:
                text, code = FAULTS[gpu.fault]
                self.say(f"Unable to determine the device handle for gpu {gpu.index}: {text}")
            else:
                self.say(f"GPU {gpu.index}: {gpu.board.name} (UUID: {gpu.uuid})")
        return code

    def _show(self, argv: list[str]) -> int:
        """The table, or with -q the report."""
        allowed = ("--query", "--query-all", "--xml-format", "--display", "--id", "--filename", "--loop", "--loop-ms", "--dtd")
        options = self._options(argv, allowed, "", OTHER)
        asked = "--query" in options or "--query-all" in options
        if "--xml-format" in options and not asked:
            text = "Invalid combination of input arguments. Specify -q/--query and -x/--xml-format to run an XML query."
            raise Failure(f"{text}  {HELP}\n\n", INVALID)
        if "--display" in options and not asked:
            text = "Invalid combination of input arguments. Specify -q/--query and -d/--display to run a filtered query."
            raise Failure(f"{text}  {HELP}\n\n", INVALID)
        if "--display" in options and "--xml-format" in options:
            text = "Invalid combination of input arguments: --display/-d flags can not be combined with -x/--xml-format flags."
            raise Failure(f"{text}\n", INVALID)
        if asked:
            from . import report

            parts = options["--display"].split(",") if "--display" in options else None
            gpus = self.select(options.get("--id"))
            self.output.append(report.xml(self, gpus) if "--xml-format" in options else report.text(self, gpus, parts))
        else:
            from .table import table

            self.output.append(table(self, self.select(options.get("--id"))))
        return OK


def _word(argv: Sequence[str], *names: str) -> str | None:
    """The value of an option, for those this file handles outside the session."""
    for position, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else (argv[position + 1] if position + 1 < len(argv) else "")
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Loops while ``-l`` asks for it."""
    argv = list(sys.argv[1:] if argv is None else argv)
    loop = _word(argv, "-l", "--loop") if not any(word.startswith("-lms") for word in argv) else None
    pause = float(loop) if loop and loop.isdigit() else (5.0 if loop is not None else 0.0)
    milliseconds = _word(argv, "-lms", "--loop-ms")
    if milliseconds and milliseconds.isdigit():
        pause = int(milliseconds) / 1000
    if loop == "0" or milliseconds == "0":
        sys.stdout.write("Provided [-l(ms) | --loop(-ms)=] value is incorrect. Loop frequency must be greater than 0.\n\n")
        return INVALID
    target = _word(argv, "-f", "--filename")
    while True:
        code, text = _once(argv)
        if target and code == OK:
            with open(target, "a" if pause else "w", encoding="utf-8") as file:
                file.write(text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
        if not pause or code != OK:
            return code
        time.sleep(pause)


def _once(argv: Sequence[str]) -> tuple[int, str]:
    while True:
        with Machine.open() as machine:
            if machine.live["broken"] != "hang":
                session = Session(machine, root=os.geteuid() == 0)
                code = session.run(argv)
                machine.settle()
                return code, "".join(session.output)
        time.sleep(0.5)  # a sick GPU keeps nvidia-smi in the kernel; the state is looked at again so that mending it ends the wait
