"""Whether this is a container or a virtual machine, and of which kind."""

from __future__ import annotations

import os

from .reading import text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRODUCTS = (
    ("KVM", "kvm"),
    ("Bochs", "kvm"),
    ("OpenStack", "openstack"),
    ("RHEV Hypervisor", "RHEV"),
    ("oVirt Node", "oVirt"),
    ("VMware", "VMware"),
    ("VirtualBox", "virtualbox"),
    ("Virtual Machine", "VirtualPC"),
    ("Parallels", "parallels"),
    ("HVM domU", "xen"),
    ("Droplet", "kvm"),
    ("Google Compute Engine", "kvm"),
)
VENDORS = {
    "Amazon EC2": "kvm",
    "QEMU": "kvm",
    "Xen": "xen",
    "Microsoft Corporation": "VirtualPC",
    "DigitalOcean": "kvm",
    "Hetzner": "kvm",
    "Nutanix": "kvm",
}


def virtual() -> dict[str, Any]:
    """Type and role, and all techniques seen."""
    guest: set[str] = set()
    found = ""
    container = _container()
    if container:
        found = container
        guest |= {container, "container"}
    machine = _machine()
    if machine:
        found = found or machine
        guest.add(machine)
    host = {"kvm"} if os.path.exists("/dev/kvm") else set()
    role = "guest" if found else ("host" if host else "NA")
    return {
        "virtualization_type": found or ("kvm" if host else "NA"),
        "virtualization_role": role,
        "virtualization_tech_guest": sorted(guest),
        "virtualization_tech_host": sorted(host),
    }


def _container() -> str:
    environment = text("/proc/1/environ")
    for part in environment.split("\0"):
        if part.startswith("container="):
            name = part.partition("=")[2]
            return {"systemd-nspawn": "systemd-nspawn", "": ""}.get(name, name)
    if os.path.exists("/.dockerenv") or os.path.exists("/.dockerinit"):
        return "docker"
    if os.path.exists("/run/.containerenv"):
        return "podman"
    groups = text("/proc/1/cgroup")
    for mark, name in (("/docker", "docker"), ("/lxc/", "lxc"), ("kubepods", "docker"), ("/podman", "podman")):
        if mark in groups:
            return name
    return word("/run/systemd/container", "")


def _machine() -> str:
    product = word("/sys/devices/virtual/dmi/id/product_name", "")
    for mark, name in PRODUCTS:
        if product.startswith(mark):
            return name
    vendor = word("/sys/devices/virtual/dmi/id/sys_vendor", "")
    if vendor in VENDORS:
        return VENDORS[vendor]
    return "kvm" if "hypervisor" in text("/proc/cpuinfo").partition("flags")[2].partition("\n")[0].split() else ""
