"""Driver packages: the names that Debian, Ubuntu and the CUDA repository use, several branches and versions side by side.

Only names, versions and dependencies are those of the originals (and of the latter, those that matter to a solver); the files are empty
libraries and scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from provisioner.lab.repository.deb import Entry, Package, text
from provisioner.lab.repository.elf import library

VERSIONS = (
    "535.54.03",
    "535.86.09",
    "535.104.05",
    "535.183.06",
    "550.54.15",
    "550.90.07",
    "550.163.01",
    "570.124.06",
    "570.148.08",
    "580.65.06",
    "580.82.07",
    "580.95.05",
    "580.126.16",
    "595.58.03",
    "595.71.05",
)
"""What the CUDA repository offers, oldest first."""

LAST_NUMBERED_BRANCH = 580
"""Later branches have packages without a branch in their name, and no ``cuda-drivers-<branch>``."""

_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
_SMI = """\
#!/bin/sh
# SIMULATION by provision lab. In a lab node with simulated GPUs another program takes this one's place.
echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. \
Make sure that the latest NVIDIA driver is installed and running."
echo
exit 9
"""
_DAEMON = """\
#!/bin/sh
# SIMULATION by provision lab. In a lab node with simulated GPUs another program takes this one's place.
echo "nvidia-persistenced failed to initialize. Check syslog for more details." >&2
exit 1
"""
_UBUNTU_UNIT = """\
# SIMULATION by provision lab, with the behaviour of Ubuntu's package.
[Unit]
Description=NVIDIA Persistence Daemon
Wants=syslog.target
StopWhenUnneeded=true
Before=systemd-backlight@backlight:nvidia_0.service

