"""What GPUs a node has: the words people use, and the identity of each board."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from provisioner.diagnostics import did_you_mean
from provisioner.errors import UsageError
from provisioner.lab.simulator.node.boards import BOARDS, canonical

_SHORT = {
    # the board people mean when they name only the family
    "a100": "A100-SXM4-80GB",
    "h100": "H100-SXM",
    "h200": "H200-SXM",
    "v100": "V100-SXM2-32GB",
    "rtx4090": "RTX-4090",
    "4090": "RTX-4090",
    "3090": "RTX-3090",
    "b200": "B200",
}
_BUSES = (0x07, 0x0F, 0x47, 0x4E, 0x87, 0x90, 0xB7, 0xBD, 0x17, 0x2A, 0x3D, 0x5D, 0x9B, 0xAB, 0xC4, 0xDA)
"""PCI buses in the order of the slots; those of a usual eight-GPU server first."""


@dataclass(frozen=True)
class GpuSpec:
    """One GPU. Only ``model`` must be given; the rest is made up, the same for the same seed and slot.

    ``model`` is a key of ``models()``; ``bus_id`` has the kernel's form ``0000:07:00.0``; ``uuid`` begins with ``GPU-``.
    """

    model: str
    uuid: str = ""
    serial: str = ""
    bus_id: str = ""

    def __post_init__(self) -> None:
        if self.model not in BOARDS:
            raise _unknown(self.model)
        if self.bus_id and not re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", self.bus_id):
            raise UsageError(f"not a PCI address: {self.bus_id!r}", help="write it as the kernel does, in lower case: 0000:07:00.0")
        if self.uuid and not re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", self.uuid):
            raise UsageError(f"not a GPU UUID: {self.uuid!r}", help="GPU- and a UUID in lower case")


def models() -> dict[str, str]:
    """Every board that can be simulated, with its name in nvidia-smi."""
    return {key: board.name for key, board in BOARDS.items()}


def parse(text: str) -> tuple[GpuSpec, ...]:
    """GPUs in words: ``"8xH100"``, ``"4xA100-SXM4-80GB, 2xT4"``, ``"rtx 4090"``; nothing for ``""`` and ``"none"``.

    Raises UsageError for an unknown board, a count of zero, or more GPUs than a server has slots.
    """
    found: list[GpuSpec] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part.lower() == "none":
            continue
        match = re.fullmatch(r"(?:(\d+)\s*[x×*]\s*)?(\S.*)", part)
        count, word = (int(match[1] or 1), match[2]) if match else (1, part)
        if count < 1:
            raise UsageError(f"{part!r} asks for no GPU", help="leave it out, or write 'none'")
        found += [GpuSpec(_model(word))] * count
    if len(found) > len(_BUSES):
        raise UsageError(f"{len(found)} GPUs in one node", why=f"a simulated server has {len(_BUSES)} slots")
    return tuple(found)


def specs(gpus: Sequence[GpuSpec | str]) -> tuple[GpuSpec, ...]:
    """The same with words replaced by what they mean."""
    return tuple(spec for gpu in gpus for spec in (parse(gpu) if isinstance(gpu, str) else (gpu,)))


def entries(gpus: Sequence[GpuSpec], seed: str) -> list[dict[str, str]]:
    """The hardware file's entries. Raises UsageError where two GPUs would be one."""
    taken = {gpu.bus_id for gpu in gpus if gpu.bus_id}
    free = iter([address for bus in _BUSES if (address := f"0000:{bus:02x}:00.0") not in taken])
    made = []
    for slot, gpu in enumerate(gpus):
        identity = uuid.uuid5(uuid.NAMESPACE_OID, f"provision lab {seed} gpu {slot}")
        made.append(
            {
                "board": gpu.model,
                "uuid": gpu.uuid or f"GPU-{identity}",
                "serial": gpu.serial or f"165{identity.int % 10**10:010d}",
                "bus_id": gpu.bus_id or next(free),
            }
        )
    for key in ("uuid", "bus_id"):
        values = [entry[key] for entry in made]
        for value in values:
            if values.count(value) > 1:
                raise UsageError(f"two GPUs of one node have the same {key.replace('_', ' ')}: {value}")
    return sorted(made, key=lambda entry: entry["bus_id"])


def _model(word: str) -> str:
    plain = canonical(word)
    for key, board in BOARDS.items():
        if plain in (canonical(key), canonical(board.name)):
            return key
    if plain in _SHORT:
        return _SHORT[plain]
    raise _unknown(word)


def _unknown(word: str) -> UsageError:
    return UsageError(
        f"no simulated board {word!r}{did_you_mean(word, BOARDS)}",
        help="known are " + ", ".join(BOARDS),
    )
