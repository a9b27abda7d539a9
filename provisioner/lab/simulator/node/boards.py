"""Board models as data: what a GPU of each kind answers when it is healthy and idle.

A model is a class of constants; a family holds what its boards share. Sources are in docs/simulator.md. Units: watts, MiB, MHz, degrees
Celsius. Nothing here changes at run time.
"""

from __future__ import annotations


class Board:
    """Constants of one model; a value of None means that the board does not have the thing and nvidia-smi says N/A."""

    key = ""  # how people name it in a lab file
    name = ""  # as nvidia-smi spells it
    brand = "NVIDIA"
    architecture = ""
    compute_capability = ""
    device_id = 0  # the vendor is always 10de
    subsystem_id = 0
    pci_class = 0x030200  # 3D controller; 0x030000 is a VGA card
    part_number = ""
    vbios = ""
    inforom: tuple[str, str, str] = ("", "", "")  # image, OEM object, ECC object
    first_branch = 450  # the oldest driver branch that knows the board
    last_branch: int | None = None  # the newest one that still does
    open_modules = True  # may run on the open kernel modules
    closed_modules = True  # may run on the proprietary ones

    memory = 0
    memory_reserved = 0
    bar1 = 65536
    memory_sensor = True  # has a temperature of its own

    power: tuple[int, int, int] = (0, 0, 0)  # lowest limit, default, highest limit
    power_settable = True
    idle_power = 0.0  # with persistence mode on and nothing running
    idle_temperature = 30
    thresholds: tuple[int, int, int] = (0, 0, 0)  # shutdown, slowdown, maximum operating
    relative_thresholds = False  # printed as "T.Limit", degrees below the limit, instead of absolute ones
    limit_temperature = 87  # where a relative scale has its zero
    fan: int | None = None  # percent at idle; None for passively cooled boards

    clocks_idle: tuple[int, int, int] = (210, 1215, 585)  # SM, memory, video
    clocks_max: tuple[int, int, int] = (1410, 1215, 1290)
    clock_step = 15
    application_clocks: tuple[int, int] | None = None  # memory, SM by default
    idle_pstate = "P0"
    idle_link_generation: int | None = None  # None: the link keeps its speed when idle
    link_generation = 4
    link_width = 16

    ecc = True  # can be switched on and off
    sparse: str | None = None
    row_remapping = True  # Ampere and later; earlier data-centre boards retire pages
    remap_banks = 640
    page_retirement = False
    mig: str | None = None  # "stored": kept in the InfoROM, needs a reset; "driver": at once, gone after a reboot
    mig_first_branch = 450
    fabric = False  # sits on an NVSwitch fabric
    gsp = True


class Volta(Board):
    architecture, compute_capability = "Volta", "7.0"
    last_branch, open_modules, gsp = 580, False, False
    thresholds, idle_temperature = (90, 87, 83), 35
    row_remapping, page_retirement = False, True
    link_generation = 3


class V100Sxm2(Volta):
    key, name = "V100-SXM2-32GB", "Tesla V100-SXM2-32GB"
    device_id, subsystem_id, part_number = 0x1DB5, 0x1249, "900-2G503-0010-000"
    vbios, inforom = "88.00.80.00.01", ("G503.0203.00.05", "1.1", "5.0")
    memory, memory_reserved, bar1 = 32768, 269, 32768
    power, idle_power = (150, 300, 300), 42.0
    clocks_idle, clocks_max, application_clocks = (135, 877, 555), (1530, 877, 1372), (877, 1290)
    clock_step = 8


class V100Pcie(Volta):
    key, name = "V100-PCIE-16GB", "Tesla V100-PCIE-16GB"
    device_id, subsystem_id, part_number = 0x1DB4, 0x1214, "900-2G500-0000-000"
    vbios, inforom = "88.00.80.00.01", ("G500.0200.00.03", "1.1", "5.0")
    memory, memory_reserved, bar1 = 16384, 224, 16384
    power, idle_power = (100, 250, 250), 25.0
    clocks_idle, clocks_max, application_clocks = (135, 877, 555), (1380, 877, 1237), (877, 1245)
    clock_step = 8


class T4(Board):
    key, name = "T4", "Tesla T4"
    architecture, compute_capability = "Turing", "7.5"
    device_id, subsystem_id, part_number = 0x1EB8, 0x12A2, "900-2G183-A800-001"
    vbios, inforom = "90.04.96.00.02", ("G183.0200.00.02", "1.1", "5.0")
    memory, memory_reserved, bar1, memory_sensor = 15360, 448, 256, False
    power, idle_power, idle_temperature, thresholds = (60, 70, 70), 9.5, 33, (96, 93, 85)
    clocks_idle, clocks_max, application_clocks = (300, 405, 540), (1590, 5001, 1470), (5001, 585)
    idle_pstate, link_generation = "P8", 3
    row_remapping, page_retirement = False, True


