"""The sections of the long report, in the order of the real program and with the driver branches that have them."""

from __future__ import annotations

from . import fields
from .document import BLOCK, Generated, Line, Section
from .gpu import COMPUTE_MODES, Gpu
from .values import errors, field, gsp, of, retired, until, with_ecc, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .smi import Session


def _ecc(since: str) -> tuple[Line, ...]:
    return (
        Line("SRAM Correctable", "sram_correctable", with_ecc("0")),
        Line("SRAM Uncorrectable Parity", "sram_uncorrectable_parity", with_ecc("0")),
        Line("SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", with_ecc("0")),
        Line("DRAM Correctable", "dram_correctable", errors("corrected", since)),
        Line("DRAM Uncorrectable", "dram_uncorrectable", errors("uncorrected", since)),
    )


def _reasons(kind: str, tag: str, *, since: int, until: int) -> Section:
    names = (
        ("Idle", "gpu_idle"),
        ("Applications Clocks Setting", "applications_clocks_setting"),
        ("SW Power Cap", "sw_power_cap"),
        ("HW Slowdown", "hw_slowdown"),
        ("    HW Thermal Slowdown", "hw_thermal_slowdown"),
        ("    HW Power Brake Slowdown", "hw_power_brake_slowdown"),
        ("Sync Boost", "sync_boost"),
        ("SW Thermal Slowdown", "sw_thermal_slowdown"),
    )
    lines = [Line(label, f"{tag}_{name}", field(f"clocks_event_reasons.{name}")) for label, name in names]
    last = Line("Display Clock Setting", f"{tag}_display_clocks_setting", "Not Active")
    return Section(f"Clocks {kind} Reasons", f"{tag}s", *lines, last, since=since, until=until)


def _temperature(_session: Session, gpu: Gpu) -> Sequence[Line]:
    """Absolute thresholds, or on newer boards ones relative to the limit under other names."""
    relative = gpu.board.relative_thresholds
    word, tag = (" T.Limit", "_tlimit") if relative else ("", "")
    to_limit = gpu.temperature_to_limit
    memory = None if not gpu.board.memory_sensor else (0 if relative else 95)
    names = (("Shutdown", "max"), ("Slowdown", "slow"), ("Max Operating", "max_gpu"))
    return [
        Line("GPU Current Temp", "gpu_temp", f"{gpu.temperature} C"),
        Line("GPU T.Limit Temp", "gpu_temp_tlimit", "N/A" if to_limit is None else f"{to_limit} C"),
        *(
            Line(f"GPU {label}{word} Temp", f"gpu_temp_{short}{tag}_threshold", f"{degrees} C")
            for (label, short), degrees in zip(names, gpu.board.thresholds)
        ),
        Line("GPU Target Temperature", "gpu_target_temperature"),
        Line("Memory Current Temp", "memory_temp", of(lambda gpu: gpu.memory_temperature, " C")),
        Line(f"Memory Max Operating{word} Temp", f"gpu_temp_max_mem{tag}_threshold", "N/A" if memory is None else f"{memory} C"),
    ]


def _processes(_session: Session, gpu: Gpu) -> Sequence[Line]:
    return [
        Section(
            "",
            "process_info",
            Line("GPU instance ID", "gpu_instance_id"),
            Line("Compute instance ID", "compute_instance_id"),
            Line("Process ID", "pid", str(client["pid"])),
            Line("    Type", "type", "C"),
            Line("    Name", "process_name", str(client["name"])),
            Line("    Used GPU Memory", "used_memory", f"{client['memory']} MiB"),
        )
        for client in gpu.live["clients"]
    ]


def _supported_clocks(_session: Session, gpu: Gpu) -> Sequence[Line] | None:
    board = gpu.board
    if board.application_clocks is None:
        return None
    steps = (f"{clock} MHz" for clock in range(board.clocks_max[0], board.clocks_idle[0] - 1, -board.clock_step))
    graphics = (Line("    Graphics", "supported_graphics_clock", step) for step in steps)
    return [Section("", "supported_mem_clock", Line("Memory", "value", f"{board.clocks_max[1]} MHz"), *graphics)]


