"""``provision-sim``: look at the simulated machine, and make it ill or well."""

from __future__ import annotations

import argparse
import json
import sys

from . import kernel
from .gpu import FAULTS, Gpu
from .machine import Machine

BREAKAGES = {
    "module": "the kernel refuses the module (nvidia-smi: cannot communicate with the driver, 9)",
    "library": "libnvidia-ml cannot be found (12)",
    "permissions": "NVML may not be initialised (4)",
    "devices": "/dev/nvidia* cannot be read (4)",
    "inforom": "the infoROM is corrupted (14)",
    "hang": "nvidia-smi never returns until mended",
}
READINGS = {
    "temperature": "degrees Celsius",
    "utilization": "percent",
    "power": "watts drawn",
    "fan": "percent",
    "external_power_cap": "watts; a limiter outside of the driver's reach",
    "power_settable": "0: the board refuses power limits",
    "link_generation": "PCIe generation",
    "link_width": "PCIe lanes",
    "clock_reasons": "bit mask, e.g. 0x40",
    "corrected": "ECC errors, volatile and aggregate",
    "uncorrected": "ECC errors, volatile and aggregate",
    "remapped_correctable": "rows",
    "remapped_uncorrectable": "rows",
    "remap_pending": "0 or 1",
    "remap_failure": "0 or 1",
}
XIDS = {
    13: "pid=4242, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address",
    31: "pid=4242, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_00000000.",
    43: "pid=4242, name=python3, Ch 00000008",
    48: "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer.",
    63: "pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000000001a2b) marked for remapping, reset gpu to activate.",
    64: "pid='<unknown>', name=<unknown>, Row Remapper: Failed to remap row.",
    74: "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    79: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    94: "pid=4242, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
    95: "pid='<unknown>', name=<unknown>, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
    119: "pid=4242, name=python3, Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 76 (GSP_RM_CONTROL).",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="provision-sim", description="SIMULATION of NVIDIA GPUs in this lab node: state and faults.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, *, gpu: bool = False) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        if gpu:
            made.add_argument("gpu", help="index, UUID, bus id, or 'all'")
        return made

    command("status", "show boards, driver and faults").add_argument("--json", action="store_true")
    command("boot", "prepare /proc, /sys and /dev; runs by itself at the start of the node")
    command("flush", "hand the kernel's lines to the journal")
    lose = command("lose", "a GPU stops answering, with the line in the kernel's log", gpu=True)
    lose.add_argument("--as", dest="fault", choices=sorted(FAULTS), default="lost", help="what nvidia-smi says of it (default: lost)")
    lose.add_argument("--dead", action="store_true", help="a reboot does not bring it back: it is gone from the bus then")
    command("restore", "a GPU works again, also one that is gone", gpu=True)
    xid = command("xid", "an Xid line in the kernel's log", gpu=True)
    xid.add_argument("code", type=int)
    xid.add_argument("text", nargs="?", help="what follows the code; common codes have a text of their own")
    setting = command("set", "readings of a GPU until the next boot: " + ", ".join(READINGS), gpu=True)
    setting.add_argument("values", nargs="+", metavar="NAME=VALUE", help="an empty value takes the reading back")
    use = command("use", "a process starts to compute on a GPU", gpu=True)
    use.add_argument("--name", default="python3")
    use.add_argument("--pid", type=int, default=4242)
    use.add_argument("--memory", type=int, default=1024, help="MiB")
    command("free", "all processes leave a GPU", gpu=True)
    broken = command("break", "the driver is broken: " + "; ".join(f"{name}: {text}" for name, text in BREAKAGES.items()))
    broken.add_argument("what", choices=sorted(BREAKAGES))
    command("mend", "the driver works again")
    command("log", "any line in the kernel's log").add_argument("text")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 done, 1 no such GPU or reading."""
    options = _parser().parse_args(argv)
    with Machine.open() as machine:
        try:
            _act(machine, options)
        except ValueError as problem:
            sys.stderr.write(f"provision-sim: {problem}\n")
            return 1
    return 0


def _act(machine: Machine, options: argparse.Namespace) -> None:
    command = options.command
    if command == "status":
        sys.stdout.write(_json(machine) if options.json else _status(machine))
    elif command == "boot":
        kernel.refresh(machine)
        kernel.mount(machine)
    elif command == "flush":
        machine.flush_log()
    elif command == "break":
        machine.live["broken"] = options.what
        if options.what == "module":
            machine.live["module"] = None
        machine.kernel_changed = True
    elif command == "mend":
        machine.live["broken"] = None
        machine.load_module()
        machine.kernel_changed = True
    elif command == "log":
        machine.log(options.text)
    else:
        for gpu in _select(machine, options.gpu):
            _on_gpu(machine, gpu, options)


def _select(machine: Machine, word: str) -> list[Gpu]:
    chosen = [gpu for gpu in machine.gpus if word == "all" or gpu.selected_by(word)]
    if not chosen:
        known = ", ".join(f"{gpu.index} ({gpu.board.key}, {gpu.address})" for gpu in machine.gpus)
        raise ValueError(f"no GPU {word!r}; this node has: {known or 'none'}")
    return chosen


def _on_gpu(machine: Machine, gpu: Gpu, options: argparse.Namespace) -> None:
    short = gpu.address.rsplit(".", 1)[0]
    if options.command == "lose":
        gpu.live["fault"] = options.fault
        gpu.kept["dying"] = options.dead
        if options.fault == "lost":
            machine.log(f"NVRM: GPU at PCI:{short}: {gpu.uuid}", 3)
            machine.log(f"NVRM: Xid (PCI:{short}): 79, {XIDS[79]}", 3)
            machine.log(f"NVRM: GPU {gpu.address}: GPU has fallen off the bus.", 3)
    elif options.command == "restore":
        gpu.live["fault"] = None
        gpu.kept.pop("gone", None)
        gpu.kept.pop("dying", None)
    elif options.command == "xid":
        text = options.text or XIDS.get(options.code, "pid='<unknown>', name=<unknown>, SIMULATION")
        machine.log(f"NVRM: Xid (PCI:{short}): {options.code}, {text}", 3)
    elif options.command == "use":
        gpu.live["clients"].append({"pid": options.pid, "name": options.name, "memory": options.memory})
    elif options.command == "free":
        gpu.live["clients"] = []
        machine.settle()
    else:
        for pair in options.values:
            _reading(gpu, pair)
    machine.kernel_changed = True


def _reading(gpu: Gpu, pair: str) -> None:
    name, equals, text = pair.partition("=")
    if not equals or name not in READINGS:
        raise ValueError(f"not a reading: {pair!r}; known are " + ", ".join(f"{key} ({about})" for key, about in READINGS.items()))
    if not text:
        gpu.live["readings"].pop(name, None)
        return
    try:
        value = float(text) if "." in text else int(text, 0)
    except ValueError:
        raise ValueError(f"{name} takes a number ({READINGS[name]}), not {text!r}") from None
    if name in ("corrected", "uncorrected"):
        gpu.kept[name] += int(value) - gpu.live[name]
        gpu.live[name] = int(value)
    elif name in ("remap_pending", "remap_failure"):
        gpu.kept[name] = bool(value)
    elif name.startswith("remapped_"):
        gpu.kept["remapped"][name == "remapped_uncorrectable"] = int(value)
    else:
        gpu.live["readings"][name] = value


def _json(machine: Machine) -> str:
    return json.dumps({"simulation": True, "hardware": machine.hardware, "kept": machine.kept, "live": machine.live}, indent=2) + "\n"


def _status(machine: Machine) -> str:
    disk, module = machine.installed, machine.module
    lines = ["SIMULATION by provision lab: the GPUs of this node do not exist.", ""]
    lines.append(f"driver on disk   {disk.userspace or 'none'}" + (f", module {disk.kernel}" if disk.kernel else ""))
    kind = "" if module is None else (" (open)" if module["open"] else " (proprietary)")
    lines.append(f"module loaded    {module['version'] + kind if module else 'none'}")
    lines.append(f"persistenced     {'running' if machine.persistenced_runs() else 'not running'}")
    lines.append(f"/proc and /sys   {machine.live.get('mounts', 'not prepared')}")
    if machine.live["nouveau"]:
        lines.append("nouveau          bound to the GPUs")
    if machine.live["broken"]:
        lines.append(f"broken           {machine.live['broken']}: {BREAKAGES[machine.live['broken']]}")
    lines.append("")
    attached = machine.attached()
    for gpu in machine.gpus:
        state = gpu.fault or ("healthy" if gpu in attached else ("no driver" if module is None else "not supported by the driver"))
        state = state if gpu.on_bus else "gone from the bus"
        lines.append(f"GPU {gpu.index}  {gpu.address}  {gpu.board.key:<16} {gpu.uuid}  {state}")
    return "\n".join(lines) + "\n"
