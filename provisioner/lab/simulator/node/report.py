"""The long report of a driver branch: ``-q`` with its filter ``-d``, and ``-q -x``."""

from __future__ import annotations

import time

from . import document
from .gpu import Gpu
from .sections import SECTIONS
from .smi import INVALID, Failure, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DISPLAYS = {
    # word of -d: labels of the sections it shows
    "MEMORY": ("FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"),
    "UTILIZATION": ("Utilization",),
    "ECC": ("ECC Mode", "ECC Errors"),
    "TEMPERATURE": ("Temperature",),
    "POWER": ("GPU Power Readings", "GPU Memory Power Readings", "Power Readings", "Module Power Readings"),
    "CLOCK": (
        "Clocks",
        "Applications Clocks",
        "Default Applications Clocks",
        "Deferred Clocks",
        "Max Clocks",
        "Max Customer Boost Clocks",
        "Clock Policy",
    ),
    "COMPUTE": ("Compute Mode",),
    "PIDS": ("Processes",),
    "PERFORMANCE": ("Performance State", "Clocks Event Reasons", "Clocks Throttle Reasons", "Sparse Operation Mode"),
    "PAGE_RETIREMENT": ("Retired Pages",),
    "ROW_REMAPPER": ("Remapped Rows",),
    "RESET_STATUS": ("GPU Reset Status",),
    "VOLTAGE": ("Voltage",),
    "ENCODER_STATS": ("Encoder Stats",),
    "FBC_STATS": ("FBC Stats",),
    "ACCOUNTING": ("Accounting Mode", "Accounting Mode Buffer Size"),
    "SUPPORTED_CLOCKS": ("Supported Clocks",),
    "SUPPORTED_GPU_TARGET_TEMP": ("Supported GPU_TARGET_TEMP",),
}
_ON_REQUEST = ("", "Supported Clocks", "Supported GPU_TARGET_TEMP")  # the text has these only with -d


def _header(session: Session) -> list[tuple[str, str, str]]:
    module = session.machine.module
    return [
        ("Timestamp", "timestamp", time.strftime("%a %b %e %H:%M:%S %Y")),
        ("Driver Version", "driver_version", module["version"] if module else session.version),
        ("CUDA Version", "cuda_version", session.cuda),
    ]


def text(session: Session, gpus: Sequence[Gpu], displays: Sequence[str] | None) -> str:
    """The report as text, all of it or what the words of ``-d`` show."""
    shown: set[str] = set()
    for word in displays or ():
        if word.upper() not in DISPLAYS:
            raise Failure("Failed to parse --display/-d flags\n", INVALID)
        shown.update(DISPLAYS[word.upper()])
    lines = ["", "==============NVSMI LOG==============", ""]
    lines += [f"{label:<42}: {value}" for label, _tag, value in _header(session)]
    lines += ["", f"{'Attached GPUs':<42}: {len(session.machine.attached())}"]
    for gpu in gpus:
        lines.append(f"GPU {gpu.bus_id}")
        for section in SECTIONS:
            wanted = section.label in shown if displays is not None else section.label not in _ON_REQUEST
            if wanted and section.since <= session.branch <= section.until:
                lines += document.text(section, session, gpu)
        lines.append("")
    return "\n".join(lines) + "\n"


def xml(session: Session, gpus: Sequence[Gpu]) -> str:
    """The report as XML; the number of its DTD says little about what is inside."""
    dtd = "v13" if session.branch >= 580 else ("v12" if session.branch >= 520 else "v11")
    lines = ['<?xml version="1.0" ?>', f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{dtd}.dtd">', "<nvidia_smi_log>"]
    lines += [f"\t<{tag}>{value}</{tag}>" for _label, tag, value in _header(session)]
    lines.append(f"\t<attached_gpus>{len(session.machine.attached())}</attached_gpus>")
    for gpu in gpus:
        lines.append(f'\t<gpu id="{gpu.bus_id}">')
        for section in SECTIONS:
            if section.tag and section.since <= session.branch <= section.until:
                lines += document.xml(section, session, gpu)
        lines += ["\t</gpu>", ""]
    return "\n".join([*lines, "</nvidia_smi_log>"]) + "\n"
