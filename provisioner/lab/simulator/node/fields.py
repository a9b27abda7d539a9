"""The ``--query-…`` switches: fields by driver branch, their spellings and units, and the CSV they give."""

from __future__ import annotations

import time

from .gpu import COMPUTE_MODES, Gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .smi import Session

    Getter = Callable[[Session, Gpu], "str | int | float | None"]

DEPRECATED = "Requested functionality has been deprecated"


class Field:
    """One column. ``bare`` ones print N/A without brackets where the value is missing."""

    def __init__(
        self,
        names: str,
        get: Getter,
        unit: str = "",
        *,
        since: int = 0,
        deprecated: int | None = None,
        bare: bool = False,
    ) -> None:
        self.name, *self.aliases = names.split()
        self.get = get
        self.unit = unit
        self.since = since
        self.deprecated = deprecated
        self.bare = bare

    def value(self, session: Session, gpu: Gpu, *, units: bool) -> str:
        """The cell as it is printed."""
        if self.deprecated is not None and session.branch >= self.deprecated:
            return f"[{DEPRECATED}]"
        value = self.get(session, gpu)
        if value is None:
            if self.bare:
                return "N/A"
            return "[N/A]" if session.branch >= 495 else "[Not Supported]"
        text = f"{value:.2f}" if isinstance(value, float) else str(value)
        return f"{text} {self.unit}" if units and self.unit else text


def on(value: object) -> str:
    """The word for a switch."""
    return "Enabled" if value else "Disabled"


def _active(bit: int) -> Getter:
    return lambda _session, gpu: "Active" if gpu.clock_reasons & bit else "Not Active"


def _constant(value: str | None) -> Getter:
    return lambda _session, _gpu: value


def _ecc(kind: str, since: str, place: str) -> Getter:
    """Errors are simulated in DRAM; the other places count zero."""

    def get(_session: Session, gpu: Gpu) -> int | None:
        errors = gpu.errors(kind, since)
        if errors is None or place in ("device_memory", "dram", "total"):
            return errors
        return 0

    return get


def _pages(key: str) -> Getter:
    def get(_session: Session, gpu: Gpu) -> str | int | None:
        if not gpu.board.page_retirement:
            return None
        return "No" if key == "pending" else (int(gpu.kept["uncorrected"]) if key == "double" else 0)

    return get


def _application_clock(position: int, *, default: bool) -> Getter:
    def get(_session: Session, gpu: Gpu) -> int | None:
        clocks = gpu.board.application_clocks if default else gpu.application_clocks
        return clocks[position] if clocks else None

    return get


def _remapped(key: str) -> Getter:
    def get(session: Session, gpu: Gpu) -> str | int | None:
        if not gpu.board.row_remapping:
            return None
        corrected, uncorrected = gpu.kept["remapped"]
        values = {
            "correctable": corrected,
            "uncorrectable": uncorrected,
            "pending": bool(gpu.kept["remap_pending"]),
            "failure": bool(gpu.kept.get("remap_failure")),
        }
        value = values[key]
        if isinstance(value, bool):
            return ("Yes" if value else "No") if session.branch >= 590 else int(value)
        return int(value)

    return get


def timestamp() -> str:
    """``2026/12/01 02:28:23.235``."""
    now = time.time()
    return f"{time.strftime('%Y/%m/%d %H:%M:%S', time.localtime(now))}.{int(now % 1 * 1000):03d}"


def addressing(session: Session, gpu: Gpu) -> str:
    """Heterogeneous memory needs the open module and a branch that has it."""
    module = session.machine.module
    return "HMM" if module and module["open"] and session.branch >= 545 and gpu.board.open_modules else "None"


def fabric_state(gpu: Gpu) -> tuple[str, str] | None:
    """State and status, on boards behind NVSwitches."""
    if not gpu.board.fabric:
        return None
    state = str(gpu.live["readings"].get("fabric", "Completed"))
    return state, "Success" if state == "Completed" else "N/A"


def _fabric(position: int) -> Getter:
    def get(_session: Session, gpu: Gpu) -> str | None:
        state = fabric_state(gpu)
        return state[position] if state else None

    return get


def gsp(session: Session, gpu: Gpu) -> bool:
    """Whether the board's system processor runs the driver's firmware: always under the open module, else where it is the default."""
    module = session.machine.module
    return gpu.board.gsp or bool(module and module["open"])


def recovery_action(gpu: Gpu) -> str:
    """What the driver recommends."""
    return "Reset" if gpu.kept["remap_pending"] else "None"


_ECC_PLACES = ("device_memory", "dram", "register_file", "l1_cache", "l2_cache", "texture_memory", "cbu", "sram", "total")
_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sw_thermal_slowdown",
    "sync_boost",
)
_REASON_BITS = dict(zip(_REASONS, (0x1, 0x2, 0x4, 0x8, 0x40, 0x80, 0x20, 0x10)))


