"""Reports and tables against what the real nvidia-smi 535.309.01 printed for one A100, and against the schema of other branches."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.lab.simulator.box import Box

GOLDEN = Path(__file__).with_name("golden")
"""Output of the real program over a library that plays one A100-SXM4-40GB; its readings are its own, its form is the point."""


@pytest.fixture
def a100(box: Box) -> Box:
    box.boards("A100-SXM4-40GB")
    box.driver("535.309.01")
    box.smi("-pm", "1")
    return box


def labels(text: str) -> list[str]:
    """Indented labels. Thresholds are absolute on a real A100, and its histogram is filled: both were not so in the recording."""
    found = [re.sub(r" T\.Limit(?= Temp)", "", line.partition(":")[0]).rstrip() for line in text.splitlines()]
    found = [" GPU T.Limit Temp" if line.endswith("GPU Temp") else line for line in found]
    return [line for line in found if not re.fullmatch(r" {12}(Max|High|Partial|Low|None)", line)]


def test_text_report_has_the_same_lines(a100: Box) -> None:
    text, code = a100.smi("-q")
    assert code == 0
    assert labels(text) == labels((GOLDEN / "query.txt").read_text(encoding="utf-8"))
    for line in text.splitlines():
        assert not line.startswith(" ") or ": " not in line or line.index(": ") == 42 or line.lstrip().startswith("Bank"), line


def shape(element: ElementTree.Element, path: str = "") -> list[str]:
    """Every path of tags in order of appearance; what the recording could not have is left out."""
    here = f"{path}/{element.tag.replace('_tlimit_threshold', '_threshold')}"
    if element.tag in ("row_remapper_histogram", "supported_clocks"):
        return [here]
    return [here, *(found for child in element for found in shape(child, here))]


def test_xml_report_has_the_same_elements(a100: Box) -> None:
    text, code = a100.smi("-q", "-x")
    assert code == 0
    recorded = (GOLDEN / "query.xml").read_text(encoding="utf-8")
    assert text.splitlines()[:3] == recorded.splitlines()[:3]
    assert shape(ElementTree.fromstring(text)) == shape(ElementTree.fromstring(recorded))
    assert text.endswith("\t</gpu>\n\n</nvidia_smi_log>\n")
    assert "\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n" in text


def test_all_fields_of_535_in_the_same_form(a100: Box) -> None:
    header, values = (GOLDEN / "fields.csv").read_text(encoding="utf-8").splitlines()
    names = [re.sub(r" \[.*", "", name) for name in header.split(", ")]
    text, code = a100.smi(f"--query-gpu={','.join(names)}", "--format=csv")
    assert code == 0
    assert text.splitlines()[0] == header

    def form(value: str) -> str:
        return re.sub(r"[0-9A-F]+(?![a-z])", "9", re.sub(r"[0-9a-f]{4,}", "9", value))

    # Readings that the recording could not take, or that the real board does not have.
    other = re.compile(r"gom|reset_status|retired|tlimit|average|fabric")
    for name, recorded, simulated in zip(names, values.split(", "), text.splitlines()[1].split(", "), strict=True):
        assert form(simulated) == form(recorded) or other.search(name), name


def test_table_has_the_same_frame(box: Box) -> None:
    box.boards("A100-SXM4-40GB", "A100-SXM4-40GB", "RTX-4090")
    box.driver("535.309.01")
    box.smi("-pm", "1")
    box.change(lambda machine: machine.gpus[2].live["clients"].append({"pid": 4242, "name": "python3", "memory": 1024}))
    recorded = (GOLDEN / "table.txt").read_text(encoding="utf-8").splitlines()[1:]
    simulated = box.smi()[0].splitlines()[1:]
    frame = re.compile(r"[^|+=-]")
    assert [frame.sub(" ", line) for line in simulated] == [frame.sub(" ", line.replace("M+C+G", "    C")) for line in recorded]
    assert simulated[:8] == recorded[:8]
    assert simulated[7:10:2] == recorded[7:10:2]


WIDE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA L4                      On  |   00000000:07:00.0 Off |                    0 |
| N/A   33C    P8             16W /   72W |       0MiB /  23034MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
"""


def test_the_table_is_wider_from_550_on(box: Box) -> None:
    box.boards("L4")
    box.driver("550.90.07")
    box.smi("-pm", "1")
    assert WIDE in box.smi()[0]


