"""The plain table of nvidia-smi: 89 columns up to branch 545, 91 from 550 on."""

from __future__ import annotations

import time

from .gpu import COMPUTE_MODES, Gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .smi import Session


def table(session: Session, gpus: Sequence[Gpu]) -> str:
    """The whole screen, starting with the date."""
    wide = session.branch >= 550
    middle = 24 if wide else 22  # width of the column with bus id and memory
    total = 65 + middle
    driver = session.machine.module["version"] if session.machine.module else session.version
    header = f" NVIDIA-SMI {session.version:<23}Driver Version: {driver:<{15 if wide else 13}}CUDA Version: {session.cuda:<9}"
    separator = f"+{'-' * 41}+{'-' * middle}+{'-' * 22}+"
    lines = [
        f"{time.strftime('%a %b %e %H:%M:%S %Y'):<31}",
        f"+{'-' * total}+",
        f"|{header}|",
        f"|{separator[1:]}",
        f"| GPU  Name                 Persistence-M | Bus-Id {'Disp.A':>{middle - 9}} | Volatile Uncorr. ECC |",
        f"| Fan  Temp   Perf          Pwr:Usage/Cap | {'Memory-Usage':>{middle - 2}} | GPU-Util  Compute M. |",
        f"|{'':41}|{'':{middle}}|{'MIG M.':>21} |",
        f"|{'=' * 41}+{'=' * middle}+{'=' * 22}|",
    ]
    for gpu in gpus:
        lines += _rows(gpu, middle)
        lines.append(separator)
    lines += [" " * (total + 2), *_mig(gpus, total), *_processes(gpus, total, middle)]
    return "\n".join(lines) + "\n"


def _rows(gpu: Gpu, middle: int) -> list[str]:
    name = gpu.board.name if len(gpu.board.name) <= 27 else f"{gpu.board.name[:24]}..."
    fan = "N/A" if gpu.fan is None else f"{gpu.fan}%"
    digits = 4 if middle == 24 else 3
    power = f"{gpu.power_draw:.0f}W / {gpu.power_limit:>{digits}.0f}W"
    memory = f"{gpu.memory_used}MiB / {gpu.board.memory:>{digits + 2}}MiB"
    errors = gpu.errors("uncorrected", "volatile")
    ecc = str(errors) if errors is not None else ("Off" if gpu.board.ecc else "N/A")
    used = "N/A" if gpu.live["mig"] else f"{gpu.utilization}%"
    mode = COMPUTE_MODES[gpu.live["compute_mode"]]
    mode = {"Exclusive_Process": "E. Process"}.get(mode, mode)
    mig = "N/A"
    if gpu.board.mig:
        mig = ("Enabled" if gpu.live["mig"] else "Disabled") + ("*" if gpu.live["mig"] != gpu.kept["mig"] else "")
    bus = f"{gpu.bus_id} Off"
    return [
        f"|{gpu.index:>4}  {name:<31}{'On' if gpu.live['persistence'] else 'Off':<3} | {bus:>{middle - 2}} | {ecc:>20} |",
        f"|{fan:>4}  {gpu.temperature:>3}C    {gpu.pstate:<3}{power:>23} | {memory:>{middle - 2}} | {used:>7} {mode:>12} |",
        f"|{'':41}|{'':{middle}}| {mig:>20} |",
    ]


def _mig(gpus: Sequence[Gpu], total: int) -> list[str]:
    """The box of MIG devices, where the mode is on; the simulator has no instances."""
    if not any(gpu.live["mig"] for gpu in gpus):
        return []
    extra = total - 87
    return [
        f"+{'-' * total}+",
        f"| {'MIG devices:':<{total - 1}}|",
        f"+------------------+{'-' * (32 + extra)}+-----------+-----------------------+",
        f"| GPU  GI  CI  MIG |{'Memory-Usage':>{31 + extra}} |        Vol|      Shared           |",
        f"|      ID  ID  Dev |{'BAR1-Usage':>{31 + extra}} | SM     Unc| CE ENC DEC OFA JPG    |",
        f"|                  |{'':{32 + extra}}|        ECC|                       |",
        f"|==================+{'=' * (32 + extra)}+===========+=======================|",
        f"|  {'No MIG devices found':<{total - 2}}|",
        f"+{'-' * total}+",
        " " * (total + 2),
    ]


def _processes(gpus: Sequence[Gpu], total: int, middle: int) -> list[str]:
    gap = " " * (middle - 22)
    lines = [
        f"+{'-' * total}+",
        f"| {'Processes:':<{total - 1}}|",
        f"|  GPU   GI   CI        PID   Type   Process name                            {gap}GPU Memory |",
        f"|        ID   ID                                                             {gap}Usage      |",
        f"|{'=' * total}|",
    ]
    rows = [
        f"| {gpu.index:>4}   N/A  N/A {client['pid']:>9}      C   {client['name']:<{37 + middle - 22}} {client['memory']:>9}MiB |"
        for gpu in gpus
        for client in gpu.live["clients"]
    ]
    lines += rows or [f"|  {'No running processes found':<{total - 2}}|"]
    lines.append(f"+{'-' * total}+")
    return lines
