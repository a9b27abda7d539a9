"""The modifications of nvidia-smi: one setting, applied to each selected GPU in turn.

Most refusals are "treated as a warning" and leave exit code 0, as in the real program: only a reading after the change tells the truth.
"""

from __future__ import annotations

from .gpu import EXCLUSIVE_PROCESS, EXCLUSIVE_THREAD, PROHIBITED, Gpu
from .smi import HELP, IN_USE, INVALID, MODIFICATIONS, NO_PERMISSION, OK, OTHER, Failure, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WORDS = {"DISABLED": 0, "ENABLED": 1}
_COMPUTE_WORDS = {"DEFAULT": 0, "EXCLUSIVE_THREAD": 1, "PROHIBITED": 2, "EXCLUSIVE_PROCESS": 3}
_COMPUTE_NAMES = ("DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS")
_BUSY = (
    "%s is currently being used by one or more other processes (e.g. CUDA application or a monitoring application such as another "
    "instance of nvidia-smi). Please first kill all processes using the device and retry the command or reboot the system to make MIG "
    "mode effective."
)
_BUSY_RESET = (
    "1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, graphics application such as "
    "an X server, or a monitoring application such as another instance of nvidia-smi). Please first kill all processes using this device "
    "and all compute applications running in the system."
)
_PERSISTENCE_WARNING = (
    "Warning: persistence mode is disabled on device %s. See the Known Issues section of the nvidia-smi(1) man page for more information. "
    "Run with [--help | -h] switch to get more information on how to enable persistence mode."
)


class Refused(Exception):
    """A GPU does not do it: what to print and the exit code; 0 is "treated as a warning", the rest end the command."""

    def __init__(self, text: str, code: int = OK) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


def modify(session: Session, options: Mapping[str, str]) -> int:
    """Apply the one modification in ``options``; the exit code."""
    chosen = [name for name in MODIFICATIONS if name in options]
    if len(chosen) > 1 or "--error-on-warning" in options:
        text = "Invalid combination of input arguments. Only one device modification may be done at a time."
        raise Failure(f"{text}\n\n", INVALID)
    name, value = chosen[0], options[chosen[0]]
    action = ACTIONS[name](value)
    for gpu in session.select(options.get("--id"), resetting=name == "--gpu-reset"):
        try:
            action(session, gpu)
        except Refused as refused:
            session.say(refused.text)
            if refused.code:
                session.say("Terminating early due to previous errors.")
                return refused.code
            session.say("Treating as warning and moving on.")
        else:
            if name in _VOLATILE and not gpu.live["persistence"]:
                session.say(_PERSISTENCE_WARNING % gpu.bus_id)
    session.say("All done.")
    if session.reboot_required:
        session.say("Reboot required.")
    return OK


_VOLATILE = ("--power-limit", "--lock-gpu-clocks", "--lock-memory-clocks", "--applications-clocks")


def _number(value: str, option: str, words: Mapping[str, int]) -> int:
    if value.upper() in words:
        return words[value.upper()]
    if not value.isdigit():
        raise Failure(f"ERROR: Option {value} is invalid for {option}. {HELP}\n\n", INVALID)
    return int(value)


def _enabled(flag: object) -> str:
    return "Enabled" if flag else "Disabled"