_DRAW = (
    Line("Power Draw", "power_draw", of(lambda gpu: gpu.power_draw, " W"), until=549),
    Line("Average Power Draw", "average_power_draw", field("power.draw.average"), since=550),
    Line("Instantaneous Power Draw", "instant_power_draw", of(lambda gpu: gpu.power_draw, " W"), since=550),
)
_NO_DRAW = (
    Line("Power Draw", "power_draw", until=549),
    Line("Average Power Draw", "average_power_draw", since=550),
    Line("Instantaneous Power Draw", "instant_power_draw", since=550),
)
_LIMITS = tuple(
    Line(label, tag, field(name))
    for label, tag, name in (
        ("Current Power Limit", "current_power_limit", "enforced.power.limit"),
        ("Requested Power Limit", "requested_power_limit", "power.limit"),
        ("Default Power Limit", "default_power_limit", "power.default_limit"),
        ("Min Power Limit", "min_power_limit", "power.min_limit"),
        ("Max Power Limit", "max_power_limit", "power.max_limit"),
    )
)
_POWER_STATE = Line("", "power_state", until(590, of(lambda gpu: gpu.pstate)))
_OLD_POWER = Section(
    "Power Readings",
    "power_readings",
    Line("", "power_state", of(lambda gpu: gpu.pstate)),
    Line("Power Management", "power_management", "Supported"),
    Line("Power Draw", "power_draw", of(lambda gpu: gpu.power_draw, " W")),
    Line("Power Limit", "power_limit", field("power.limit")),
    Line("Default Power Limit", "default_power_limit", field("power.default_limit")),
    Line("Enforced Power Limit", "enforced_power_limit", field("enforced.power.limit")),
    Line("Min Power Limit", "min_power_limit", field("power.min_limit")),
    Line("Max Power Limit", "max_power_limit", field("power.max_limit")),
    until=534,
)
_UTILIZATION = tuple(
    Line(name.upper() if len(name) < 5 and name != "gpu" else name.capitalize(), f"{name}_util", field(f"utilization.{name}"))
    for name in ("gpu", "memory", "encoder", "decoder", "jpeg", "ofa")
)
_STATISTICS = (
    Line("Active Sessions", "session_count", "0"),
    Line("Average FPS", "average_fps", "0"),
    Line("Average Latency", "average_latency", "0"),
)
_BANKS = (
    Line("Max", "row_remapper_histogram_max", of(lambda gpu: gpu.board.remap_banks, " bank(s)")),
    *(Line(kind.capitalize(), f"row_remapper_histogram_{kind}", "0 bank(s)") for kind in ("high", "partial", "low", "none")),
)
_COUNTERS = tuple(
    Line(label, f"clocks_event_reasons_counters_{tag}", "0 us")
    for label, tag in (
        ("SW Power Capping", "sw_power_cap"),
        ("Sync Boost", "sync_boost"),
        ("SW Thermal Slowdown", "sw_therm_slowdown"),
        ("HW Thermal Slowdown", "hw_therm_slowdown"),
        ("HW Power Braking", "hw_power_brake"),
    )
)

