"""One GPU: its board, what it remembers without power, what it holds until a reboot, and the readings that follow from them."""

from __future__ import annotations

from .boards import BOARDS
from .packages import branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT, EXCLUSIVE_THREAD, PROHIBITED, EXCLUSIVE_PROCESS = range(4)
COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")

IDLE, APPLICATION_CLOCKS, POWER_CAP, HARDWARE, SYNC_BOOST, SOFTWARE_THERMAL, HARDWARE_THERMAL, POWER_BRAKE, DISPLAY = (
    1 << bit for bit in range(9)
)

FAULTS = {
    # name: (what NVML says when the device is asked for, exit code of nvidia-smi)
    "lost": ("GPU is lost.  Reboot the system to recover this GPU", 15),
    "reset": ("A GPU reset must occur before this GPU can be used again.", 255),
    "unknown": ("Unknown Error", 255),
}


def new_kept() -> dict[str, Any]:
    """A board's non-volatile memory as it leaves the factory. ``ecc`` and ``mig`` are what the next reset makes effective."""
    return {"ecc": True, "mig": False, "corrected": 0, "uncorrected": 0, "remapped": [0, 0], "remap_pending": False}


def new_live() -> dict[str, Any]:
    """A GPU's state right after power on and module load."""
    return {
        "persistence": False,
        "power_limit": None,
        "gpu_clocks": None,
        "memory_clocks": None,
        "application_clocks": None,
        "compute_mode": DEFAULT,
        "ecc": True,
        "mig": False,
        "fault": None,
        "corrected": 0,
        "uncorrected": 0,
        "clients": [],
        "readings": {},
    }


