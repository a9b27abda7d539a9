"""What makes a plain root a lab node: the user, sshd, what a container must not run, and the first process.

Everything here is files written into a folder, so that it serves every backend and needs no process in the node.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from provisioner.lab.machine import Source
from provisioner.lab.tools import call

USER = "admin"
"""The ordinary account of every node; it may use sudo without a password."""

INIT = "/usr/lib/provision-lab/init"
"""The first process of a node: prepares what a container lacks, then becomes systemd."""

_MARKER = "/usr/lib/provision-lab/node"
"""Holds the name of the node once it has its own name service files."""

_INIT_SCRIPT = """\
#!/bin/sh
# SIMULATION. First process of a provision lab node; it becomes systemd.
#
# A node shares this machine's kernel, so its kernel parameters are shadowed: reading and writing /proc/sys/{kernel,vm,fs} works as on
# a server and is lost at a reboot, but never reaches the kernel. The network's parameters are the node's own and stay real.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export container="${container:-provision-lab}"
shadow=/run/provision-lab/sys
if ! mountpoint -q /run; then mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run; fi
mkdir -p "$shadow"
# systemd wants the unified cgroup tree, its own part of it, and leave to write there.
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ] || ! [ -w /sys/fs/cgroup/cgroup.procs ]; then
    mkdir -p /run/provision-lab/cgroup
    mount -t cgroup2 cgroup2 /run/provision-lab/cgroup
    if ! [ -e /run/provision-lab/cgroup/cgroup.events ]; then
        # The whole machine's tree: the engine gave this node no part, so it takes one.
        own="/run/provision-lab/cgroup/provision-lab/$(cat /proc/sys/kernel/hostname)"
        mkdir -p "$own"
        echo $$ > "$own/cgroup.procs"
        umount /run/provision-lab/cgroup
        exec unshare --cgroup "$0" "$@"
    fi
    umount /run/provision-lab/cgroup
    umount -R -l /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi
# An engine mounts its own name service files, which cannot be replaced by a rename: what they say goes into files of the node's, unless
# the lab brought better ones.
for file in /etc/hostname /etc/hosts /etc/resolv.conf; do
    if mountpoint -q "$file"; then
        given=$(cat "$file")
        umount "$file"
        [ -e @MARKER@ ] || printf '%s\n' "$given" > "$file"
    fi
done
[ -e @MARKER@ ] || cat /proc/sys/kernel/hostname > @MARKER@
for area in kernel vm fs; do
    cp -r --no-preserve=ownership "/proc/sys/$area" "$shadow/" 2>/dev/null
done
for live in kernel/hostname kernel/domainname kernel/random/uuid kernel/ns_last_pid; do
    [ -e "/proc/sys/$live" ] && mount --bind "/proc/sys/$live" "$shadow/$live"
done
cat /proc/sys/kernel/random/uuid > "$shadow/kernel/random/boot_id"
for area in kernel vm fs; do
    mount --rbind "$shadow/$area" "/proc/sys/$area"