_IDENTITY = (
    Line("Product Name", "product_name", of(lambda gpu: gpu.board.name)),
    Line("Product Brand", "product_brand", of(lambda gpu: gpu.board.brand)),
    Line("Product Architecture", "product_architecture", of(lambda gpu: gpu.board.architecture)),
    Line("Display Mode", "display_mode", until(580, "Disabled")),
    Line("Display Attached", "display_attached", "No", since=580),
    Line("Display Active", "display_active", "Disabled"),
    Line("Persistence Mode", "persistence_mode", field("persistence_mode")),
    Line("Addressing Mode", "addressing_mode", field("addressing_mode"), since=535),
    Section(
        "MIG Mode",
        "mig_mode",
        Line("Current", "current_mig", field("mig.mode.current")),
        Line("Pending", "pending_mig", field("mig.mode.pending")),
    ),
    Line("", "mig_devices", f"{BLOCK}None"),
    Line("Accounting Mode", "accounting_mode", "Disabled"),
    Line("Accounting Mode Buffer Size", "accounting_mode_buffer_size", "4000"),
    Section("Driver Model", "driver_model", Line("Current", "current_dm"), Line("Pending", "pending_dm")),
    Line("Serial Number", "serial", field("serial")),
    Line("GPU UUID", "uuid", of(lambda gpu: gpu.uuid)),
    Line("GPU PDI", "pdi", of(lambda gpu: f"0x{gpu.uuid.replace('-', '')[3:19]}"), since=580),
    Line("Minor Number", "minor_number", of(lambda gpu: gpu.minor)),
    Line("VBIOS Version", "vbios_version", of(lambda gpu: gpu.board.vbios)),
    Line("MultiGPU Board", "multigpu_board", "No"),
    Line("Board ID", "board_id", of(lambda gpu: f"0x{int(gpu.address[5:7], 16) << 8 | int(gpu.address[8:10], 16):x}")),
    Line("Board Part Number", "board_part_number", of(lambda gpu: gpu.board.part_number)),
    Line("GPU Part Number", "gpu_part_number", of(lambda gpu: f"{gpu.board.device_id:04X}-886-A1")),
    Line("FRU Part Number", "gpu_fru_part_number"),
    Line("Module ID", "gpu_module_id", of(lambda gpu: gpu.index + 1), until=569),
    Section(
        "Platform Info",
        "platformInfo",
        Line("Chassis Serial Number", "chassis_serial_number"),
        Line("Slot Number", "slot_number"),
        Line("Tray Index", "tray_index"),
        Line("Host ID", "host_id"),
        Line("Peer Type", "peer_type"),
        Line("Module Id", "module_id", of(lambda gpu: gpu.index + 1)),
        Line("GPU Fabric GUID", "gpu_fabric_guid"),
        since=570,
    ),
    Section(
        "Inforom Version",
        "inforom_version",
        Line("Image Version", "img_version", of(lambda gpu: gpu.board.inforom[0])),
        Line("OEM Object", "oem_object", of(lambda gpu: gpu.board.inforom[1])),
        Line("ECC Object", "ecc_object", of(lambda gpu: gpu.board.inforom[2])),
        Line("Power Management Object", "pwr_object"),
    ),
    Section(
        "Inforom BBX Object Flush",
        "inforom_bbx_flush",
        Line("Latest Timestamp", "latest_timestamp"),
        Line("Latest Duration", "latest_duration"),
    ),
    Section("GPU Operation Mode", "gpu_operation_mode", Line("Current", "current_gom"), Line("Pending", "pending_gom")),
    Line("GPU C2C Mode", "c2c_mode", since=550),
    Line("GSP Firmware Version", "gsp_firmware_version", gsp, until=549),
    Section(
        "GPU Virtualization Mode",
        "gpu_virtualization_mode",
        Line("Virtualization Mode", "virtualization_mode", "None"),
        Line("Host VGPU Mode", "host_vgpu_mode"),
        Line("vGPU Heterogeneous Mode", "vgpu_heterogeneous_mode", since=550),
    ),
    Section(
        "GPU Reset Status",
        "gpu_reset_status",
        Line("Reset Required", "reset_required", until(570, yes("remap_pending"))),
        Line("Drain and Reset Recommended", "drain_and_reset_recommended", until(570, "No")),
        since=535,
        until=579,
    ),
    Line("GPU Recovery Action", "gpu_recovery_action", of(fields.recovery_action), since=570),
    Line("GSP Firmware Version", "gsp_firmware_version", gsp, since=550),
    Section("IBMNPU", "ibmnpu", Line("Relaxed Ordering Mode", "relaxed_ordering_mode")),
)

_PCI = Section(
    "PCI",
    "pci",
    Line("Bus", "", field("pci.bus")),
    Line("", "pci_bus", of(lambda gpu: gpu.address[5:7].upper())),
    Line("Device", "", field("pci.device")),
    Line("", "pci_device", of(lambda gpu: gpu.address[8:10].upper())),
    Line("Domain", "", field("pci.domain")),
    Line("", "pci_domain", of(lambda gpu: gpu.address[0:4].upper())),
    Line("Base Classcode", "pci_base_class", "3", since=550),
    Line("Sub Classcode", "pci_sub_class", of(lambda gpu: f"{gpu.board.pci_class >> 8 & 0xFF:X}"), since=550),
    Line("Device Id", "", field("pci.device_id")),
    Line("", "pci_device_id", of(lambda gpu: f"{gpu.board.device_id:04X}10DE")),
    Line("Bus Id", "pci_bus_id", of(lambda gpu: gpu.bus_id)),
    Line("Sub System Id", "", field("pci.sub_device_id")),
    Line("", "pci_sub_system_id", of(lambda gpu: f"{gpu.board.subsystem_id:04X}10DE")),
    Section(
        "GPU Link Info",
        "pci_gpu_link_info",
        Section(
            "PCIe Generation",
            "pcie_gen",
            Line("Max", "max_link_gen", field("pcie.link.gen.max")),
            Line("Current", "current_link_gen", field("pcie.link.gen.current")),
            Line("Device Current", "device_current_link_gen", field("pcie.link.gen.current")),
            Line("Device Max", "max_device_link_gen", field("pcie.link.gen.max")),
            Line("Host Max", "max_host_link_gen", field("pcie.link.gen.hostmax")),
        ),
        Section(
            "Link Width",
            "link_widths",
            Line("Max", "max_link_width", of(lambda gpu: gpu.board.link_width, "x")),
            Line("Current", "current_link_width", of(lambda gpu: gpu.link[1], "x")),
        ),
    ),
    Section("Bridge Chip", "pci_bridge_chip", Line("Type", "bridge_chip_type"), Line("Firmware", "bridge_chip_fw")),
    Line("Replays Since Reset", "replay_counter", "0"),
    Line("Replay Number Rollovers", "replay_rollover_counter", "0"),
    Line("Tx Throughput", "tx_util", "0 KB/s"),
    Line("Rx Throughput", "rx_util", "0 KB/s"),
    Line("Atomic Caps Inbound", "atomic_caps_inbound", until=569),
    Line("Atomic Caps Outbound", "atomic_caps_outbound"),
    Line("Atomic Caps Inbound", "atomic_caps_inbound", since=570),
)

