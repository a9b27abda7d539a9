"""What nvidia-smi prints and exits with, as observed of the real program: the tables 5.1, 5.2 and 5.8 of the GPU facts as data."""

from __future__ import annotations

import pytest

from provisioner.lab.simulator.node.control import main as control
from tests.lab.simulator.box import Box

A100, T4, RTX, H100 = "00000000:07:00.0", "00000000:0F:00.0", "00000000:47:00.0", "00000000:4E:00.0"
HELP = "Please run 'nvidia-smi -h' for help."
TERMINATED = "Terminating early due to previous errors."
TREATED = "Treating as warning and moving on."
SHOW = "Run 'nvidia-smi -q -d SUPPORTED_CLOCKS' to see list of supported clock combinations"

ERRORS = [
    # arguments, output, exit code
    ("-i 99", "No devices were found", 6),
    ("-i 99 -pm 1", "No devices were found", 6),
    ("--bogus", "ERROR: Option --bogus is not recognized. Please run 'nvidia-smi -h'.\n", 255),
    ("--query-gpu=bogus --format=csv", 'Field "bogus" is not a valid field to query.\n', 2),
    ("--query-gpu=index,remapped_rows.pending --format=csv", 'Field "remapped_rows.pending" is not a valid field to query.\n', 2),
    ("--query-gpu=index", '"--format=" switch is missing. ' + HELP + "\n", 2),
    ("--query-gpu=index --format=csv,bogus", "Format modifier is not recognized.", 2),
    ("--query-gpu=index --format=noheader", "Format modifier --format=csv is mandatory.", 2),
    ("--query-gpu=index --query-compute-apps=pid --format=csv", "Only one --query-* switch can be used at a time.", 2),
    ("--query-gpu", f"ERROR: Option --query-gpu is missing its value. {HELP}\n", 255),
    ("-pm", f"ERROR: Option -pm is missing its value. {HELP}\n", 255),
    ("-pl abc", f"ERROR: Option abc is invalid for -pl. {HELP}\n", 2),
    ("-pm 1 -pl 250", "Invalid combination of input arguments. Only one device modification may be done at a time.\n", 2),
    ("-eow -pm 1", "Invalid combination of input arguments. Only one device modification may be done at a time.\n", 2),
    ("-pl -5", "Input combination for device modification is not valid.", 255),
    ("-pm 7", f"Invalid persistence mode: 7\n{TERMINATED}", 2),
    ("-pm 1 -q", f"ERROR: Option -q is not recognized. {HELP}\n", 255),
    ("-L -i 0", f"ERROR: Option -i is not valid for this command. {HELP}\n", 2),
    ("-q -d BOGUS", "Failed to parse --display/-d flags", 2),
    (
        "-x",
        f"Invalid combination of input arguments. Specify -q/--query and -x/--xml-format to run an XML query.  {HELP}\n",
        2,
    ),
    ("--version", "ERROR: Option --version is not recognized. Please run 'nvidia-smi -h'.\n", 255),
    ("mig -lgip", "No MIG-enabled devices found.", 6),
    ("mig --bogus", 'Option "--bogus" is not recognized.', 2),
]


@pytest.mark.parametrize(("line", "text", "code"), ERRORS)
def test_errors(four: Box, line: str, text: str, code: int) -> None:
    assert four.smi(*line.split()) == (f"{text}\n", code)


