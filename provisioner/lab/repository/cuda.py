"""CUDA toolkits side by side, their metapackages with and without a driver, and the keyring package."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.lab.repository.deb import Entry, Package, text
from provisioner.lab.repository.elf import library

TOOLKITS: dict[str, tuple[tuple[str, str, str], ...]] = {
    # toolkit: its releases as (release, version of nvcc, version of the driver it ships with)
    "12.2": (("12.2.0", "12.2.91", "535.54.03"), ("12.2.1", "12.2.128", "535.86.09"), ("12.2.2", "12.2.140", "535.104.05")),
    "12.3": (("12.3.0", "12.3.52", "545.23.06"), ("12.3.1", "12.3.103", "545.23.08")),
    "12.4": (("12.4.0", "12.4.99", "550.54.14"), ("12.4.1", "12.4.131", "550.54.15")),
    "12.8": (("12.8.1", "12.8.93", "570.124.06"),),
    "13.0": (("13.0.1", "13.0.88", "580.82.07"), ("13.0.2", "13.0.88", "580.95.05")),
}
_NVCC = """\
#!/bin/sh
# SIMULATION by provision lab.
case "$1" in
--version|-V) ;;
*) echo "nvcc: SIMULATION by provision lab, it compiles nothing" >&2; exit 1 ;;
esac
echo "nvcc: NVIDIA (R) Cuda compiler driver"
echo "Copyright (c) 2005-2023 NVIDIA Corporation"
echo "Built on Tue_Aug_15_22:02:13_PDT_2023"
echo "Cuda compilation tools, release {short}, V{nvcc}"
echo "Build cuda_{short}.r{short}/compiler.33191640_0"
"""
_LINK = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    update-alternatives --install /usr/local/cuda cuda /usr/local/cuda-{short} {priority}
    update-alternatives --install /usr/local/cuda-{major} cuda-{major} /usr/local/cuda-{short} {priority}
fi
"""
_UNLINK = """\
#!/bin/sh
set -e
if [ "$1" = remove ]; then
    update-alternatives --remove cuda /usr/local/cuda-{short}
    update-alternatives --remove cuda-{major} /usr/local/cuda-{short}
fi
"""
_PIN = """\
Package: nsight-compute
Pin: origin *ubuntu.com*
Pin-Priority: -1

Package: nsight-systems
Pin: origin *ubuntu.com*
Pin-Priority: -1

Package: nvidia-modprobe
Pin: release l=NVIDIA CUDA
Pin-Priority: 600

Package: nvidia-settings
Pin: release l=NVIDIA CUDA
Pin-Priority: 600

Package: *
Pin: release l=NVIDIA CUDA
Pin-Priority: 600
"""


def toolkits() -> Iterator[Package]:
    """Every release of every toolkit, and the packages that follow the newest."""
    for short, releases in TOOLKITS.items():
        for release in releases:
            yield from _toolkit(short, *release)
    for short in TOOLKITS:
        yield _config(short)
    by_major = {short.split(".")[0]: short for short in TOOLKITS}
    for major, short in by_major.items():
        full = f"{TOOLKITS[short][-1][0]}-1"
        yield Package(
            f"cuda-toolkit-{major}",
            full,
            f"CUDA Toolkit {major} meta-package",
            {"Depends": f"cuda-toolkit-{_dashed(short)} (>= {full[:-2]})"},
        )
    last = list(TOOLKITS)[-1]
    full = f"{TOOLKITS[last][-1][0]}-1"
    dashed = _dashed(last)
    yield Package("cuda-toolkit", full, "CUDA Toolkit meta-package", {"Depends": f"cuda-toolkit-{dashed} (>= {full[:-2]})"})
    yield Package("cuda", full, "CUDA meta-package", {"Depends": f"cuda-{dashed} (>= {full[:-2]})"})
    yield Package("nsight-systems-2025.5.1", "2025.5.1.121-255136380782v0", "Nsight Systems")
    yield Package("nsight-systems", "2025.5.1.121-255136380782v0", "Nsight Systems", {"Depends": "nsight-systems-2025.5.1"})
    yield Package("nsight-compute", "2025.3.1.4-1", "Nsight Compute")


def _dashed(short: str) -> str:
    return short.replace(".", "-")