_ECC = Section(
    "ECC Errors",
    "ecc_errors",
    Section("Volatile", "volatile", *_ecc("volatile")),
    Section("Aggregate", "aggregate", *_ecc("aggregate"), Line("SRAM Threshold Exceeded", "sram_threshold_exceeded", with_ecc("No"))),
    Section(
        "Aggregate Uncorrectable SRAM Sources",
        "aggregate_uncorrectable_sram_sources",
        *(Line(f"SRAM {name}", f"sram_{name.lower()}", with_ecc("0")) for name in ("L2", "SM", "Microcontroller", "PCIE", "Other")),
    ),
    Line("Channel Repair Pending", "channel_repair_pending", with_ecc("No"), since=580),
    Line("TPC Repair Pending", "tpc_repair_pending", with_ecc("No"), since=580),
)

_HEALTH = (
    Section(
        "ECC Mode",
        "ecc_mode",
        Line("Current", "current_ecc", field("ecc.mode.current")),
        Line("Pending", "pending_ecc", field("ecc.mode.pending")),
    ),
    _ECC,
    Section(
        "Retired Pages",
        "retired_pages",
        Line("Single Bit ECC", "", retired("0")),
        Section(
            "", "multiple_single_bit_retirement", Line("", "retired_count", retired("0")), Line("", "retired_pagelist", retired(BLOCK))
        ),
        Line("Double Bit ECC", "", retired("0", double=True)),
        Section(
            "",
            "double_bit_retirement",
            Line("", "retired_count", retired("0", double=True)),
            Line("", "retired_pagelist", retired(BLOCK)),
        ),
        Line("Pending Page Blacklist", "pending_blacklist", retired("No")),
        Line("", "pending_retirement", retired("No")),
    ),
    Section(
        "Remapped Rows",
        "remapped_rows",
        Line("Correctable Error", "remapped_row_corr", of(lambda gpu: gpu.kept["remapped"][0])),
        Line("Uncorrectable Error", "remapped_row_unc", of(lambda gpu: gpu.kept["remapped"][1])),
        Line("Pending", "remapped_row_pending", yes("remap_pending")),
        Line("Remapping Failure Occurred", "remapped_row_failure", yes("remap_failure")),
        Section("Bank Remap Availability Histogram", "row_remapper_histogram", *_BANKS),
        when=lambda _session, gpu: gpu.board.row_remapping and not gpu.live["mig"],
    ),
    Generated("Temperature", "temperature", _temperature),
    Section(
        "Supported GPU_TARGET_TEMP", "supported_gpu_target_temp", Line("Min", "gpu_target_temp_min"), Line("Max", "gpu_target_temp_max")
    ),
)

_POWER = (
    _OLD_POWER,
    Section("GPU Power Readings", "gpu_power_readings", _POWER_STATE, *_DRAW, *_LIMITS, since=535),
    Section(
        "GPU Memory Power Readings",
        "gpu_memory_power_readings",
        Line("Average Power Draw", "average_power_draw"),
        Line("Instantaneous Power Draw", "instant_power_draw"),
        since=550,
    ),
    Section(
        "Module Power Readings",
        "module_power_readings",
        _POWER_STATE,
        *_NO_DRAW,
        *(Line(limit.label, limit.tag) for limit in _LIMITS),
        since=535,
    ),
    Line("Power Smoothing", "power_smoothing", since=570),
    Section(
        "Workload Power Profiles",
        "power_profiles",
        Line("Requested Profiles", "power_profile_requested_profiles"),
        Line("Enforced Profiles", "power_profile_enforced_profiles"),
        since=570,
    ),
    Line("EDPp Multiplier", "edpp_multiplier", since=590),
)


def _clocks(label: str, tag: str, *clocks: tuple[str, str, str]) -> Section:
    return Section(label, tag, *(Line(name, f"{short}_clock", field(query)) for name, short, query in clocks))