class Ampere(Board):
    architecture, compute_capability = "Ampere", "8.0"
    thresholds, idle_temperature = (92, 89, 85), 33
    application_clocks: tuple[int, int] | None = (1215, 1095)
    mig: str | None = "stored"


class A100Sxm40(Ampere):
    key, name = "A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"
    device_id, subsystem_id, part_number = 0x20B0, 0x134F, "692-2G506-0200-003"
    vbios, inforom = "92.00.45.00.03", ("G506.0200.00.04", "2.0", "6.16")
    memory, memory_reserved = 40960, 518
    power, idle_power = (100, 400, 400), 49.68


class A100Sxm80(Ampere):
    key, name = "A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"
    device_id, subsystem_id, part_number = 0x20B2, 0x1463, "692-2G506-0210-002"
    vbios, inforom = "92.00.9E.00.01", ("G506.0210.00.04", "2.0", "6.16")
    memory, memory_reserved, bar1 = 81920, 869, 131072
    power, idle_power = (100, 400, 400), 61.4
    clocks_idle, clocks_max, application_clocks = (210, 1593, 585), (1410, 1593, 1290), (1593, 1155)


class A100Pcie40(Ampere):
    key, name = "A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB"
    device_id, subsystem_id, part_number = 0x20F1, 0x145F, "900-21001-0000-000"
    vbios, inforom = "92.00.25.00.08", ("1001.0200.00.03", "2.0", "6.16")
    memory, memory_reserved = 40960, 624
    power, idle_power, application_clocks = (150, 250, 250), 36.2, (1215, 765)


class A100Pcie80(Ampere):
    key, name = "A100-PCIE-80GB", "NVIDIA A100 80GB PCIe"
    device_id, subsystem_id, part_number = 0x20B5, 0x1533, "900-21001-0020-000"
    vbios, inforom = "92.00.A0.00.05", ("1001.0230.00.03", "2.0", "6.16")
    memory, memory_reserved, bar1 = 81920, 869, 131072
    power, idle_power = (150, 300, 300), 45.1
    clocks_idle, clocks_max, application_clocks = (210, 1512, 585), (1410, 1512, 1290), (1512, 1065)


class A40(Ampere):
    key, name, compute_capability = "A40", "NVIDIA A40", "8.6"
    device_id, subsystem_id, part_number = 0x2235, 0x145A, "900-2G133-0000-000"
    vbios, inforom = "94.02.5C.00.03", ("G133.0200.00.05", "2.0", "6.16")
    memory, memory_reserved, memory_sensor = 46068, 626, False
    power, idle_power, thresholds = (100, 300, 300), 21.6, (98, 95, 88)
    clocks_idle, clocks_max, application_clocks = (210, 405, 555), (1740, 7251, 1530), (7251, 1740)
    idle_pstate, idle_link_generation, remap_banks, mig = "P8", 1, 192, None


class Ada(Board):
    architecture, compute_capability = "Ada Lovelace", "8.9"
    first_branch, relative_thresholds, thresholds = 525, True, (-5, -2, 0)
    memory_sensor, idle_pstate, idle_link_generation, remap_banks = False, "P8", 1, 192


class L4(Ada):
    key, name = "L4", "NVIDIA L4"
    device_id, subsystem_id, part_number = 0x27B8, 0x16CA, "900-2G193-0000-000"
    vbios, inforom = "95.04.29.00.06", ("G193.0200.00.01", "2.1", "6.16")
    memory, memory_reserved, bar1 = 23034, 459, 32768
    power, idle_power, idle_temperature = (40, 72, 72), 16.2, 33
    clocks_idle, clocks_max, application_clocks = (210, 405, 765), (2040, 6251, 1770), (6251, 2040)


class L40S(Ada):
    key, name = "L40S", "NVIDIA L40S"
    device_id, subsystem_id, part_number = 0x26B9, 0x1851, "900-2G133-A880-000"
    vbios, inforom = "95.02.66.00.15", ("G133.0242.00.03", "2.1", "6.16")
    memory, memory_reserved = 46068, 609
    power, idle_power, idle_temperature, limit_temperature = (100, 350, 350), 33.4, 29, 88
    clocks_idle, clocks_max, application_clocks = (210, 405, 1185), (2520, 9001, 1965), (9001, 2520)


class Rtx4090(Ada):
    """A consumer card: no ECC switch, no MIG, no application clocks, a fan, and an outlet for a display."""

    key, name, brand = "RTX-4090", "NVIDIA GeForce RTX 4090", "GeForce"
    device_id, subsystem_id, pci_class, part_number = 0x2684, 0x167C, 0x030000, "N/A"
    vbios, inforom = "95.02.3C.40.4A", ("G002.0000.00.03", "2.0", "6.16")
    memory, memory_reserved, bar1, first_branch = 24564, 362, 32768, 520
    power, idle_power, idle_temperature, limit_temperature, fan = (150, 450, 450), 19.7, 34, 84, 0
    thresholds = (-7, -2, 0)
    clocks_idle, clocks_max = (210, 405, 1185), (3105, 10501, 2415)
    ecc, row_remapping, gsp = False, False, False