def _toolkit(short: str, release: str, nvcc: str, driver: str) -> Iterator[Package]:
    """One release: tools, run-time libraries, and the metapackages around them."""
    dashed, full, home = _dashed(short), f"{release}-1", f"/usr/local/cuda-{short}"
    soname = f"libcudart.so.{short.split('.')[0]}"
    yield Package(
        f"cuda-nvcc-{dashed}",
        f"{nvcc}-1",
        "CUDA nvcc",
        {"Depends": f"cuda-toolkit-{dashed}-config-common"},
        {f"{home}/bin/nvcc": text(_NVCC.format(short=short, nvcc=nvcc), 0o755)},
    )
    yield Package(
        f"cuda-cudart-{dashed}",
        f"{nvcc}-1",
        "CUDA Runtime native Libraries",
        {"Depends": f"cuda-toolkit-{dashed}-config-common"},
        {
            f"{home}/targets/x86_64-linux/lib/{soname}": Entry(library(soname)),
            f"{home}/lib64": Entry(link="targets/x86_64-linux/lib"),
        },
    )
    yield Package(
        f"cuda-libraries-{dashed}", full, f"CUDA Libraries {short} meta-package", {"Depends": f"cuda-cudart-{dashed} (>= {nvcc})"}
    )
    yield Package(
        f"cuda-toolkit-{dashed}",
        full,
        f"CUDA Toolkit {short} meta-package",
        {"Depends": f"cuda-nvcc-{dashed} (>= {nvcc}), cuda-libraries-{dashed} (>= {release})"},
        {f"{home}/version.json": text(f'{{\n   "cuda" : {{\n      "name" : "CUDA SDK",\n      "version" : "{release}"\n   }}\n}}\n')},
    )
    yield Package(
        f"cuda-runtime-{dashed}",
        full,
        f"CUDA Runtime {short} meta-package",
        {"Depends": f"cuda-libraries-{dashed} (>= {release}), cuda-drivers (>= {driver})"},
    )
    yield Package(f"cuda-demo-suite-{dashed}", f"{nvcc}-1", f"Demo suite for CUDA {short}", {"Depends": f"cuda-runtime-{dashed}"})
    needs = f"cuda-runtime-{dashed} (>= {release}), cuda-toolkit-{dashed} (>= {release}), cuda-demo-suite-{dashed} (>= {nvcc})"
    yield Package(f"cuda-{dashed}", full, f"CUDA {short} meta-package", {"Depends": needs})
    yield Package(
        f"cuda-compat-{dashed}",
        f"{driver}-1",
        f"CUDA Compatibility Platform {short}",
        files={
            f"{home}/compat/libcuda.so.{driver}": Entry(library("libcuda.so.1")),
            f"{home}/compat/libcuda.so.1": Entry(link=f"libcuda.so.{driver}"),
        },
    )


def _config(short: str) -> Package:
    """The links below /usr/local and the loader's path of one toolkit."""
    major, minor = short.split(".")
    values = {"short": short, "major": major, "priority": int(major) * 10 + int(minor)}
    return Package(
        f"cuda-toolkit-{_dashed(short)}-config-common",
        f"{TOOLKITS[short][-1][1]}-1",
        f"Common config package for CUDA Toolkit {short}",
        files={
            f"/etc/ld.so.conf.d/{values['priority']}_cuda-{_dashed(short)}.conf": text(
                f"/usr/local/cuda-{short}/targets/x86_64-linux/lib\n"
            )
        },
        scripts={"postinst": _LINK.format(**values), "prerm": _UNLINK.format(**values)},
        architecture="all",
    )


def keyring(distribution: str, url: str, key: bytes, version: str) -> Package:
    """cuda-keyring: the key, the source list, and on Ubuntu the pin that gives the repository precedence over the archive."""
    files = {
        "/usr/share/keyrings/cuda-archive-keyring.gpg": Entry(key),
        f"/etc/apt/sources.list.d/cuda-{distribution}-x86_64.list": text(
            f"deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] {url} /\n"
        ),
    }
    if distribution.startswith("ubuntu"):
        files["/etc/apt/preferences.d/cuda-repository-pin-600"] = text(_PIN)
    conffiles = tuple(path for path in files if path.startswith("/etc/"))
    return Package("cuda-keyring", version, "GPG keyring for the CUDA repository", files=files, conffiles=conffiles, architecture="all")


def pin(distribution: str) -> bytes:
    """The pin file that lies beside the packages of an Ubuntu release."""
    return _PIN.encode() if distribution.startswith("ubuntu") else b""