SETTERS = [
    ("-i 0 -pm 1", f"Enabled persistence mode for GPU {A100}.\nAll done.", 0),
    ("-i 0 -pm 0", f"Persistence mode is already Disabled for GPU {A100}.\nAll done.", 0),
    ("-i 0 --persistence-mode=1", f"Enabled persistence mode for GPU {A100}.\nAll done.", 0),
    ("-i 0 -pm ENABLED", f"Enabled persistence mode for GPU {A100}.\nAll done.", 0),
    (
        "-i 0 -pl 5000",
        "Provided power limit 5000.00 W is not a valid power limit which should be between 100.00 W and 400.00 W for GPU "
        f"{A100}\n{TERMINATED}",
        2,
    ),
    (
        "-i 0 -lgc abc",
        "Specified clocks \"abc\" are not valid. Please format input as 'gpuClkMin,gpuClkMax' or 'gpuClkVal' e.g. "
        "'--lock-gpu-clocks=1500,1500', '--lock-gpu-clocks=1500', or '--lock-gpu-clocks=tdp,unlimited'\n" + TERMINATED,
        2,
    ),
    (
        "-i 0 -lgc 9000,9999",
        f'Specified clock combination "(gpuClkMin 9000, gpuClkMax 9999)" is not supported for GPU {A100}. {SHOW}\n{TREATED}\nAll done.',
        0,
    ),
    ("-i 0 -rgc", "All done.", 0),
    ("-i 0 -c 3", f"Set compute mode to EXCLUSIVE_PROCESS for GPU {A100}.\nAll done.", 0),
    ("-i 0 -c 0", f"Compute mode is already set to DEFAULT for GPU {A100}.\nAll done.", 0),
    ("-i 0 -c 1", f"Exclusive_Thread was deprecated! Use value 3:Exclusive_Process instead.\n{TREATED}\nAll done.", 0),
    ("-i 0 -c 9", f"Invalid compute mode: 9\n{TERMINATED}", 2),
    ("-i 0 -e 0", f"Disabled ECC support for GPU {A100}.\nAll done.\nReboot required.", 0),
    ("-i 0 -e 1", f"ECC support is already Enabled for GPU {A100}.\nAll done.", 0),
    ("-i 0 -e 7", f"Invalid ECC configuration code: 7\n{TERMINATED}", 2),
    ("-i 0 -mig 1", f"Enabled MIG Mode for GPU {A100}\nAll done.", 0),
    ("-i 0 -mig 3", f"Invalid MIG Mode: 3\n{TERMINATED}", 2),
    ("-i 0 --gpu-reset", f"GPU {A100} was successfully reset.\nAll done.", 0),
    # Refusals of a consumer card and of a board without MIG: exit code 0 all the same.
    ("-i 2 -mig 1", f"Unable to enable MIG Mode for GPU {RTX}: Not Supported\n{TREATED}\nAll done.", 0),
    ("-i 1 -mig 1", f"Unable to enable MIG Mode for GPU {T4}: Not Supported\n{TREATED}\nAll done.", 0),
    ("-i 2 -e 1", f"ECC features not supported for GPU {RTX}.\n{TREATED}\nAll done.", 0),
    ("-i 2 -ac 10501,2500", f"Setting applications clocks is not supported for GPU {RTX}.\n{TREATED}\nAll done.", 0),
]


@pytest.mark.parametrize(("line", "text", "code"), SETTERS)
def test_setters(four: Box, line: str, text: str, code: int) -> None:
    assert four.smi(*line.split()) == (f"{text}\n", code)


HELD_OPEN = [
    ("-i 0 -pl 250", f"Power limit for GPU {A100} was set to 250.00 W from 400.00 W.\nAll done.", 0),
    ("-i 0 -pl 250.5", f"Power limit for GPU {A100} was set to 250.50 W from 400.00 W.\nAll done.", 0),
    ("-i 0 -lgc 1000,1200", f'GPU clocks set to "(gpuClkMin 1000, gpuClkMax 1200)" for GPU {A100}\nAll done.', 0),
    ("-i 0 -ac 1593,1410", f'Applications clocks set to "(MEM 1593, SM 1410)" for GPU {A100}\nAll done.', 0),
]


@pytest.mark.parametrize(("line", "text", "code"), HELD_OPEN)
def test_setters_with_persistence_mode(four: Box, line: str, text: str, code: int) -> None:
    four.smi("-pm", "1")
    assert four.smi(*line.split()) == (f"{text}\n", code)


def test_a_limit_set_without_persistence_mode_is_warned_of_and_lost(four: Box) -> None:
    text, code = four.smi("-i", "0", "-pl", "250")
    assert code == 0
    assert text.splitlines()[1].startswith(f"Warning: persistence mode is disabled on device {A100}. See the Known Issues section")
    assert four.query("power.limit", "-i", "0") == [["400.00"]]


NOT_ROOT = [
    ("-i 0 -pm 1", f"Unable to set persistence mode for GPU {A100}: Insufficient Permissions\n{TERMINATED}", 4),
    ("-i 0 -pl 250", f"Failed to set power management limit for GPU {A100}: Insufficient Permissions\n{TERMINATED}", 4),
    ("-i 0 -lgc 1000", f"The current user does not have permission to change clocks for GPU {A100}.\n{TERMINATED}", 4),
]


