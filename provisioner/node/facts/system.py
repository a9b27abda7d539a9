"""The system itself: names, kernel, time, user, Python, security frames."""

from __future__ import annotations

import os
import sys
import time

from .reading import output, text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def platform() -> dict[str, Any]:
    """Names, kernel and architecture."""
    kernel = os.uname()
    hostname = kernel.nodename.split(".")[0]
    fqdn = _fqdn(kernel.nodename)
    domain = ".".join(fqdn.split(".")[1:])
    bits = "64" if sys.maxsize > 2**32 else "32"
    return {
        "system": kernel.sysname,
        "kernel": kernel.release,
        "kernel_version": kernel.version,
        "machine": kernel.machine,
        "architecture": kernel.machine,
        "nodename": kernel.nodename,
        "hostname": hostname,
        "fqdn": fqdn,
        "domain": domain,
        "userspace_bits": bits,
        "userspace_architecture": {"x86_64": "x86_64" if bits == "64" else "i386"}.get(kernel.machine, kernel.machine),
    }


def _fqdn(nodename: str) -> str:
    """The full name, from the hosts file and the resolver; the resolver is not asked when the name already has a domain."""
    if "." in nodename:
        return nodename
    for line in text("/etc/hosts").splitlines():
        names = line.split("#")[0].split()[1:]
        if nodename in names:
            return next((name for name in names if "." in name and name.split(".")[0] == nodename), nodename)
    import socket  # costs more than all other facts of this file, and most nodes are named in their hosts file

    found = socket.getfqdn(nodename)
    return found if found not in ("localhost", "localhost.localdomain") else nodename


def machine_id() -> dict[str, Any]:
    """systemd's machine id."""
    found = word("/etc/machine-id", "") or word("/var/lib/dbus/machine-id", "")
    return {"machine_id": found} if found else {}


def date_time() -> dict[str, Any]:
    """Now, in many forms."""
    now = time.time()
    here, utc = time.localtime(now), time.gmtime(now)
    fraction = int(now % 1 * 1e6)
    shape = {
        "year": "%Y",
        "month": "%m",
        "weekday": "%A",
        "weekday_number": "%w",
        "weeknumber": "%W",
        "day": "%d",
        "hour": "%H",
        "minute": "%M",
        "second": "%S",
        "date": "%Y-%m-%d",
        "time": "%H:%M:%S",
        "tz": "%Z",
        "tz_offset": "%z",
        "iso8601_basic_short": "%Y%m%dT%H%M%S",
    }
    facts = {name: time.strftime(form, here) for name, form in shape.items()}
    facts.update(
        epoch=str(int(now)),
        epoch_int=str(int(now)),
        iso8601_micro=time.strftime("%Y-%m-%dT%H:%M:%S", utc) + f".{fraction:06d}Z",
        iso8601=time.strftime("%Y-%m-%dT%H:%M:%SZ", utc),
        iso8601_basic=time.strftime("%Y%m%dT%H%M%S", here) + f"{fraction:06d}",
        tz_dst=time.tzname[1],
    )
    return {"date_time": facts}


def user() -> dict[str, Any]:
    """Whom the agent runs as."""
    import pwd

    entry = pwd.getpwuid(os.geteuid())
    return {
        "user_id": entry.pw_name,
        "user_uid": entry.pw_uid,
        "user_gid": entry.pw_gid,
        "user_gecos": entry.pw_gecos,
        "user_dir": entry.pw_dir,
        "user_shell": entry.pw_shell,
        "real_user_id": os.getuid(),
        "effective_user_id": os.geteuid(),
        "real_group_id": os.getgid(),
        "effective_group_id": os.getegid(),
        "effective_group_ids": sorted(os.getgroups()),
    }


def env() -> dict[str, Any]:
    """The environment."""
    return {"env": dict(os.environ)}


def python() -> dict[str, Any]:
    """The Python that the agent runs on."""
    version = sys.version_info
    facts = {
        "version": {
            "major": version.major,
            "minor": version.minor,
            "micro": version.micro,
            "releaselevel": version.releaselevel,
            "serial": version.serial,
        },
        "version_info": list(version),
        "executable": sys.executable,
        "has_sslcontext": True,
        "type": "CPython" if sys.implementation.name == "cpython" else sys.implementation.name,
    }
    return {"python": facts, "python_version": f"{version.major}.{version.minor}.{version.micro}"}


def cmdline() -> dict[str, Any]:
    """The kernel's command line: last and all values of each word."""
    last: dict[str, Any] = {}
    every: dict[str, Any] = {}
    for part in text("/proc/cmdline").split():
        key, equals, value = part.partition("=")
        said: Any = value if equals else True
        last[key] = said
        if key in every:
            every[key] = [*(every[key] if isinstance(every[key], list) else [every[key]]), said]
        else:
            every[key] = said
    return {"cmdline": last, "proc_cmdline": every}


def apparmor() -> dict[str, Any]:
    """Whether AppArmor is there."""
    return {"apparmor": {"status": "enabled" if os.path.exists("/sys/kernel/security/apparmor") else "disabled"}}


def selinux() -> dict[str, Any]:
    """SELinux: disabled, or its mode and policy."""
    if not os.path.exists("/sys/fs/selinux/enforce"):
        return {"selinux": {"status": "disabled"}, "selinux_python_present": True}
    from .reading import assignments

    config = assignments(text("/etc/selinux/config"))
    enforcing = word("/sys/fs/selinux/enforce", "0") == "1"
    facts = {
        "status": "enabled",
        "mode": "enforcing" if enforcing else "permissive",
        "config_mode": config.get("SELINUX", "unknown"),
        "type": config.get("SELINUXTYPE", "unknown"),
        "policyvers": int(word("/sys/fs/selinux/policyvers", "0")),
    }
    return {"selinux": facts, "selinux_python_present": True}


def fips() -> dict[str, Any]:
    """Whether the kernel runs in FIPS mode."""
    return {"fips": word("/proc/sys/crypto/fips_enabled", "0") == "1"}


def caps() -> dict[str, Any]:
    """The capabilities this process has."""
    for line in text("/proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            bits = int(line.split()[1], 16)
            last = int(word("/proc/sys/kernel/cap_last_cap", "40"))
            enforced = bits != (1 << (last + 1)) - 1
            listed = output(["capsh", f"--decode={bits:x}"]).partition("=")[2].strip() if enforced else ""
            return {"system_capabilities_enforced": str(enforced), "system_capabilities": [name for name in listed.split(",") if name]}
    return {"system_capabilities_enforced": "NA", "system_capabilities": []}


def chroot() -> dict[str, Any]:
    """Whether the root is not that of PID 1."""
    try:
        mine, first = os.stat("/"), os.stat("/proc/1/root/.")
    except OSError:
        return {"is_chroot": os.stat("/").st_ino != 2}
    return {"is_chroot": (mine.st_ino, mine.st_dev) != (first.st_ino, first.st_dev)}


def loadavg() -> dict[str, Any]:
    """Load over 1, 5 and 15 minutes."""
    one, five, fifteen = os.getloadavg()
    return {"loadavg": {"1m": one, "5m": five, "15m": fifteen}}


def ssh_pub_keys() -> dict[str, Any]:
    """The host's public SSH keys."""
    facts = {}
    for kind in ("dsa", "rsa", "ecdsa", "ed25519"):
        parts = text(f"/etc/ssh/ssh_host_{kind}_key.pub").split()
        if len(parts) > 1:
            facts[f"ssh_host_key_{kind}_public"] = parts[1]
            facts[f"ssh_host_key_{kind}_public_keytype"] = parts[0]
    return facts