done
mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,rw /proc/sys/net
# The lab brings a node's host key; a container of somebody else's making has to make its own.
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -A
for hook in /usr/lib/provision-lab/boot.d/*; do
    [ -x "$hook" ] && "$hook"
done
exec /sbin/init --show-status=true "$@"
""".replace("@MARKER@", _MARKER)

_SSHD = """\
# Written by provision lab.
PasswordAuthentication no
UseDNS no
"""

_SSH_UNIT = """\
# Written by provision lab: a node whose sshd answers also lets people in.
[Unit]
After=systemd-user-sessions.service
"""

_JOURNALD = """\
# Written by provision lab: many nodes share one machine's memory.
[Journal]
RuntimeMaxUse=16M
SystemMaxUse=32M
"""

# Timers that would start work of their own in the middle of a test, and units that need real hardware or consoles.
_MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "getty.target",
    "man-db.timer",
    "motd-news.timer",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-firstboot.service",
    "systemd-networkd-wait-online.service",
    "systemd-resolved.service",
    "systemd-udevd.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
)


def digest() -> str:
    """Changes when anything this module writes changes."""
    return hashlib.sha256(inspect.getsource(sys.modules[__name__]).encode()).hexdigest()


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """A file of root's with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def furnish(root: Path, *, settings: str = "", sources: Sequence[Source] = ()) -> None:
    """Turn the tree at ``root`` into a node that boots, lets ``admin`` in, and keeps quiet; not yet bound to one lab."""
    write(root / INIT.lstrip("/"), _INIT_SCRIPT, 0o755)
    write(root / "etc/ssh/sshd_config.d/10-lab.conf", _SSHD)
    write(root / "etc/systemd/system/ssh.service.d/10-lab.conf", _SSH_UNIT)
    write(root / "etc/systemd/journald.conf.d/10-lab.conf", _JOURNALD)
    write(root / "etc/sudoers.d/90-lab", f"{USER} ALL=(ALL:ALL) NOPASSWD: ALL\n", 0o440)
    write(root / "etc/machine-id", "")
    if settings:
        write(root / "etc/apt/apt.conf.d/90lab", settings)
    if sources:
        write(root / "etc/apt/sources.list", "".join(f"{source.line()}\n" for source in sources))
        for other in (root / "etc/apt/sources.list.d").glob("0000*"):
            other.unlink()  # mmdebstrap's own copy of the same lines
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for unit in _MASKED:
        link = root / "etc/systemd/system" / unit
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    _add_user(root)


def simulate_kernel(root: Path, release: str) -> None:
    """Enough of an installed kernel for ``update-initramfs`` and ``depmod`` to do their real work: no modules, and nothing that boots.

    A node runs on this machine's kernel, of which it has no package.
    """
    modules = root / "lib/modules" / release
    modules.mkdir(parents=True)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        write(modules / name, "")
    write(root / "boot" / f"vmlinuz-{release}", "SIMULATION: a lab node runs on the kernel of the machine it is on.\n")
    write(root / "boot" / f"config-{release}", "# SIMULATION by provision lab\nCONFIG_RD_GZIP=y\nCONFIG_RD_ZSTD=y\n")
    call("chroot", str(root), "depmod", release)
    call("chroot", str(root), "update-initramfs", "-c", "-k", release)


def strip(root: Path) -> None:
    """Take from a copy of this machine's own root what it would start by itself; only the units of a small server stay enabled."""
    kept = ("cron.service", "dbus", "ssh.service", "sshd.service")
    for link in (root / "etc/systemd/system").glob("*.wants/*"):
        if not link.name.startswith(kept):
            link.unlink()
    for link in (root / "etc").glob("rc[0-9].d/S*"):
        if not re.fullmatch(r"S\d\d(cron|dbus|ssh|sudo)", link.name):
            link.unlink()


def _add_user(root: Path) -> None:
    """The account, written into the databases: useradd --root would need a working root."""
    if _user_id(root) is not None:
        return
    passwd, group = ((root / "etc" / name).read_text(encoding="utf-8") for name in ("passwd", "group"))
    used = {int(number) for number in re.findall(r"(?m)^[^:]*:[^:]*:(\d+):", passwd + group)}
    number = next(candidate for candidate in range(1000, 60000) if candidate not in used)
    home = root / "home" / USER
    for name, line in (
        ("passwd", f"{USER}:x:{number}:{number}:Lab administrator:/home/{USER}:/bin/bash\n"),
        ("group", f"{USER}:x:{number}:\n"),
        ("shadow", f"{USER}:*:19700:0:99999:7:::\n"),
        ("gshadow", f"{USER}:!::\n"),
    ):
        with (root / "etc" / name).open("a", encoding="utf-8") as file:
            file.write(line)
    if not home.exists():
        shutil.copytree(root / "etc/skel", home, symlinks=True)
    for path in (home, *home.rglob("*")):
        os.lchown(path, number, number)


def _user_id(root: Path) -> int | None:
    """The number of the account, if it is there; its group has the same."""
    found = re.search(rf"(?m)^{USER}:[^:]*:(\d+):", (root / "etc/passwd").read_text(encoding="utf-8"))
    return int(found[1]) if found else None


def personalise(root: Path, *, name: str, public_key: str, host_keys: dict[str, str], hosts: dict[str, str], resolver: str) -> None:
    """Bind a furnished root to one node.

    ``host_keys`` are file names below /etc/ssh with their content; ``hosts`` maps names to addresses for /etc/hosts.
    """
    write(root / _MARKER.lstrip("/"), f"{name}\n")
    write(root / "etc/hostname", f"{name}\n")
    known = "".join(f"{address}\t{host}\n" for host, address in hosts.items())
    write(root / "etc/hosts", f"127.0.0.1\tlocalhost\n{known}\n::1\tlocalhost ip6-localhost ip6-loopback\n")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    write(root / "etc/resolv.conf", resolver)
    for file, content in host_keys.items():
        write(root / "etc/ssh" / file, content, 0o644 if file.endswith(".pub") else 0o600)
    owner = _user_id(root)
    if owner is None:
        raise ValueError(f"{root} was not furnished")
    folder = root / "home" / USER / ".ssh"
    write(folder / "authorized_keys", f"{public_key.strip()}\n", 0o600)
    folder.chmod(0o700)
    for path in (folder, folder / "authorized_keys"):
        os.chown(path, owner, owner)