@pytest.mark.parametrize(("line", "text", "code"), NOT_ROOT)
def test_an_ordinary_user(four: Box, line: str, text: str, code: int) -> None:
    assert four.smi(*line.split(), root=False) == (f"{text}\n", code)


NOT_LOADED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
BROKEN = [
    ("module", NOT_LOADED, 9),
    (
        "library",
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly "
        "installed and present in your system.\n"
        "Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n",
        12,
    ),
    ("permissions", "Failed to initialize NVML: Insufficient Permissions\n", 4),
    ("devices", "No devices were found. Please make sure /dev/nvidia* files are readable by current user.\n", 4),
    ("inforom", "Failed to initialize NVML: Corrupted infoROM\n", 14),
]


@pytest.mark.parametrize(("kind", "text", "code"), BROKEN)
@pytest.mark.parametrize("line", ["", "-L", "-q -x", "--query-gpu=index --format=csv", "--help-query-gpu", "--bogus"])
def test_a_broken_driver_fails_every_subcommand(
    four: Box, monkeypatch: pytest.MonkeyPatch, kind: str, text: str, code: int, line: str
) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    assert control(["break", kind]) == 0
    assert four.smi(*line.split()) == (text, code)
    assert control(["mend"]) == 0
    assert four.smi("-L")[1] == 0


def test_help_works_without_a_driver(box: Box) -> None:
    box.boards("T4")
    text, code = box.smi("-h")
    assert (text.splitlines()[0][:41], code) == ("NVIDIA System Management Interface -- v0.", 0)
    assert "SIMULATION" in text


def test_no_boards(box: Box) -> None:
    box.driver("535.309.01")
    assert box.smi() == ("No devices were found\n", 6)
    assert box.smi("-L") == ("No devices found.\n", 0)


def test_ids(four: Box) -> None:
    uuid, serial = four.query("uuid,serial")[1]
    for word in ("1", uuid, serial, T4, "0000:0f:00.0", "0f:00.0", "1,99", "1,1"):
        assert four.query("index", "-i", word) == [["1"]], word
    assert four.query("index", "-i", "2,0") == [["0"], ["2"]]
    for word in ("gpu-1", "07", uuid.lower(), "-1"):
        assert four.smi("--query-gpu=index", "--format=csv", "-i", word)[1] in (6, 255), word


LOST = "GPU is lost.  Reboot the system to recover this GPU"


def test_one_lost_gpu_blanks_everything_but_the_list(four: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    assert control(["lose", "1"]) == 0
    listing, code = four.smi("-L")
    assert code == 15
    assert listing.splitlines()[1] == f"Unable to determine the device handle for gpu 1: {LOST}"
    assert len(listing.splitlines()) == 4
    for line in ("", "-q", "-q -x", "--query-gpu=index --format=csv", "-pm 1", "-pl 100", f"-i {T4}"):
        assert four.smi(*line.split()) == (f"Unable to determine the device handle for GPU{T4}: {LOST}\n", 15), line
    assert four.query("index", "-i", "0") == [["0"]]
    assert "NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." in four.log()
    four.reboot()
    assert len(four.query("index")) == 4


@pytest.mark.parametrize(
    ("fault", "text"), [("reset", "A GPU reset must occur before this GPU can be used again."), ("unknown", "Unknown Error")]
)
def test_other_faults(four: Box, monkeypatch: pytest.MonkeyPatch, fault: str, text: str) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    control(["lose", "0", "--as", fault])
    assert four.smi() == (f"Unable to determine the device handle for GPU{A100}: {text}\n", 255)
    reset = four.smi("-r", "-i", "0")[1]
    assert (reset == 0) == (fault == "reset")
    assert (four.smi()[1] == 0) == (fault == "reset")


def test_a_dead_gpu_is_gone_after_a_reboot(four: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    control(["lose", "1", "--dead"])
    four.reboot()
    assert [row[1] for row in four.query("index,name")] == ["NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3"]
    assert [row[0] for row in four.query("index")] == ["0", "1", "2"]
    control(["restore", T4])
    four.reboot()
    assert len(four.query("index")) == 4