class Gpu:
    """A view on one entry of the hardware file; setters change ``kept`` and ``live`` in place."""

    def __init__(self, index: int, entry: dict[str, Any], kept: dict[str, Any], live: dict[str, Any]) -> None:
        self.index = index
        self.minor = index
        self.board = BOARDS[entry["board"]]
        self.uuid: str = entry["uuid"]
        self.serial: str = entry["serial"]
        self.address: str = entry["bus_id"]  # as the kernel writes it: 0000:07:00.0
        self.kept = kept
        self.live = live

    @property
    def bus_id(self) -> str:
        """As NVML writes it: eight digits of domain, upper case."""
        return f"0000{self.address}".upper()

    @property
    def fault(self) -> str | None:
        """One of FAULTS, or None."""
        fault: str | None = self.live["fault"]
        return fault

    @property
    def on_bus(self) -> bool:
        """False once the board answers no PCI read at all."""
        return not self.kept.get("gone", False)

    def driven_by(self, version: str, *, open_module: bool) -> bool:
        """Whether a driver of that version and kind attaches to the board."""
        number = branch(version)
        if number < self.board.first_branch or (self.board.last_branch is not None and number > self.board.last_branch):
            return False
        return self.board.open_modules if open_module else self.board.closed_modules

    def selected_by(self, word: str) -> bool:
        """Whether ``-i WORD`` means this GPU: index, UUID, serial number or bus id in any of its spellings."""
        if word in (str(self.index), self.uuid, self.serial):
            return True
        parts = word.upper().replace(".", ":").split(":")
        try:
            numbers = [int(part, 16) for part in parts]
        except ValueError:
            return False
        own = [int(part, 16) for part in self.bus_id.replace(".", ":").split(":")]
        return len(numbers) in (3, 4) and (numbers == own or [0, *numbers] == own)

    # What was set

    @property
    def power_limit(self) -> float:
        limit = self.live["power_limit"]
        return float(self.board.power[1] if limit is None else limit)

    @property
    def enforced_power_limit(self) -> float:
        """The lowest of the limiters; a cap from outside, such as a BMC's, is set with ``provision-sim set``."""
        cap = self.live["readings"].get("external_power_cap")
        return self.power_limit if cap is None else min(self.power_limit, float(cap))

    @property
    def application_clocks(self) -> tuple[int, int] | None:
        clocks = self.live["application_clocks"]
        return self.board.application_clocks if clocks is None else (clocks[0], clocks[1])

    @property
    def in_use(self) -> bool:
        return bool(self.live["clients"])

    def forget_settings(self) -> None:
        """What a driver does when the last client closes a GPU that has no persistence mode."""
        for key in ("power_limit", "gpu_clocks", "memory_clocks", "application_clocks", "compute_mode"):
            self.live[key] = new_live()[key]

    def reset(self) -> None:
        """A reset of the hardware: pending settings become effective, volatile ones and faults are gone."""
        persistence, clients = self.live["persistence"], self.live["clients"]
        self.live.clear()
        self.live.update(new_live(), persistence=persistence, clients=clients)
        if self.board.mig != "stored":
            self.kept["mig"] = False
        self.kept["remap_pending"] = False
        self.live["ecc"], self.live["mig"] = bool(self.kept["ecc"]) and self.board.ecc, bool(self.kept["mig"])

    # Readings

    def _reading(self, name: str) -> Any:
        return self.live["readings"].get(name)

    @property
    def memory_used(self) -> int:
        return sum(int(client["memory"]) for client in self.live["clients"])

    @property
    def utilization(self) -> int:
        told = self._reading("utilization")
        return int(told) if told is not None else (97 if self.live["clients"] else 0)

    @property
    def temperature(self) -> int:
        told = self._reading("temperature")
        if told is not None:
            return int(told)
        return self.board.idle_temperature + (28 if self.utilization else 0)

    @property
    def temperature_to_limit(self) -> int | None:
        """Degrees below the limit, on boards that print relative thresholds."""
        return self.board.limit_temperature - self.temperature if self.board.relative_thresholds else None

    @property
    def memory_temperature(self) -> int | None:
        return self.temperature + 3 if self.board.memory_sensor else None

    @property
    def asleep(self) -> bool:
        """Idle and held open; a GPU without persistence mode was just woken up by whoever asks."""
        return bool(self.live["persistence"]) and not self.utilization

    @property
    def pstate(self) -> str:
        return self.board.idle_pstate if self.asleep else "P0"

    @property
    def clocks(self) -> tuple[int, int, int]:
        """SM, memory and video clock."""
        idle, top = self.board.clocks_idle, self.board.clocks_max
        sm, memory, video = idle if self.pstate != "P0" or not self.utilization else top
        if self.pstate == "P0":
            memory = top[1]
        if self.live["gpu_clocks"]:
            lowest, highest = self.live["gpu_clocks"]
            sm = min(max(sm, lowest), highest)
        if self.live["memory_clocks"]:
            lowest, highest = self.live["memory_clocks"]
            memory = min(max(memory, lowest), highest)
        return sm, memory, video

    @property
    def power_draw(self) -> float:
        told = self._reading("power")
        if told is not None:
            return float(told)
        if self.utilization:
            return round(self.enforced_power_limit * 0.985, 2)
        return self.board.idle_power if self.asleep else round(self.board.idle_power * 1.35, 2)

    @property
    def fan(self) -> int | None:
        if self.board.fan is None:
            return None
        told = self._reading("fan")
        return int(told) if told is not None else self.board.fan + (45 if self.utilization else 0)

    @property
    def link(self) -> tuple[int, int]:
        """Current PCIe generation and width."""
        generation, width = self._reading("link_generation"), self._reading("link_width")
        if generation is None:
            idle = self.board.idle_link_generation
            generation = idle if idle is not None and self.asleep else self.board.link_generation
        return int(generation), int(width if width is not None else self.board.link_width)

    @property
    def slowdown_temperature(self) -> int:
        """The absolute temperature from which the hardware slows down."""
        if self.board.relative_thresholds:
            return self.board.limit_temperature - self.board.thresholds[1]
        return self.board.thresholds[1]

    @property
    def clock_reasons(self) -> int:
        """The bit mask of reasons why clocks are not higher."""
        told = self._reading("clock_reasons")
        if told is not None:
            return int(told)
        mask = 0 if self.utilization else IDLE
        if self.utilization and self.power_draw >= self.enforced_power_limit * 0.98:
            mask |= POWER_CAP
        if self.temperature >= self.slowdown_temperature:
            mask |= HARDWARE | HARDWARE_THERMAL
        return mask

    def errors(self, kind: str, since: str) -> int | None:
        """ECC errors, ``corrected`` or ``uncorrected``, ``volatile`` or ``aggregate``; None where ECC is off or missing."""
        if not self.board.ecc or not self.live["ecc"]:
            return None
        return int((self.live if since == "volatile" else self.kept)[kind])