def _reason_names(name: str) -> str:
    return f"clocks_event_reasons.{name} clocks_throttle_reasons.{name}"


GPU_FIELDS: tuple[Field, ...] = (
    Field("timestamp", lambda _s, _g: timestamp()),
    Field("driver_version", lambda s, _g: s.version),
    Field("kmd_version", lambda s, _g: s.version, since=580),
    Field("vgpu_driver_capability.heterogenous_multivGPU", _constant(None)),
    Field("count", lambda s, _g: len(s.machine.attached())),
    Field("name gpu_name", lambda _s, g: g.board.name),
    Field("serial gpu_serial", lambda _s, g: g.serial if g.board.brand != "GeForce" else None),
    Field("uuid gpu_uuid", lambda _s, g: g.uuid),
    Field("pci.bus_id gpu_bus_id", lambda _s, g: g.bus_id),
    Field("pci.domain", lambda _s, g: f"0x{g.address[0:4].upper()}"),
    Field("pci.bus", lambda _s, g: f"0x{g.address[5:7].upper()}"),
    Field("pci.device", lambda _s, g: f"0x{g.address[8:10].upper()}"),
    Field("pci.base_class", lambda _s, g: f"0x{g.board.pci_class >> 16:X}", since=550),
    Field("pci.sub_class", lambda _s, g: f"0x{g.board.pci_class >> 8 & 0xFF:X}", since=550),
    Field("pci.device_id", lambda _s, g: f"0x{g.board.device_id:04X}10DE"),
    Field("pci.sub_device_id", lambda _s, g: f"0x{g.board.subsystem_id:04X}10DE"),
    Field("vgpu_device_capability.fractional_multiVgpu", _constant(None)),
    Field("vgpu_device_capability.heterogeneous_timeSlice_profile", _constant(None)),
    Field("vgpu_device_capability.heterogeneous_timeSlice_sizes", _constant(None)),
    Field("pcie.link.gen.current", lambda _s, g: g.link[0]),
    Field("pcie.link.gen.gpucurrent", lambda _s, g: g.link[0]),
    Field("pcie.link.gen.max", lambda _s, g: g.board.link_generation),
    Field("pcie.link.gen.gpumax", lambda _s, g: g.board.link_generation),
    Field("pcie.link.gen.hostmax", lambda _s, g: g.board.link_generation),
    Field("pcie.link.width.current", lambda _s, g: g.link[1]),
    Field("pcie.link.width.max", lambda _s, g: g.board.link_width),
    Field("index", lambda _s, g: g.index),
    Field("display_mode", _constant("Disabled"), deprecated=580),
    Field("display_attached", _constant("No"), since=580),
    Field("display_active", _constant("Disabled")),
    Field("persistence_mode", lambda _s, g: on(g.live["persistence"])),
    Field("addressing_mode", addressing),
    Field("accounting.mode", _constant("Disabled")),
    Field("accounting.buffer_size", _constant("4000")),
    Field("driver_model.current", _constant(None)),
    Field("driver_model.pending", _constant(None)),
    Field("vbios_version", lambda _s, g: g.board.vbios),
    Field("inforom.img inforom.image", lambda _s, g: g.board.inforom[0]),
    Field("inforom.oem", lambda _s, g: g.board.inforom[1]),
    Field("inforom.ecc", lambda _s, g: g.board.inforom[2]),
    Field("inforom.pwr inforom.power", _constant(None), bare=True),
    Field("reset_status.reset_required", lambda _s, g: "Yes" if g.kept["remap_pending"] else "No", deprecated=570),
    Field("reset_status.drain_and_reset_recommended", _constant("No"), deprecated=570),
    Field("gpu_recovery_action", lambda _s, g: recovery_action(g), since=570),
    Field("gom.current gpu_operation_mode.current", _constant(None)),
    Field("gom.pending gpu_operation_mode.pending", _constant(None)),
    Field("fan.speed", lambda _s, g: g.fan, "%"),
    Field("pstate", lambda _s, g: g.pstate),
    Field(_reason_names("supported"), _constant("0x00000000000001FF")),
    Field(_reason_names("active"), lambda _s, g: f"0x{g.clock_reasons:016X}"),
    *(Field(_reason_names(name), _active(_REASON_BITS[name])) for name in _REASONS),
    *(
        Field(f"clocks_event_reasons_counters.{name}", _constant("0"), "us", since=580)
        for name in ("sw_power_cap", "sw_thermal_slowdown", "sync_boost", "hw_thermal_slowdown", "hw_power_brake_slowdown")
    ),
    Field("memory.total", lambda _s, g: g.board.memory, "MiB"),
    Field("memory.reserved", lambda _s, g: g.board.memory_reserved, "MiB"),
    Field("memory.used", lambda _s, g: g.memory_used, "MiB"),
    Field("memory.free", lambda _s, g: g.board.memory - g.board.memory_reserved - g.memory_used, "MiB"),
    Field("compute_mode", lambda _s, g: COMPUTE_MODES[g.live["compute_mode"]]),
    Field("compute_cap", lambda _s, g: g.board.compute_capability),
    # Under MIG no whole-GPU utilisation exists.
    Field("utilization.gpu", lambda _s, g: None if g.live["mig"] else g.utilization, "%"),
    Field("utilization.memory", lambda _s, g: None if g.live["mig"] else g.utilization // 3, "%"),
    *(Field(f"utilization.{engine}", lambda _s, g: None if g.live["mig"] else 0, "%") for engine in ("encoder", "decoder", "jpeg", "ofa")),
    *(Field(f"encoder.stats.{name}", _constant("0")) for name in ("sessionCount", "averageFps", "averageLatency")),
    Field("dram_encryption.mode.current", _constant(None), since=570),
    Field("dram_encryption.mode.pending", _constant(None), since=570),
    Field("ecc.mode.current", lambda _s, g: on(g.live["ecc"]) if g.board.ecc else None),
    Field("ecc.mode.pending", lambda _s, g: on(g.kept["ecc"]) if g.board.ecc else None),
    *(
        Field(f"ecc.errors.{kind}.{since}.{place}", _ecc(kind, since, place))
        for kind in ("corrected", "uncorrected")
        for since in ("volatile", "aggregate")
        for place in _ECC_PLACES
    ),
    Field("retired_pages.single_bit_ecc.count retired_pages.sbe", _pages("single")),
    Field("retired_pages.double_bit.count retired_pages.dbe", _pages("double")),
    Field("retired_pages.pending", _pages("pending")),
    *(Field(f"remapped_rows.{key}", _remapped(key), since=590) for key in ("correctable", "uncorrectable", "pending", "failure")),
    Field("temperature.gpu", lambda _s, g: g.temperature),
    Field("temperature.gpu.tlimit", lambda _s, g: g.temperature_to_limit),
    Field("temperature.memory", lambda _s, g: g.memory_temperature, bare=True),
    Field("power.management", _constant("Enabled")),
    Field("power.draw", lambda _s, g: g.power_draw, "W"),
    Field("power.draw.average", lambda _s, g: g.power_draw if g.board.relative_thresholds else None, "W"),
    Field("power.draw.instant", lambda _s, g: g.power_draw, "W"),
    Field("power.limit", lambda _s, g: g.power_limit, "W"),
    Field("enforced.power.limit", lambda _s, g: g.enforced_power_limit, "W"),
    Field("power.default_limit", lambda _s, g: float(g.board.power[1]), "W"),
    Field("power.min_limit", lambda _s, g: float(g.board.power[0]), "W"),
    Field("power.max_limit", lambda _s, g: float(g.board.power[2]), "W"),
    *(
        Field(f"module.power.{name}", _constant(None), "W", since=570)
        for name in ("draw.average", "draw.instant", "limit", "default_limit", "min_limit", "max_limit")
    ),
    Field("module.enforced.power.limit", _constant(None), "W", since=570),
    Field("clocks.current.graphics clocks.gr", lambda _s, g: g.clocks[0], "MHz"),
    Field("clocks.current.sm clocks.sm", lambda _s, g: g.clocks[0], "MHz"),
    Field("clocks.current.memory clocks.mem", lambda _s, g: g.clocks[1], "MHz"),
    Field("clocks.current.video clocks.video", lambda _s, g: g.clocks[2], "MHz"),
    Field("clocks.applications.graphics clocks.applications.gr", _application_clock(1, default=False), "MHz", deprecated=590),
    Field("clocks.applications.memory clocks.applications.mem", _application_clock(0, default=False), "MHz", deprecated=590),
    Field(
        "clocks.default_applications.graphics clocks.default_applications.gr", _application_clock(1, default=True), "MHz", deprecated=590
    ),
    Field("clocks.default_applications.memory clocks.default_applications.mem", _application_clock(0, default=True), "MHz", deprecated=590),
    Field("clocks.max.graphics clocks.max.gr", lambda _s, g: g.board.clocks_max[0], "MHz"),
    Field("clocks.max.sm", lambda _s, g: g.board.clocks_max[0], "MHz"),
    Field("clocks.max.memory clocks.max.mem", lambda _s, g: g.board.clocks_max[1], "MHz"),
    Field("mig.mode.current", lambda _s, g: on(g.live["mig"]) if g.board.mig else None),
    Field("mig.mode.pending", lambda _s, g: on(g.kept["mig"]) if g.board.mig else None),
    Field("gsp.mode.current", lambda s, g: on(gsp(s, g)) if g.board.architecture != "Volta" else None),
    Field("gsp.mode.default", lambda s, g: on(gsp(s, g)) if g.board.architecture != "Volta" else None),
    Field("c2c.mode", _constant(None), since=570),
    Field("protected_memory.total", _constant(None), "MiB"),
    Field("protected_memory.used", _constant(None), "MiB"),
    Field("protected_memory.free", _constant(None), "MiB"),
    Field("fabric.state", _fabric(0), bare=True),
    Field("fabric.status", _fabric(1), bare=True),
    Field("fabric.cliqueId", _constant(None), since=570, bare=True),
    Field("fabric.clusterUuid", _constant(None), since=570, bare=True),
    *(
        Field(f"fabric.health.{name}", _constant(None), since=since, bare=True)
        for name, since in (("bandwidth", 570), ("route_recovery_in_progress", 570), ("route_unhealthy", 570), ("summary", 580))
    ),
)

_COMMON = (
    Field("timestamp", lambda _s, _g: timestamp()),
    Field("gpu_name", lambda _s, g: g.board.name),
    Field("gpu_bus_id", lambda _s, g: g.bus_id),
    Field("gpu_serial", lambda _s, g: g.serial),
    Field("gpu_uuid", lambda _s, g: g.uuid),
)
REMAPPED_FIELDS = (
    *_COMMON,
    *(Field(f"remapped_rows.{key}", _remapped(key)) for key in ("correctable", "uncorrectable", "pending", "failure")),
)
# Values of a process come from the entry that query() puts in the getter's place.
APPLICATION_FIELDS = (
    *_COMMON,
    Field("pid", _constant(None)),
    Field("process_name name", _constant(None)),
    Field("used_gpu_memory used_memory", _constant(None), "MiB"),
)

TABLES: Mapping[str, Sequence[Field]] = {
    "--query-gpu": GPU_FIELDS,
    "--query-compute-apps": APPLICATION_FIELDS,
    "--query-remapped-rows": REMAPPED_FIELDS,
}


def known(switch: str, branch: int) -> dict[str, Field]:
    """Every spelling that a branch accepts for a switch."""
    return {name: field for field in TABLES[switch] if field.since <= branch for name in (field.name, *field.aliases)}


def describe(switch: str, branch: int) -> str:
    """The text of ``--help-query-…``: one paragraph a field. The explanations are ours."""
    lines = [f'List of valid properties to query for the switch "{switch}":', ""]
    for field in TABLES[switch]:
        if field.since <= branch:
            lines.append(" or ".join(f'"{name}"' for name in (field.name, *field.aliases)))
            lines += [f"Simulated{f', in {field.unit}' if field.unit else ''}.", ""]
    return "\n".join(lines) + "\n"


def query(session: Session, options: Mapping[str, str]) -> int:
    """Answer one query switch as CSV; the exit code."""
    from .smi import INVALID, Failure

    switches = [switch for switch in TABLES if switch in options]
    if len(switches) > 1:
        raise Failure("Only one --query-* switch can be used at a time.\n", INVALID)
    switch = switches[0]
    names = known(switch, session.branch)
    fields = []
    for name in options[switch].split(","):
        if name not in names:
            raise Failure(f'Field "{name}" is not a valid field to query.\n\n', INVALID)
        fields.append(names[name])
    if "--format" not in options:
        raise Failure("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n\n", INVALID)
    modifiers = options["--format"].split(",")
    if any(modifier not in ("csv", "noheader", "nounits") for modifier in modifiers):
        raise Failure("Format modifier is not recognized.\n", INVALID)
    if "csv" not in modifiers:
        raise Failure("Format modifier --format=csv is mandatory.\n", INVALID)
    units = "nounits" not in modifiers
    gpus = session.select(options.get("--id"))
    if "noheader" not in modifiers:
        session.say(", ".join(f"{field.name} [{field.unit}]" if units and field.unit else field.name for field in fields))
    for gpu in gpus:
        if switch == "--query-compute-apps":
            for client in gpu.live["clients"]:
                session.say(", ".join(_of_client(field, session, gpu, client, units=units) for field in fields))
        else:
            session.say(", ".join(field.value(session, gpu, units=units) for field in fields))
    return 0


def _of_client(field: Field, session: Session, gpu: Gpu, client: Mapping[str, object], *, units: bool) -> str:
    key = {"pid": "pid", "process_name": "name", "used_gpu_memory": "memory"}.get(field.name)
    if key is None:
        return field.value(session, gpu, units=units)
    return f"{client[key]} {field.unit}" if units and field.unit else str(client[key])