def _persistence(value: str) -> Callable[[Session, Gpu], None]:
    wanted = _number(value, "-pm", _WORDS)

    def act(session: Session, gpu: Gpu) -> None:
        if wanted > 1:
            raise Refused(f"Invalid persistence mode: {wanted}", INVALID)
        if gpu.live["persistence"] == bool(wanted):
            session.say(f"Persistence mode is already {_enabled(wanted)} for GPU {gpu.bus_id}.")
            return
        if not session.root:
            raise Refused(f"Unable to set persistence mode for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        gpu.live["persistence"] = bool(wanted)
        session.say(f"{_enabled(wanted)} persistence mode for GPU {gpu.bus_id}.")

    return act


def _power_limit(value: str) -> Callable[[Session, Gpu], None]:
    try:
        watts = float(value)
    except ValueError:
        raise Failure(f"ERROR: Option {value} is invalid for -pl. {HELP}\n\n", INVALID) from None
    if not 0 < watts < 1e6:
        raise Failure("Input combination for device modification is not valid.\n", OTHER)

    def act(session: Session, gpu: Gpu) -> None:
        lowest, _default, highest = gpu.board.power
        if not gpu.board.power_settable or gpu.live["readings"].get("power_settable") == 0:
            raise Refused(f"Changing power management limit is not supported for GPU: {gpu.bus_id}.")
        if not lowest <= watts <= highest:
            between = f"should be between {lowest:.2f} W and {highest:.2f} W for GPU {gpu.bus_id}"
            raise Refused(f"Provided power limit {watts:.2f} W is not a valid power limit which {between}", INVALID)
        if not session.root:
            raise Refused(f"Failed to set power management limit for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        session.say(f"Power limit for GPU {gpu.bus_id} was set to {watts:.2f} W from {gpu.power_limit:.2f} W.")
        gpu.live["power_limit"] = watts

    return act


def _pair(value: str, complaint: str) -> tuple[int, int]:
    parts = value.split(",")
    if len(parts) not in (1, 2) or not all(part.isdigit() for part in parts):
        raise Failure(f"{complaint}\nTerminating early due to previous errors.\n", INVALID)
    return int(parts[0]), int(parts[-1])


def _clocks_permission(session: Session, gpu: Gpu) -> None:
    if not session.root:
        raise Refused(f"The current user does not have permission to change clocks for GPU {gpu.bus_id}.", NO_PERMISSION)


def _lock_gpu_clocks(value: str) -> Callable[[Session, Gpu], None]:
    lowest, highest = _pair(
        value,
        f"Specified clocks \"{value}\" are not valid. Please format input as 'gpuClkMin,gpuClkMax' or 'gpuClkVal' e.g. "
        "'--lock-gpu-clocks=1500,1500', '--lock-gpu-clocks=1500', or '--lock-gpu-clocks=tdp,unlimited'",
    )

    def act(session: Session, gpu: Gpu) -> None:
        pair = f'"(gpuClkMin {lowest}, gpuClkMax {highest})"'
        if gpu.board.architecture == "Volta" and lowest != highest:
            raise Refused(f"Setting locked GPU clocks is not supported for GPU {gpu.bus_id}.")
        if lowest > highest or lowest > gpu.board.clocks_max[0]:
            hint = "Run 'nvidia-smi -q -d SUPPORTED_CLOCKS' to see list of supported clock combinations"
            raise Refused(f"Specified clock combination {pair} is not supported for GPU {gpu.bus_id}. {hint}")
        _clocks_permission(session, gpu)
        gpu.live["gpu_clocks"] = [lowest, highest]
        session.say(f"GPU clocks set to {pair} for GPU {gpu.bus_id}")

    return act


def _lock_memory_clocks(value: str) -> Callable[[Session, Gpu], None]:
    lowest, highest = _pair(
        value,
        f"Specified clocks \"{value}\" are not valid. Please format input as 'memClkMin,memClkMax' or 'memClkVal' e.g. "
        "--lock-memory-clocks=5100,5100 or --lock-memory-clocks=5100",
    )

    def act(session: Session, gpu: Gpu) -> None:
        if gpu.board.architecture in ("Volta", "Turing"):
            raise Refused(f"Setting locked Memory clocks is not supported for GPU {gpu.bus_id}.")
        _clocks_permission(session, gpu)
        gpu.live["memory_clocks"] = [lowest, highest]
        session.say(f'Memory clocks set to "(memClkMin {lowest}, memClkMax {highest})" for GPU {gpu.bus_id}')

    return act


def _application_clocks(value: str) -> Callable[[Session, Gpu], None]:
    complaint = f'Specified clocks "{value}" are not valid. Please format input as memClk,smClk e.g. --applications-clocks=2000,300'
    memory, graphics = _pair(value if "," in value else "", complaint)

    def act(session: Session, gpu: Gpu) -> None:
        board = gpu.board
        if board.application_clocks is None:
            raise Refused(f"Setting applications clocks is not supported for GPU {gpu.bus_id}.")
        steps = range(board.clocks_max[0], board.clocks_idle[0] - 1, -board.clock_step)
        pair = f'"(MEM {memory}, SM {graphics})"'
        if memory != board.clocks_max[1] or graphics not in steps:
            hint = "Run 'nvidia-smi -q -d SUPPORTED_CLOCKS' to see list of supported clock combinations"
            raise Refused(f"Specified clock combination {pair} is not supported for GPU {gpu.bus_id}. {hint}")
        _clocks_permission(session, gpu)
        gpu.live["application_clocks"] = [memory, graphics]
        session.say(f"Applications clocks set to {pair} for GPU {gpu.bus_id}")

    return act


def _release(key: str) -> Callable[[str], Callable[[Session, Gpu], None]]:
    """The resets of clocks print nothing of their own."""

    def parse(_value: str) -> Callable[[Session, Gpu], None]:
        def act(session: Session, gpu: Gpu) -> None:
            _clocks_permission(session, gpu)
            gpu.live[key] = None

        return act

    return parse


def _compute_mode(value: str) -> Callable[[Session, Gpu], None]:
    wanted = _number(value, "-c", _COMPUTE_WORDS)

    def act(session: Session, gpu: Gpu) -> None:
        if wanted == EXCLUSIVE_THREAD:
            raise Refused("Exclusive_Thread was deprecated! Use value 3:Exclusive_Process instead.")
        if wanted > EXCLUSIVE_PROCESS:
            raise Refused(f"Invalid compute mode: {wanted}", INVALID)
        name = _COMPUTE_NAMES[wanted]
        if gpu.live["compute_mode"] == wanted:
            session.say(f"Compute mode is already set to {name} for GPU {gpu.bus_id}.")
            return
        if gpu.live["mig"] and wanted != PROHIBITED:
            raise Refused(f"Setting compute mode to {name} is not supported on a MIG-enabled device.")
        if not session.root:
            raise Refused(f"Unable to set the compute mode for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        gpu.live["compute_mode"] = wanted
        session.say(f"Set compute mode to {name} for GPU {gpu.bus_id}.")

    return act


def _ecc(value: str) -> Callable[[Session, Gpu], None]:
    wanted = _number(value, "-e", _WORDS)

    def act(session: Session, gpu: Gpu) -> None:
        if wanted > 1:
            raise Refused(f"Invalid ECC configuration code: {wanted}", INVALID)
        if not gpu.board.ecc:
            raise Refused(f"ECC features not supported for GPU {gpu.bus_id}.")
        if bool(gpu.kept["ecc"]) == bool(wanted):
            session.say(f"ECC support is already {_enabled(wanted)} for GPU {gpu.bus_id}.")
            return
        if not session.root:
            raise Refused(f"Unable to set ECC config for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        gpu.kept["ecc"] = bool(wanted)
        session.reboot_required = True
        session.say(f"{_enabled(wanted)} ECC support for GPU {gpu.bus_id}.")

    return act


def _mig(value: str) -> Callable[[Session, Gpu], None]:
    wanted = _number(value, "-mig", _WORDS)

    def act(session: Session, gpu: Gpu) -> None:
        if wanted > 1:
            raise Refused(f"Invalid MIG Mode: {wanted}", INVALID)
        verb = "enable" if wanted else "disable"
        if gpu.board.mig is None or session.branch < gpu.board.mig_first_branch:
            raise Refused(f"Unable to {verb} MIG Mode for GPU {gpu.bus_id}: Not Supported")
        if not session.root:
            raise Refused(f"Unable to {verb} MIG Mode for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        busy = gpu.in_use or session.machine.persistenced_runs()
        if busy and bool(gpu.live["mig"]) != bool(wanted):
            if gpu.board.mig == "driver":
                raise Refused(f"Unable to {verb} MIG Mode for GPU {gpu.bus_id}: In use by another client", IN_USE)
            gpu.kept["mig"] = bool(wanted)
            session.say(f"Warning: MIG mode is in pending {verb} state for GPU {gpu.bus_id}:In use by another client")
            session.say(_BUSY % gpu.bus_id)
            return
        gpu.kept["mig"] = gpu.live["mig"] = bool(wanted)
        session.say(f"{_enabled(wanted)} MIG Mode for GPU {gpu.bus_id}")

    return act


def _reset_ecc(value: str) -> Callable[[Session, Gpu], None]:
    wanted = _number(value, "-p", {"VOLATILE": 0, "AGGREGATE": 1})

    def act(session: Session, gpu: Gpu) -> None:
        if wanted > 1:
            raise Refused(f"Invalid ECC type: {wanted}", INVALID)
        if gpu.errors("corrected", "volatile") is None:
            raise Refused(f"ECC features not supported for GPU {gpu.bus_id}.")
        if not session.root:
            raise Refused(f"Unable to clear ECC errors for GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        (gpu.kept if wanted else gpu.live).update(corrected=0, uncorrected=0)
        session.say(f"Reset {'aggregate' if wanted else 'volatile'} ECC errors to zero for GPU {gpu.bus_id}.")

    return act


def _gpu_reset(_value: str) -> Callable[[Session, Gpu], None]:
    def act(session: Session, gpu: Gpu) -> None:
        if not session.root:
            raise Refused(f"Unable to reset GPU {gpu.bus_id}: Insufficient Permissions", NO_PERMISSION)
        if gpu.in_use or session.machine.persistenced_runs():
            session.say(f"GPU {gpu.bus_id} is currently in use by another process.")
            session.say()
            raise Failure(f"{_BUSY_RESET}\n", OTHER)
        gpu.reset()
        session.say(f"GPU {gpu.bus_id} was successfully reset.")

    return act


ACTIONS: dict[str, Callable[[str], Callable[[Session, Gpu], None]]] = {
    "--persistence-mode": _persistence,
    "--power-limit": _power_limit,
    "--lock-gpu-clocks": _lock_gpu_clocks,
    "--reset-gpu-clocks": _release("gpu_clocks"),
    "--lock-memory-clocks": _lock_memory_clocks,
    "--reset-memory-clocks": _release("memory_clocks"),
    "--applications-clocks": _application_clocks,
    "--reset-applications-clocks": _release("application_clocks"),
    "--compute-mode": _compute_mode,
    "--ecc-config": _ecc,
    "--multi-instance-gpu": _mig,
    "--reset-ecc-errors": _reset_ecc,
    "--gpu-reset": _gpu_reset,
}
