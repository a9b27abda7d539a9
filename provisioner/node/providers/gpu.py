"""GPUs through nvidia-smi: key ``list`` is all of them, ``UUID/SETTING`` one setting of one.

What nvidia-smi says is taken for what it is: a number, "unsupported" (``[N/A]`` and its kin), or an error text. A setter's exit status is
never believed, for it is 0 where a board refuses; every setting is read back. Facts: gpu-facts.md 4 and 5.
"""

from __future__ import annotations

import time

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live

FIELDS = (
    "uuid", "name", "pci.bus_id", "driver_version", "persistence_mode", "power.limit", "power.default_limit", "power.min_limit",
    "power.max_limit", "compute_mode", "ecc.mode.current", "ecc.mode.pending", "mig.mode.current", "mig.mode.pending",
)  # fmt: skip
UNSUPPORTED = "unsupported"
MISSING = ("[N/A]", "N/A", "[Not Supported]", "[Requested functionality has been deprecated]")
COMPUTE = {"Default": 0, "Prohibited": 2, "Exclusive_Process": 3}
LOCKS = "/run/provision-gpu-clocks.json"
"""Clock locks as they were set: no query tells them. The file goes at reboot, as the locks do."""
TIMEOUT = 60.0
FRESH = 1.0
_seen: dict[str, Any] = {}


def read(host: Live, key: str) -> Any:
    """The list of GPUs (None without a driver), or a setting: True/False, watts, a word, or "unsupported"."""
    gpus = _gpus(host)
    if key == "list" or gpus is None:
        return gpus
    uuid, _, setting = key.partition("/")
    gpu = next((each for each in gpus if each["uuid"] == uuid), None)
    if gpu is None:
        return None
    return _locks(host).get(uuid) if setting == "clocks" else gpu.get(setting)


def _gpus(host: Live) -> list[dict[str, Any]] | None:
    if _seen and time.monotonic() - _seen["at"] < FRESH:
        kept: list[dict[str, Any]] | None = _seen["gpus"]
        return kept
    gpus = _query(host)
    _seen.update(at=time.monotonic(), gpus=gpus)
    return gpus


def _query(host: Live) -> list[dict[str, Any]] | None:
    """Ask for all at once; when one board spoils the answer, ask for each by its PCI address."""
    argv = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        result = host.execute(argv, timeout=TIMEOUT)
    except FileNotFoundError:
        return None
    if result.rc == 6 or (result.rc == 0 and "No devices" in result.out):
        return []
    if result.rc == 0:
        return [_parsed(line) for line in result.out.splitlines() if line.strip()]
    buses = _on_bus()
    found = []
    for bus in buses if result.rc in (15, 255) else ():
        one = host.execute([*argv, "-i", bus], timeout=TIMEOUT)
        words = one.out.strip()
        found.append(_parsed(words) if one.rc == 0 and words else {"uuid": "", "name": "", "bus": bus, "error": words})
    if not found:
        raise Fail(f"nvidia-smi fails: {result.out.strip() or result.err.strip()}", rc=result.rc)
    return found


def _on_bus() -> list[str]:
    """PCI addresses of NVIDIA's display and 3D controllers, from sysfs."""
    import os

    base = "/sys/bus/pci/devices"
    found = []
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else ():
        try:
            with open(f"{base}/{name}/vendor", encoding="ascii") as file:
                vendor = file.read().strip()
            with open(f"{base}/{name}/class", encoding="ascii") as file:
                kind = file.read().strip()
        except OSError:
            continue
        if vendor == "0x10de" and kind.startswith(("0x0300", "0x0302")):
            found.append(name)
    return found


def _parsed(line: str) -> dict[str, Any]:
    said = dict(zip(FIELDS, line.split(", ")))
    gpu: dict[str, Any] = {"uuid": said["uuid"], "name": said["name"], "bus": said["pci.bus_id"], "driver": said["driver_version"]}
    gpu["persistence_mode"] = _flag(said["persistence_mode"])
    gpu["power_limit"], gpu["power_default"], gpu["power_min"], gpu["power_max"] = (
        _watts(said[f"power.{name}"]) for name in ("limit", "default_limit", "min_limit", "max_limit")
    )
    gpu["compute_mode"] = said["compute_mode"].lower() if said["compute_mode"] in COMPUTE else UNSUPPORTED
    for name in ("ecc", "mig"):
        gpu[f"{name}_current"] = _flag(said[f"{name}.mode.current"])
        gpu[name] = _flag(said[f"{name}.mode.pending"])
    return gpu


def _flag(text: str) -> Any:
    return {"Enabled": True, "Disabled": False}.get(text.strip(), UNSUPPORTED if text.strip() in MISSING else text.strip())


def _watts(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return UNSUPPORTED if text.strip() in MISSING else text.strip()


def _locks(host: Live) -> dict[str, Any]:  # noqa: ARG001 - kept beside the other readings of the host
    import json

    try:
        with open(LOCKS, encoding="ascii") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return {}
    return found


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:
    """Set one thing on one board, and read it back."""
    uuid, _, setting = key.partition("/")
    bus = str(options["bus"])
    flags = {"persistence_mode": "-pm", "power_limit": "-pl", "compute_mode": "-c", "ecc": "-e", "mig": "-mig", "clocks": "-lgc"}
    if setting == "clocks" and value is None:
        words = ["-rgc"]
    elif setting == "compute_mode":
        words = ["-c", str({name.lower(): number for name, number in COMPUTE.items()}[value])]
    elif isinstance(value, bool):
        words = [flags[setting], str(int(value))]
    else:
        words = [flags[setting], f"{value:g}" if isinstance(value, float) else str(value)]
    result = host.execute(["nvidia-smi", "-i", bus, *words], timeout=TIMEOUT)
    _seen.clear()
    said = result.out.strip()
    if "not supported" in said.lower():
        raise Fail(f"GPU {bus} does not support {setting.replace('_', ' ')}: {said.splitlines()[0]}", rc=result.rc, unsupported=True)
    if result.rc:
        raise Fail(f"nvidia-smi refuses {setting.replace('_', ' ')} {value} for GPU {bus}: {said}", rc=result.rc)
    if setting == "clocks":
        _remember(host, uuid, value)
        return
    now = read(host, key)
    near = isinstance(now, float) and isinstance(value, (int, float)) and abs(now - value) <= 1.0
    if now != value and not near:
        raise Fail(f"nvidia-smi says {said.splitlines()[0] if said else 'nothing'}, but GPU {bus} shows {setting} {now}, not {value}")


def _remember(host: Live, uuid: str, value: Any) -> None:
    import json
    import os

    locks = {**_locks(host), uuid: value}
    temporary = f"{LOCKS}.{os.getpid()}"
    with open(temporary, "w", encoding="ascii") as file:
        json.dump({key: each for key, each in locks.items() if each is not None}, file)
    os.rename(temporary, LOCKS)
