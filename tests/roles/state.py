"""What a machine looks like after a run, as JSON on stdout: files, packages, accounts and units. Runs on a node; standard library only.

Arguments: words that differ between nodes by nature (name, address); they are replaced wherever they occur.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
import sys

TOPS = ("/etc", "/home", "/opt", "/root", "/srv", "/usr/local", "/usr/share/keyrings", "/var", "/boot")
# Caches, logs, and what differs from machine to machine or from minute to minute.
VOLATILE = re.compile(
    r"/var/(cache|log|tmp|run|lock|lib/(apt|dpkg|systemd|private|pam|ucf|dbus|chrony|sudo|polkit-1|provision|man-db|python))(/|$)"
    r"|/etc/(ld\.so\.cache|mtab|hostname|hosts|machine-id|resolv\.conf|\.pwd\.lock|.*-|ssh/ssh_host_.*|ssl/(certs|private)(/.*)?|adjtime)$"
    r"|.*/__pycache__(/|$)|/root/\.(ansible|cache|local)(/|$)|/home/admin(/|$)|.*\.(pyc|pid|sock|db-journal)$|.*/(postdrop|maildrop|public|private)/"
    r"|/var/lib/(postfix/master\.lock|samba/.*\.tdb|fail2ban/.*\.sqlite3|slurm.*/.*|logrotate/status)$|.*/ssl-cert-snakeoil.*"
    r"|/etc/(aliases\.db|shadow|gshadow|munge/munge\.key|docker/key\.json)$|/var/lib/docker/network/.*|/var/spool/(postfix|rsyslog)(/|$)|/var/backups(/|$)"
)
CRON_HEADER = re.compile(rb"^# (DO NOT EDIT|\().*\n", re.MULTILINE)
"""The crontab program, by which Ansible writes, puts a comment with the time at the head."""
BACKUP = re.compile(r"\.\d+\.\d{4}-\d\d-\d\d@[\d:]+~$")
BIG = 8 << 20


def said(*argv: str) -> list[str]:
    """The lines that a program prints."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines()


def entry(path: str, words: list[bytes]) -> list[object]:
    """Kind and mode, owner, group, and what is in it."""
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return ["link", info.st_uid, info.st_gid, os.readlink(path)]
    what = ""
    if stat.S_ISREG(info.st_mode) and info.st_size < BIG:
        with open(path, "rb") as file:
            data = file.read()
        for word in words:
            data = data.replace(word, b"NODE")
        data = CRON_HEADER.sub(b"", data) if path.startswith("/var/spool/cron") else data
        what = data.decode("utf-8", "replace") if len(data) < 3000 else hashlib.sha256(data).hexdigest()
    return [oct(info.st_mode), info.st_uid, info.st_gid, what]


def files(words: list[bytes]) -> dict[str, list[object]]:
    """Every file, folder and link that is not volatile."""
    found = {}
    for top in TOPS:
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not VOLATILE.match(os.path.join(folder, name))]
            for name in folders + names:
                path = os.path.join(folder, name)
                if not VOLATILE.match(path):
                    found[BACKUP.sub(".BACKUP~", path)] = entry(path, words)
    return found


def shadow() -> list[str]:
    """Accounts with a password, one that is locked, or none; never the password itself, whose salt is drawn by lot."""
    with open("/etc/shadow", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(":") for line in file]
    return [f"{parts[0]} {parts[1] if len(parts[1]) < 3 else 'set'} {':'.join(parts[3:])}" for parts in lines]


def main(words: list[str]) -> None:
    """Print the state."""
    units = said("systemctl", "list-unit-files", "--no-legend", "--plain", "--no-pager")
    running = said(
        "systemctl", "list-units", "--no-legend", "--plain", "--no-pager", "--type=service,socket,timer,mount,path", "--state=active,failed"
    )
    found = {
        "files": files([word.encode() for word in words]),
        "packages": sorted(said("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n")),
        "manual": sorted(said("apt-mark", "showmanual")),
        "users": sorted(said("getent", "passwd")),
        "groups": sorted(said("getent", "group")),
        "passwords": sorted(shadow()),
        "enabled": sorted(" ".join(line.split()[:2]) for line in units if not line.startswith("session-")),
        "running": sorted(" ".join(line.split()[:4]) for line in running if not line.startswith(("user@", "session-"))),
    }
    json.dump(found, sys.stdout)


main(sys.argv[1:])