[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose
ExecStopPost=/bin/rm -rf /var/run/nvidia-persistenced
"""
_DEVICE = "provision-sim-nvidia-device.service"
_DEVICE_UNIT = """\
# SIMULATION by provision lab: stands for the device that udev announces on Ubuntu and that wants the daemon; a node runs no udev.
[Unit]
Description=Simulated NVIDIA device (provision lab)
Wants=nvidia-persistenced.service
After=nvidia-persistenced.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true

[Install]
WantedBy=multi-user.target
"""
_CUDA_UNIT = """\
# SIMULATION by provision lab, with the behaviour of the CUDA repository's package.
[Unit]
Description=NVIDIA Persistence Daemon
Wants=syslog.target

[Service]
Type=forking
Restart=always
PIDFile=/var/run/nvidia-persistenced/nvidia-persistenced.pid
ExecStart=/usr/bin/nvidia-persistenced {user}
ExecStopPost=/bin/rm -rf /var/run/nvidia-persistenced

[Install]
WantedBy=multi-user.target
"""
_ADD_USER = """\
#!/bin/sh
set -e
if [ "$1" = configure ] && ! getent passwd {user} >/dev/null; then
    useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin {user}
fi
"""
_START = """\
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    {action} || true
fi
"""
_STOP = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl stop {units} || true; fi
"""
_ALTERNATIVE = """\
#!/bin/sh
# The alternative that Debian's packages put in front of the driver's programs and libraries.
set -e
case "$1" in
configure|triggered)
    set -- --install /usr/lib/nvidia/nvidia nvidia /usr/lib/nvidia/current {branch}
    if [ -e /usr/lib/nvidia/current/nvidia-smi ]; then
        set -- "$@" --slave /usr/bin/nvidia-smi nvidia--nvidia-smi /usr/lib/nvidia/current/nvidia-smi
    fi
    for name in libcuda.so.1 libnvidia-ml.so.1; do
        if [ -e {libraries}/nvidia/current/$name ]; then
            set -- "$@" --slave {libraries}/$name nvidia--$name-x86_64-linux-gnu {libraries}/nvidia/current/$name
        fi
    done
    mkdir -p /usr/lib/nvidia
    update-alternatives "$@"
    ;;
esac
"""
_REMOVE_ALTERNATIVE = """\
#!/bin/sh
set -e
if [ "$1" = remove ]; then update-alternatives --remove nvidia /usr/lib/nvidia/current; fi
"""


def branch(version: str) -> int:
    """``535.54.03`` is of branch 535."""
    return int(version.split(".", 1)[0])


def newest(number: int) -> str:
    """The newest version of a branch that the CUDA repository has."""
    return [version for version in VERSIONS if branch(version) == number][-1]


def _library(name: str, version: str, folder: str) -> dict[str, Entry]:
    """A driver library with its links; the file's name carries the version, as the real one's does."""
    return {
        f"{folder}/{name}.{version}": Entry(library(f"{name}.1")),
        f"{folder}/{name}.1": Entry(link=f"{name}.{version}"),
    }


@dataclass(frozen=True)
class Series:
    """Packages of one version of one source."""

    version: str
    source: str

    def package(
        self,
        name: str,
        summary: str,
        depends: str = "",
        *,
        relations: Mapping[str, str] | None = None,
        files: Mapping[str, Entry] | None = None,
        scripts: Mapping[str, str] | None = None,
    ) -> Package:
        """One of them."""
        needs = {"Depends": depends} if depends else {}
        return Package(name, self.version, summary, {**needs, **(relations or {})}, files or {}, scripts or {}, source=self.source)


# Debian's names, as in the CUDA repository for debian12


def debian(version: str) -> Iterator[Package]:
    """One driver version under the names Debian uses too: which of both is installed is decided by pins alone."""
    full, number = f"{version}-1", branch(version)
    current = f"{_LIBRARIES}/nvidia/current"

    package = Series(full, "nvidia-graphics-drivers").package
    base = f"nvidia-alternative (= {full})"
    yield package(
        "nvidia-alternative",
        "allows the selection of NVIDIA as GLX provider",
        relations={"Provides": f"nvidia-alternative-{version}, nvidia-alternative--kmod-alias"},
        files={"/usr/share/doc/nvidia-alternative/SIMULATION": text("Made by provision lab.\n")},
        scripts={
            "postinst": _ALTERNATIVE.format(branch=number, libraries=_LIBRARIES),
            "prerm": _REMOVE_ALTERNATIVE,
            "triggers": f"interest-await /usr/lib/nvidia/current\ninterest-await {current}\n",
        },
    )
    yield package(
        "libnvidia-ml1",
        "NVIDIA Management Library runtime library",
        base,
        files=_library("libnvidia-ml.so", version, current),
        relations={"Provides": f"libnvidia-ml.so.1 (= {version})"},
    )
    yield package(
        "libcuda1",
        "NVIDIA CUDA Driver Library",
        base,
        files=_library("libcuda.so", version, current),
        relations={"Provides": f"libcuda.so.1 (= {version}), libcuda-{number}-1"},
    )
    yield package("libnvidia-cfg1", "NVIDIA binary OpenGL/GLX configuration library", base)
    yield package(
        "nvidia-smi",
        "NVIDIA System Management Interface",
        f"{base}, libnvidia-ml1 (= {full})",
        files={"/usr/lib/nvidia/current/nvidia-smi": text(_SMI, 0o755)},
    )
    yield from _debian_kernel_side(version, full)
    needs = f"libcuda1 (= {full}), nvidia-smi (= {full}), nvidia-persistenced (= {full}), nvidia-alternative (= {full})"
    yield package("nvidia-driver", "NVIDIA metapackage", f"{needs}, nvidia-kernel-dkms (= {full}) | nvidia-kernel-{version}")
    yield from _metapackages(
        version, full, f"nvidia-driver (= {full}), nvidia-kernel-dkms (= {full})", f"{needs}, nvidia-kernel-open-dkms (= {full})"
    )


def _debian_kernel_side(version: str, full: str) -> Iterator[Package]:
    """The daemon, the firmware and the modules' sources."""
    package = Series(full, "nvidia-graphics-drivers").package
    yield package(
        "nvidia-persistenced",
        "daemon to maintain persistent software state in the NVIDIA driver",
        f"libnvidia-cfg1 (= {full})",
        files={
            "/usr/bin/nvidia-persistenced": text(_DAEMON, 0o755),
            "/lib/systemd/system/nvidia-persistenced.service": text(_CUDA_UNIT.format(user="--user nvpd --verbose")),
        },
        scripts={
            "postinst": _ADD_USER.format(user="nvpd") + _START.format(action="systemctl enable --now nvidia-persistenced.service"),
            "prerm": _STOP.format(units="nvidia-persistenced.service"),
        },
    )
    yield package("firmware-nvidia-gsp", "NVIDIA GSP firmware", relations={"Provides": f"firmware-nvidia-gsp-{version}"})
    yield package("nvidia-modprobe", "utility to load NVIDIA kernel modules")
    yield package(
        "nvidia-kernel-dkms",
        "NVIDIA binary kernel module DKMS source",
        f"firmware-nvidia-gsp (= {full}) | firmware-nvidia-gsp-{version}",
        relations={"Provides": f"nvidia-kernel-{version}", "Conflicts": "nvidia-kernel-open-dkms"},
        files={f"/usr/src/nvidia-current-{version}/SIMULATION": text("Made by provision lab; no module is built.\n")},
    )
    yield package(
        "nvidia-kernel-open-dkms",
        "NVIDIA open kernel module DKMS source",
        f"firmware-nvidia-gsp (= {full}) | firmware-nvidia-gsp-{version}",
        relations={"Provides": f"nvidia-kernel-{version}", "Conflicts": "nvidia-kernel-dkms"},
        files={f"/usr/src/nvidia-current-open-{version}/SIMULATION": text("Made by provision lab; no module is built.\n")},
    )


# Ubuntu's names, in its own archive and in the CUDA repository


def ubuntu(version: str, revision: str, *, flavour: str = "", archive: bool = False) -> Iterator[Package]:
    """One driver version under Ubuntu's names.

    ``flavour`` is "" or "-server"; ``archive`` tells the persistence daemon of Ubuntu's own archive, which starts without persistence mode.
    """
    full, number = f"{version}-{revision}", branch(version)
    tail = f"-{number}{flavour}" if number <= LAST_NUMBERED_BRANCH or archive else ""
    source = f"nvidia-graphics-drivers{tail}" if archive else "nvidia-graphics-drivers"

    package = Series(full, source).package
    compute = f"libnvidia-compute{tail} (= {full})"
    yield package(
        f"libnvidia-compute{tail}",
        "NVIDIA libcompute package",
        relations=_only_one("libnvidia-compute-any"),
        files={**_library("libcuda.so", version, _LIBRARIES), **_library("libnvidia-ml.so", version, _LIBRARIES)},
    )
    yield package(f"libnvidia-cfg1{tail}", "NVIDIA binary OpenGL/GLX configuration library")
    yield package(
        f"nvidia-utils{tail}",
        "NVIDIA driver support binaries",
        compute,
        relations=_only_one("nvidia-utils-any"),
        files={"/usr/bin/nvidia-smi": text(_SMI, 0o755)},
    )
    yield package(f"nvidia-kernel-common{tail}", "Shared files used with the kernel module")
    yield package(f"nvidia-kernel-source{tail}", "NVIDIA kernel source package", f"nvidia-kernel-common{tail} (= {full})")
    modules = [f"nvidia-dkms{tail}", f"nvidia-dkms{tail}-open"]
    for module, other in (modules, modules[::-1]):
        yield package(
            module,
            "NVIDIA DKMS package",
            f"nvidia-kernel-source{tail} (= {full})",
            relations={"Provides": "nvidia-dkms-kernel", "Conflicts": f"{other}, nvidia-dkms-kernel", "Replaces": "nvidia-dkms-kernel"},
        )
    daemon = f"nvidia-compute-utils{tail}" if tail else "nvidia-persistenced"
    yield _ubuntu_daemon(daemon, package, compute, archive=archive)
    base = f"{compute}, libnvidia-cfg1{tail} (= {full}), {daemon} (= {full})"
    for suffix, module in (("", modules[0]), ("-open", modules[1])):
        yield package(f"nvidia-headless{tail}{suffix}", "NVIDIA headless metapackage", f"{base}, {module} (= {full})")
        yield package(
            f"nvidia-driver{tail}{suffix}", "NVIDIA driver metapackage", f"{base}, nvidia-utils{tail} (= {full}), {module} (= {full})"
        )
    if not archive:
        driver, opened = f"nvidia-driver{tail} (= {full})", f"nvidia-driver{tail}-open (= {full})"
        yield from _metapackages(version, full, driver, opened)


def _ubuntu_daemon(name: str, package: Callable[..., Package], compute: str, *, archive: bool) -> Package:
    """The package with the persistence daemon."""
    folder, units = "/lib/systemd/system", "nvidia-persistenced.service"
    files = {"/usr/bin/nvidia-persistenced": text(_DAEMON, 0o755)}
    if archive:
        files |= {f"{folder}/nvidia-persistenced.service": text(_UBUNTU_UNIT), f"{folder}/{_DEVICE}": text(_DEVICE_UNIT)}
        action, units = f"systemctl enable --now {_DEVICE}", f"{_DEVICE} {units}"
    else:
        files[f"{folder}/nvidia-persistenced.service"] = text(_CUDA_UNIT.format(user="--verbose"))
        action = "systemctl enable --now nvidia-persistenced.service"
    return package(
        name,
        "NVIDIA compute utilities",
        compute,
        relations=_only_one("nvidia-persistenced-any"),
        files=files,
        scripts={
            "postinst": _ADD_USER.format(user="nvidia-persistenced") + _START.format(action=action),
            "prerm": _STOP.format(units=units),
        },
    )


def _only_one(name: str) -> dict[str, str]:
    """Branches own the same files, so one replaces another."""
    return {"Provides": name, "Conflicts": name, "Replaces": name}


def _metapackages(version: str, full: str, closed: str, opened: str) -> Iterator[Package]:
    """cuda-drivers and nvidia-open, with a branch in the name where the branch still has one."""
    number = branch(version)
    if number <= LAST_NUMBERED_BRANCH:
        yield Package(f"cuda-drivers-{number}", full, "NVIDIA Driver meta-package, branch locked", {"Depends": closed})
        yield Package(f"nvidia-open-{number}", full, "NVIDIA Driver meta-package, open, branch locked", {"Depends": opened})
        closed, opened = f"cuda-drivers-{number} (= {full})", f"nvidia-open-{number} (= {full})"
    yield Package("cuda-drivers", full, "NVIDIA Driver meta-package", {"Depends": closed})
    yield Package("nvidia-open", full, "NVIDIA Driver meta-package, open", {"Depends": opened})


def transitional(old: int, new: str, revision: str, *, last: str) -> Iterator[Package]:
    """The trap of Ubuntu's archive: names of an ended branch that install another one without a word.

    ``last`` is the ended branch's last version, which the transitional packages still carry in theirs.
    """
    for flavour in ("", "-server"):
        for name, tails in (
            ("nvidia-driver", ("", "-open")),
            ("nvidia-headless", ("", "-open")),
            ("nvidia-dkms", ("", "-open")),
            ("nvidia-utils", ("",)),
            ("nvidia-compute-utils", ("",)),
            ("libnvidia-compute", ("",)),
            ("nvidia-kernel-source", ("",)),
            ("nvidia-kernel-common", ("",)),
            ("libnvidia-cfg1", ("",)),
        ):
            for tail in tails:
                target = f"{name}-{branch(new)}{flavour}{tail}"
                yield Package(
                    f"{name}-{old}{flavour}{tail}",
                    f"{last}-{revision}",
                    f"Transitional package for {target}",
                    {"Depends": target},
                    section="restricted/oldlibs",
                    source=f"nvidia-graphics-drivers-{branch(new)}{flavour}",
                )


def pinning() -> Iterator[Package]:
    """The packages that lock a branch or a version by an apt preferences file."""
    locks = {str(branch(version)): f"{branch(version)}.*" for version in VERSIONS}
    locks |= {version: f"{version}-*" for version in VERSIONS if branch(version) >= LAST_NUMBERED_BRANCH}
    names = "cuda-drivers* nvidia-driver* nvidia-open* nvidia-kernel* nvidia-dkms* nvidia-smi nvidia-alternative nvidia-persistenced"
    names += " libnvidia-* libcuda1 nvidia-utils* nvidia-headless* nvidia-compute-utils* firmware-nvidia-gsp nvidia-modprobe"
    path = "/etc/apt/preferences.d/nvidia-driver-pinning"
    for lock, pattern in locks.items():
        yield Package(
            f"nvidia-driver-pinning-{lock}",
            f"{lock}-1",
            f"Pins the NVIDIA driver to {lock}",
            {"Provides": "nvidia-driver-pinning", "Conflicts": "nvidia-driver-pinning", "Replaces": "nvidia-driver-pinning"},
            files={path: text(f"# SIMULATION by provision lab.\nPackage: {names}\nPin: version {pattern}\nPin-Priority: 1000\n")},
            conffiles=(path,),
            architecture="all",
        )
