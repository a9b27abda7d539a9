"""IP and hardware addresses as the collection ``ansible.utils`` reads them, and its tests."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Address:
    """An address in its network; ``bare`` when the text has no prefix, ``text`` is how it was written."""

    ip: IP
    network: Network
    bare: bool
    text: str

    @property
    def version(self) -> int:
        """4 or 6."""
        return self.ip.version

    @property
    def prefix(self) -> int:
        """The length of the network's prefix."""
        return self.network.prefixlen

    @property
    def size(self) -> int:
        """How many addresses the network has."""
        return self.network.num_addresses

    @property
    def is_network(self) -> bool:
        """True when it names a network of more than one address, not an address in it."""
        return self.size > 1 and self.ip == self.network.network_address

    @property
    def broadcast(self) -> IP | None:
        """The last address of networks of more than two."""
        return self.network.broadcast_address if self.size > 2 else None

    @property
    def first(self) -> IP:
        """The first address a host can have."""
        return self.network.network_address + (1 if self.size > 2 else 0)

    @property
    def last(self) -> IP:
        """The last address a host can have."""
        return self.network.broadcast_address - (1 if self.size > 2 else 0)

    @property
    def cidr(self) -> str:
        """``10.0.0.1/24``."""
        return f"{shown(self.ip)}/{self.prefix}"


def shown(ip: IP) -> str:
    """An address as text; mapped ones keep their IPv4 part readable in every version of Python."""
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return f"::ffff:{ip.ipv4_mapped}"
    return str(ip)


def parse(value: Any) -> Address | None:
    """The address that a text or number describes, with or without a prefix or mask; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    numeric = re.fullmatch(r"(\d+)(/\d+)?", text)
    try:
        if numeric is not None:
            text = f"{ipaddress.ip_address(int(numeric[1]))}{numeric[2] or ''}"
        interface = ipaddress.ip_interface(text)
    except ValueError:
        return None
    written = interface.with_prefixlen if numeric is not None else text
    return Address(interface.ip, interface.network, "/" not in text, written)


def parse_network(value: Any) -> Network:
    """The network that a text describes; raises ``ValueError``."""
    found = parse(value)
    if found is None:
        raise ValueError(f"'{value}' is no address or network")
    return found.network


def within(inner: Network, outer: Network) -> bool:
    """Whether all addresses of a network are in another one."""
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


_MAC = re.compile(
    r"[0-9A-Fa-f]{12}|[0-9A-Fa-f]{1,2}(?::[0-9A-Fa-f]{1,2}){5}|[0-9A-Fa-f]{1,2}(?:-[0-9A-Fa-f]{1,2}){5}"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{6}[:-][0-9A-Fa-f]{6}"
)


def parse_mac(value: Any) -> str | None:
    """The twelve hexadecimal digits of a hardware address in any usual form; None for anything else."""
    text = str(value)
    if not _MAC.fullmatch(text):
        return None
    groups = re.split(r"[:.-]", text)
    width = 12 // len(groups)
    return "".join(group.rjust(width, "0") for group in groups).lower()


def _ip(value: Any) -> IP | None:
    """A bare address or None."""
    found = parse(value) if isinstance(value, str) else None
    return found.ip if found is not None and found.bare else None


def _network(value: Any) -> Network | None:
    """A network whose address has no host part, or None."""
    found = parse(value) if isinstance(value, str) else None
    return found.network if found is not None and found.ip == found.network.network_address else None


def _of_ip(condition: Callable[[Any], bool], version: int | None = None) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        ip = _ip(value)
        return ip is not None and version in (None, ip.version) and bool(condition(ip))

    return test


def _of_network(version: int | None) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        network = _network(value)
        return network is not None and version in (None, network.version)

    return test


def in_network(value: Any, network: Any) -> bool:
    """Whether an address or network lies in a network."""
    inner, outer = _network(value), _network(network)
    return inner is not None and outer is not None and within(inner, outer)


def in_any_network(value: Any, networks: Any) -> bool:
    """Whether it lies in at least one of several networks."""
    return any(in_network(value, network) for network in networks)


def in_one_network(value: Any, networks: Any) -> bool:
    """Whether it lies in exactly one of several networks."""
    return sum(in_network(value, network) for network in networks) == 1


def resolvable(value: Any) -> bool:
    """Whether the controller can resolve a name."""
    import socket

    try:
        socket.getaddrinfo(str(value), None)
    except OSError:
        return False
    return True


def _mask(*, host: bool) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        ip = _ip(value)
        if not isinstance(ip, ipaddress.IPv4Address):
            return False
        bits = f"{int(ip):032b}"
        return "10" not in bits if host else "01" not in bits

    return test


TESTS: dict[str, Callable[..., bool]] = {
    "in_any_network": in_any_network,
    "in_network": in_network,
    "in_one_network": in_one_network,
    "ip": _of_network(None),
    "ip_address": _of_ip(lambda ip: True),
    "ipv4": _of_network(4),
    "ipv4_address": _of_ip(lambda ip: True, 4),
    "ipv4_hostmask": _mask(host=True),
    "ipv4_netmask": _mask(host=False),
    "ipv6": _of_network(6),
    "ipv6_address": _of_ip(lambda ip: True, 6),
    "ipv6_ipv4_mapped": _of_ip(lambda ip: ip.ipv4_mapped is not None, 6),
    "ipv6_sixtofour": _of_ip(lambda ip: ip.sixtofour is not None, 6),
    "ipv6_teredo": _of_ip(lambda ip: ip.teredo is not None, 6),
    "loopback": _of_ip(lambda ip: ip.is_loopback),
    "mac": lambda value: parse_mac(value) is not None,
    "multicast": _of_ip(lambda ip: ip.is_multicast),
    "private": _of_ip(lambda ip: ip.is_private),
    "public": _of_ip(lambda ip: ip.is_global and not ip.is_multicast),
    "reserved": _of_ip(lambda ip: ip.is_reserved),
    "resolvable": resolvable,
    "subnet_of": in_network,
    "supernet_of": lambda value, network: in_network(network, value),
    "unspecified": _of_ip(lambda ip: ip.is_unspecified),
}