class Rtx3090(Ampere):
    key, name, brand, compute_capability = "RTX-3090", "NVIDIA GeForce RTX 3090", "GeForce", "8.6"
    device_id, subsystem_id, pci_class, part_number = 0x2204, 0x1454, 0x030000, "N/A"
    vbios, inforom = "94.02.26.88.08", ("G001.0000.03.03", "2.0", "6.16")
    memory, memory_reserved, bar1, memory_sensor = 24576, 316, 256, False
    power, idle_power, idle_temperature, thresholds, fan = (100, 350, 350), 23.1, 36, (98, 95, 93), 0
    clocks_idle, clocks_max, application_clocks = (210, 405, 1185), (2100, 9751, 1950), None
    idle_pstate, idle_link_generation = "P8", 1
    ecc, row_remapping, gsp, mig = False, False, False, None


class Hopper(Board):
    architecture, compute_capability, first_branch = "Hopper", "9.0", 525
    relative_thresholds, thresholds, idle_temperature, sparse = True, (-8, -2, 0), 29, "Disabled"
    link_generation, remap_banks, bar1 = 5, 2560, 131072
    clocks_idle, clocks_max, application_clocks = (345, 2619, 765), (1980, 2619, 1545), (2619, 1980)
    mig, mig_first_branch = "driver", 525


class H100Sxm(Hopper):
    key, name = "H100-SXM", "NVIDIA H100 80GB HBM3"
    device_id, subsystem_id, part_number = 0x2330, 0x16C1, "692-2G520-0200-000"
    vbios, inforom = "96.00.99.00.01", ("G520.0200.00.05", "2.1", "7.16")
    memory, memory_reserved, fabric = 81559, 480, True
    power, idle_power = (200, 700, 700), 68.92


class H100Pcie(Hopper):
    key, name = "H100-PCIE", "NVIDIA H100 PCIe"
    device_id, subsystem_id, part_number = 0x2331, 0x1626, "900-21010-0000-000"
    vbios, inforom = "96.00.30.00.01", ("1010.0200.00.02", "2.1", "7.16")
    memory, memory_reserved = 81559, 562
    power, idle_power, idle_temperature = (200, 310, 350), 47.4, 34
    clocks_idle, clocks_max, application_clocks = (345, 1593, 765), (1755, 1593, 1365), (1593, 1755)


class H100Nvl(Hopper):
    key, name = "H100-NVL", "NVIDIA H100 NVL"
    device_id, subsystem_id, part_number = 0x2321, 0x1839, "900-21010-0020-000"
    vbios, inforom = "96.00.88.00.11", ("1010.0210.00.06", "2.1", "7.16")
    memory, memory_reserved = 95830, 562
    power, idle_power, idle_temperature = (200, 310, 400), 61.0, 34


class H200Sxm(Hopper):
    key, name, first_branch = "H200-SXM", "NVIDIA H200", 535
    device_id, subsystem_id, part_number = 0x2335, 0x18BE, "692-2G520-0280-000"
    vbios, inforom = "96.00.BC.00.01", ("G520.0280.00.02", "2.1", "7.16")
    memory, memory_reserved, bar1, fabric, mig_first_branch = 143771, 613, 262144, True, 550
    clocks_idle, clocks_max, application_clocks = (345, 3201, 765), (1980, 3201, 1545), (3201, 1980)
    power, idle_power = (200, 700, 700), 76.3


class B200Sxm(Board):
    key, name = "B200", "NVIDIA B200"
    architecture, compute_capability, first_branch, closed_modules = "Blackwell", "10.0", 570, False
    device_id, subsystem_id, part_number = 0x2901, 0x1999, "692-2G525-0220-500"
    vbios, inforom = "97.00.FA.00.09", ("G525.0220.00.03", "2.1", "7.16")
    memory, memory_reserved, bar1, remap_banks = 183359, 728, 262144, 3840
    power, idle_power, idle_temperature = (200, 1000, 1000), 141.2, 30
    relative_thresholds, thresholds, limit_temperature = True, (-5, -3, 0), 88
    clocks_idle, clocks_max, application_clocks = (120, 3996, 600), (1965, 3996, 1965), (3996, 1965)
    link_generation, fabric, mig, mig_first_branch = 5, True, "driver", 570


BOARDS: dict[str, type[Board]] = {
    board.key: board
    for board in (
        V100Sxm2,
        V100Pcie,
        T4,
        A100Sxm40,
        A100Sxm80,
        A100Pcie40,
        A100Pcie80,
        A40,
        L4,
        L40S,
        Rtx4090,
        Rtx3090,
        H100Sxm,
        H100Pcie,
        H100Nvl,
        H200Sxm,
        B200Sxm,
    )
}


def canonical(text: str) -> str:
    """Letters and digits only, in lower case: ``RTX 4090``, ``rtx-4090`` and ``RTX4090`` are one board."""
    return "".join(letter for letter in text.lower() if letter.isalnum())