_CLOCKS = (
    _clocks(
        "Clocks",
        "clocks",
        ("Graphics", "graphics", "clocks.gr"),
        ("SM", "sm", "clocks.sm"),
        ("Memory", "mem", "clocks.mem"),
        ("Video", "video", "clocks.video"),
    ),
    _clocks(
        "Applications Clocks",
        "applications_clocks",
        ("Graphics", "graphics", "clocks.applications.gr"),
        ("Memory", "mem", "clocks.applications.mem"),
    ),
    _clocks(
        "Default Applications Clocks",
        "default_applications_clocks",
        ("Graphics", "graphics", "clocks.default_applications.gr"),
        ("Memory", "mem", "clocks.default_applications.mem"),
    ),
    Section("Deferred Clocks", "deferred_clocks", Line("Memory", "mem_clock")),
    Section(
        "Max Clocks",
        "max_clocks",
        Line("Graphics", "graphics_clock", field("clocks.max.gr")),
        Line("SM", "sm_clock", field("clocks.max.sm")),
        Line("Memory", "mem_clock", field("clocks.max.mem")),
        Line("Video", "video_clock", of(lambda gpu: gpu.board.clocks_max[2], " MHz")),
    ),
    Section("Max Customer Boost Clocks", "max_customer_boost_clocks", Line("Graphics", "graphics_clock", field("clocks.max.gr"))),
    Section("Clock Policy", "clock_policy", Line("Auto Boost", "auto_boost"), Line("Auto Boost Default", "auto_boost_default")),
    Section("Voltage", "voltage", Line("Graphics", "graphics_volt"), until=579),
)

_FABRIC = Section(
    "Fabric",
    "fabric",
    Line("State", "state", field("fabric.state")),
    Line("Status", "status", field("fabric.status")),
    Line("CliqueId", "cliqueId", since=570),
    Line("ClusterUUID", "clusterUuid", since=570),
    Section(
        "Health",
        "health",
        Line("Summary", "summary", since=580),
        Line("Bandwidth", "bandwidth"),
        Line("Route Recovery in progress", "route_recovery_in_progress"),
        Line("Route Unhealthy", "route_unhealthy"),
        Line("Access Timeout Recovery", "access_timeout_recovery"),
        Line("Incorrect Configuration", "incorrect_configuration", since=580),
        since=570,
    ),
    since=535,
)

SECTIONS: tuple[Line, ...] = (
    *_IDENTITY,
    _PCI,
    Line("Fan Speed", "fan_speed", field("fan.speed")),
    Line("Performance State", "performance_state", field("pstate")),
    _reasons("Throttle", "clocks_throttle_reason", since=0, until=534),
    _reasons("Event", "clocks_event_reason", since=535, until=9999),
    Section("Clocks Event Reasons Counters", "clocks_event_reasons_counters", *_COUNTERS, since=580),
    Line("Sparse Operation Mode", "sparse_operation_mode", of(lambda gpu: gpu.board.sparse), since=535),
    Section(
        "FB Memory Usage",
        "fb_memory_usage",
        Line("Total", "total", field("memory.total")),
        Line("Reserved", "reserved", field("memory.reserved"), since=510),
        Line("Used", "used", field("memory.used")),
        Line("Free", "free", field("memory.free")),
    ),
    Section(
        "BAR1 Memory Usage",
        "bar1_memory_usage",
        Line("Total", "total", of(lambda gpu: gpu.board.bar1, " MiB")),
        Line("Used", "used", "1 MiB"),
        Line("Free", "free", of(lambda gpu: gpu.board.bar1 - 1, " MiB")),
    ),
    Section(
        "Conf Compute Protected Memory Usage",
        "cc_protected_memory_usage",
        Line("Total", "total", "0 MiB"),
        Line("Used", "used", "0 MiB"),
        Line("Free", "free", "0 MiB"),
    ),
    Line("Compute Mode", "compute_mode", of(lambda gpu: COMPUTE_MODES[gpu.live["compute_mode"]])),
    Section("Utilization", "utilization", *_UTILIZATION),
    Section("Encoder Stats", "encoder_stats", *_STATISTICS),
    Section("FBC Stats", "fbc_stats", *_STATISTICS),
    Section(
        "DRAM Encryption Mode",
        "dram_encryption_mode",
        Line("Current", "current_dram_encryption"),
        Line("Pending", "pending_dram_encryption"),
        since=570,
    ),
    *_HEALTH,
    *_POWER,
    *_CLOCKS,
    _FABRIC,
    Generated("Supported Clocks", "supported_clocks", _supported_clocks),
    Generated("Processes", "processes", _processes, empty="None"),
    Line("", "accounted_processes", BLOCK),
    Section("Capabilities", "capabilities", Line("EGM", "egm", "disabled"), since=570),
)