SCHEMA = [
    # branch: the elements below <gpu> that tell branches apart (5.7 of the facts)
    ("525.147.05", "v12", {"power_readings/power_draw", "clocks_throttle_reasons"}, {"gpu_power_readings", "gpu_reset_status", "fabric"}),
    (
        "535.309.01",
        "v12",
        {"gpu_power_readings/power_draw", "module_power_readings", "clocks_event_reasons", "gpu_reset_status", "fabric"},
        {"power_readings", "clocks_throttle_reasons", "gpu_recovery_action", "gpu_power_readings/instant_power_draw"},
    ),
    (
        "570.148.08",
        "v12",
        {"gpu_power_readings/instant_power_draw", "gpu_power_readings/average_power_draw", "gpu_memory_power_readings", "gpu_reset_status"}
        | {"gpu_recovery_action", "fabric/health", "fabric/clusterUuid", "capabilities/egm"},
        {"gpu_power_readings/power_draw", "clocks_event_reasons_counters", "display_attached"},
    ),
    (
        "580.105.08",
        "v13",
        {"clocks_event_reasons_counters", "gpu_recovery_action", "display_attached", "pdi", "ecc_errors/channel_repair_pending"},
        {"gpu_reset_status", "voltage", "gpu_power_readings/power_draw"},
    ),
]


@pytest.mark.parametrize(("version", "dtd", "present", "absent"), SCHEMA)
def test_schema_of_a_branch(box: Box, version: str, dtd: str, present: set[str], absent: set[str]) -> None:
    box.boards("H100-SXM")
    box.driver(version)
    text = box.smi("-q", "-x")[0]
    assert f'"nvsmi_device_{dtd}.dtd"' in text
    gpu = ElementTree.fromstring(text).find("gpu")
    assert gpu is not None
    assert [path for path in sorted(present) if gpu.find(path) is None] == []
    assert [path for path in sorted(absent) if gpu.find(path) is not None] == []


def test_relative_and_absolute_thresholds(four: Box) -> None:
    temperatures = [four.smi("-q", "-d", "TEMPERATURE", "-i", index)[0] for index in ("0", "3")]
    assert "GPU Shutdown Temp                 : 92 C" in temperatures[0]
    assert "GPU Shutdown T.Limit Temp         : -8 C" in temperatures[1]
    assert "GPU T.Limit Temp                  : N/A" in temperatures[0]


@pytest.mark.parametrize(
    ("version", "field", "value"),
    [
        ("535.309.01", "display_mode", "Disabled"),
        ("580.95.05", "display_mode", "[Requested functionality has been deprecated]"),
        ("580.95.05", "gpu_recovery_action", "None"),
        ("595.71.05", "remapped_rows.pending", "No"),
        ("595.71.05", "clocks.applications.gr", "[Requested functionality has been deprecated]"),
        ("470.256.02", "fan.speed", "[Not Supported]"),
        ("535.309.01", "inforom.pwr", "N/A"),
        ("535.309.01", "pci.device_id", "0x20B210DE"),
    ],
)
def test_fields_of_a_branch(box: Box, version: str, field: str, value: str) -> None:
    box.boards("A100")
    box.driver(version)
    assert box.query(field) == [[value]]


def test_aliases_are_echoed_canonically_and_columns_follow_the_request(four: Box) -> None:
    text, _code = four.smi("--query-gpu=gpu_name,clocks_throttle_reasons.active,index,index", "--format=csv", "-i", "1")
    assert text == "name, clocks_event_reasons.active, index, index\nTesla T4, 0x0000000000000001, 1, 1\n"


def test_processes(four: Box) -> None:
    fields = "--query-compute-apps=pid,name,used_memory,gpu_uuid"
    assert four.smi(fields, "--format=csv") == ("pid, process_name, used_gpu_memory [MiB], gpu_uuid\n", 0)
    four.change(lambda machine: machine.gpus[1].live["clients"].append({"pid": 42, "name": "train.py", "memory": 2048}))
    uuid = four.query("uuid", "-i", "1")[0][0]
    assert four.smi(fields, "--format=csv,noheader")[0] == f"42, train.py, 2048 MiB, {uuid}\n"
    assert four.query("utilization.gpu,memory.used", "-i", "1") == [["97", "2048"]]
    gpu = ElementTree.fromstring(four.smi("-q", "-x", "-i", "1")[0]).find("gpu")
    assert gpu is not None
    assert gpu.findtext("processes/process_info/process_name") == "train.py"


def test_remapped_rows_have_a_switch_of_their_own_in_535(four: Box) -> None:
    text, code = four.smi("--query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure", "--format=csv,noheader")
    assert code == 0
    assert [line.split(", ")[1:] for line in text.splitlines()] == [["0", "0"], ["[N/A]", "[N/A]"], ["[N/A]", "[N/A]"], ["0", "0"]]


def test_version_is_an_option_from_550_on(box: Box) -> None:
    box.boards("A100")
    box.driver("580.95.05")
    assert box.smi("--version")[0].splitlines()[2:] == ["DRIVER version      : 580.95.05", "CUDA Version        : 13.0"]


def test_without_libcuda_no_cuda_version_is_known(box: Box) -> None:
    box.boards("A100")
    box.driver("535.309.01", "libnvidia-ml1", "nvidia-smi")
    assert "CUDA Version: N/A      " in box.smi()[0]
