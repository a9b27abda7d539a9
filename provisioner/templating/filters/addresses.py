"""Filters about IP and hardware addresses: the ``ipaddr`` family of ``ansible.utils``."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from provisioner.templating.addresses import IP, Address, parse, parse_mac, parse_network, shown, within

_NO_NETWORK = "Not a network address"


def _needs_network(address: Address) -> None:
    if address.bare:
        raise ValueError(_NO_NETWORK)


def _has_host_part(address: Address) -> bool:
    return address.size > 1 and not address.is_network


def _gateway(address: Address) -> Any:
    """An address that a host can have, with its prefix."""
    if address.size <= 2:
        return address.cidr
    return False if address.ip in (address.network.network_address, address.broadcast) else address.cidr


def _address(address: Address) -> Any:
    return None if address.is_network and address.version == 4 else shown(address.ip)


def _first_usable(address: Address) -> Any:
    _needs_network(address)
    return shown(address.first) if address.size > 1 else None


def _last_usable(address: Address) -> Any:
    _needs_network(address)
    return shown(address.last) if address.size > 1 else None


def _neighbour(address: Address, offset: int) -> Any:
    """The address so many steps further, if a host can have it."""
    _needs_network(address)
    number = int(address.ip) + offset
    usable = address.size > 1 and int(address.first) <= number <= int(address.last)
    return shown(type(address.ip)(number)) if usable else None


def _peer(address: Address) -> Any:
    _needs_network(address)
    if address.size == 2:
        return shown(type(address.ip)(int(address.ip) ^ 1))
    if address.size == 4:
        if address.ip in (address.network.network_address, address.network.broadcast_address):
            raise ValueError(f"{shown(address.ip)} is the network or broadcast address of a /{address.prefix} and has no peer")
        return shown(type(address.ip)(int(address.ip) ^ 3))
    raise ValueError("Not a point-to-point network")


def _six_to_four(address: Address) -> Any:
    if isinstance(address.ip, ipaddress.IPv6Address):
        return address.text if address.ip.sixtofour is not None else False
    if address.ip.is_multicast or address.is_network:
        return False
    number = f"{int(address.ip):08x}"
    return f"2002:{number[:4]}:{number[4:]}::1/48"


def _as_ipv4(address: Address) -> Any:
    if address.version == 4:
        return address.text
    number = int(address.ip)
    mapped = number >> 32 in (0, 0xFFFF) and address.prefix >= 96
    return f"{ipaddress.IPv4Address(number & 0xFFFFFFFF)}/{address.prefix - 96}" if mapped else False


def _as_ipv6(address: Address) -> Any:
    return address.text if address.version == 6 else f"::ffff:{address.ip}/{address.prefix + 96}"


def _when(condition: Callable[[Any], bool]) -> Callable[[Address], Any]:
    """The text as it was written if a condition holds for the address."""
    return lambda address: address.text if condition(address.ip) else None


def _is_public(ip: IP) -> bool:
    return ip.is_global and not ip.is_multicast


def _is_private(ip: IP) -> bool:
    return not ip.is_global and not ip.is_multicast


def _wrapped(address: Address) -> str:
    if address.version == 4:
        return address.text
    return f"[{shown(address.ip)}]" if address.bare else f"[{shown(address.ip)}]/{address.prefix}"


def _network_and(mask: str) -> Callable[[Address], str]:
    return lambda address: f"{shown(address.network.network_address)} {getattr(address.network, mask)}"


def _network_cidr(address: Address) -> str:
    return f"{shown(address.network.network_address)}/{address.prefix}"


_QUERIES: dict[str, Callable[[Address], Any]] = {
    "": lambda address: shown(address.ip) if address.bare else address.cidr,
    **dict.fromkeys(("address", "ip"), _address),
    **dict.fromkeys(("gateway", "gw", "router", "host/prefix", "hostnet", "address/prefix"), _gateway),
    **dict.fromkeys(("hostmask", "wildcard"), lambda address: str(address.network.hostmask)),
    **dict.fromkeys(("ipv4", "v4"), _as_ipv4),
    **dict.fromkeys(("ipv6", "v6"), _as_ipv6),
    **dict.fromkeys(("lo", "loopback"), _when(lambda ip: ip.is_loopback)),
    **dict.fromkeys(("network", "network_id"), lambda address: shown(address.network.network_address)),
    **dict.fromkeys(("network/prefix", "subnet"), _network_cidr),
    "6to4": _six_to_four,
    "bool": lambda address: True,
    "broadcast": lambda address: None if address.broadcast is None else shown(address.broadcast),
    "cidr": lambda address: address.cidr,
    "first_usable": _first_usable,
    "host": lambda address: None if address.is_network else address.cidr,
    "int": lambda address: int(address.ip) if address.bare else f"{int(address.ip)}/{address.prefix}",
    "ip/prefix": lambda address: address.cidr if _has_host_part(address) else None,
    "ip_netmask": lambda address: f"{shown(address.ip)} {address.network.netmask}" if _has_host_part(address) else None,
    "last_usable": _last_usable,
    "link-local": _when(lambda ip: ip.is_link_local),
    "multicast": _when(lambda ip: ip.is_multicast),
    "net": lambda address: address.cidr if address.is_network else None,
    "netmask": lambda address: str(address.network.netmask),
    "network_netmask": _network_and("netmask"),
    "network_wildcard": _network_and("hostmask"),
    "next_usable": lambda address: _neighbour(address, 1),
    "peer": _peer,
    "prefix": lambda address: address.prefix,
    "previous_usable": lambda address: _neighbour(address, -1),
    "private": _when(_is_private),
    "public": _when(_is_public),
    "range_usable": lambda address: f"{first}-{_last_usable(address)}" if (first := _first_usable(address)) else None,
    "revdns": lambda address: f"{address.ip.reverse_pointer}.",
    "size": lambda address: address.size,
    "size_usable": lambda address: 0 if address.size == 1 else address.size - (2 if address.size > 2 else 0),
    "type": lambda address: "network" if address.is_network else "address",
    "unicast": _when(lambda ip: not ip.is_multicast),
    "version": lambda address: address.version,
    "wrap": _wrapped,
}


def ipaddr(value: Any, query: Any = "", version: Any = False, alias: str = "ipaddr") -> Any:
    """What is asked of an address, or of each one in a list; False for what is no address."""
    if isinstance(value, (list, tuple)):
        return [found for found in (ipaddr(item, query, version, alias) for item in value) if found]
    address = parse(value)
    if address is None or (version and address.version != int(version)):
        return False
    text = str(query) if query is not True else ""
    if text in _QUERIES:
        return _QUERIES[text](address)
    if text.lstrip("-").isdigit():
        return shown(address.ip) if address.bare else _nth(address, int(text), with_prefix=True)
    network = parse(text)
    if network is None:
        raise ValueError(f"{alias}: unknown query '{text}'; known are {', '.join(filter(None, _QUERIES))}, a number or a network")
    return address.text if within(address.network, network.network) else None


def _nth(address: Address, index: int, *, with_prefix: bool) -> Any:
    if address.size == 1:
        return address.cidr
    position = index + address.size if index < 0 else index
    if not 0 <= position < address.size:
        return False
    found = shown(type(address.ip)(int(address.network.network_address) + position))
    return f"{found}/{address.prefix}" if with_prefix else found


def ipv4(value: Any, query: Any = "") -> Any:
    """The same for version 4 only."""
    return ipaddr(value, query, version=4, alias="ipv4")


def ipv6(value: Any, query: Any = "") -> Any:
    """The same for version 6 only."""
    return ipaddr(value, query, version=6, alias="ipv6")


def ipwrap(value: Any, query: Any = "") -> Any:
    """Addresses of version 6 in brackets; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [ipwrap(item, query) for item in value]
    address = parse(value)
    found = ipaddr(value, query, alias="ipwrap") if address is not None else None
    inner = parse(found) if found and found is not True else None
    return value if inner is None else _wrapped(inner)


def ipsubnet(value: Any, query: Any = "", index: Any = None) -> Any:
    """Subnets: how many of a size fit, the one at an index, or the position of a subnet (from 1) in a network."""
    address = parse(value)
    if address is None:
        return False
    if query in ("", None):
        return _network_cidr(address) if address.bare or address.is_network else str(address.network)
    if not str(query).isdigit():
        return _rank(address, str(query))
    prefix = int(query)
    if address.is_network or (not address.bare and address.size > 1):
        if prefix < address.prefix or prefix > address.ip.max_prefixlen:
            raise ValueError(f"Requested subnet size of {prefix} is invalid")
        count = 1 << (prefix - address.prefix)
        if index is None:
            return str(count)
        return _subnet_at(address.network, prefix, int(index), count)
    return _supernet(address, prefix, index)


def _subnet_at(network: Any, prefix: int, index: int, count: int) -> Any:
    position = index + count if index < 0 else index
    if not 0 <= position < count:
        return False
    start = int(network.network_address) + (position << (network.max_prefixlen - prefix))
    return f"{shown(type(network.network_address)(start))}/{prefix}"


def _supernet(address: Address, prefix: int, index: Any) -> Any:
    """The network of a size around an address; by index those of the sizes from there to the address itself."""
    around = [ipaddress.ip_network((address.ip, length), strict=False) for length in range(prefix, address.prefix)]
    if index is None:
        return str(ipaddress.ip_network((address.ip, prefix), strict=False))
    try:
        return str(around[int(index)])
    except IndexError:
        return False


def _rank(address: Address, query: str) -> str:
    outer = parse_network(query)
    if not within(address.network, outer):
        raise ValueError(f"{_network_cidr(address)} is not in the subnet {query}")
    offset = int(address.network.network_address) - int(outer.network_address)
    return str((offset >> (address.ip.max_prefixlen - address.prefix)) + 1)


def nthhost(value: Any, query: Any = "") -> Any:
    """The address at a position in a network."""
    address = parse(value)
    if address is None or query == "" or address.size == 1:
        return False
    return _nth(address, int(query), with_prefix=False)


def ipmath(value: Any, amount: Any) -> str:
    """An address so many steps further."""
    address = parse(value)
    if address is None:
        raise ValueError(f"You must pass a valid IP address; {value} is invalid")
    return shown(address.ip + int(amount))


def next_nth_usable(value: Any, offset: Any) -> Any:
    """The address so many steps further, if a host can have it."""
    address = parse(value)
    return False if address is None else _neighbour(address, int(offset))


def previous_nth_usable(value: Any, offset: Any) -> Any:
    """The address so many steps before, if a host can have it."""
    address = parse(value)
    return False if address is None else _neighbour(address, -int(offset))


def network_in_network(value: Any, test: Any) -> bool:
    """Whether a network has another one in it."""
    outer, inner = parse(value), parse(test)
    return outer is not None and inner is not None and within(inner.network, outer.network)


def network_in_usable(value: Any, test: Any) -> bool:
    """The same without the network's own and its broadcast address."""
    outer, inner = parse(value), parse(test)
    if outer is None or inner is None or not within(inner.network, outer.network):
        return False
    first, last = int(inner.network.network_address), int(inner.network.broadcast_address)
    return int(outer.first) <= first and last <= int(outer.last)


def reduce_on_network(value: Any, network: Any) -> list[Any]:
    """Those addresses of a list that lie in a network."""
    return [item for item in value if network_in_network(network, item)]


def slaac(value: Any, query: Any = "") -> Any:
    """The address that a host with a hardware address gives itself in a network of version 6."""
    address, digits = parse(value), parse_mac(query)
    if address is None or address.version != 6 or digits is None:
        return False
    number = int(digits, 16) ^ (0x02 << 40)
    host = ((number >> 24) << 40) | (0xFFFE << 24) | (number & 0xFFFFFF)
    return shown(ipaddress.IPv6Address((int(address.ip) >> 64 << 64) | host))


def _pairs(digits: str, separator: str, width: int = 2) -> str:
    return separator.join(digits[start : start + width] for start in range(0, 12, width))


_MAC_FORMS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("linux", "unix"), lambda digits: _pairs(digits, ":")),
    **dict.fromkeys(("win", "eui48"), lambda digits: _pairs(digits, "-").upper()),
    **dict.fromkeys(("pgsql", "postgresql", "psql"), lambda digits: _pairs(digits, ":", 6)),
    "bare": str.upper,
    "bool": lambda digits: True,
    "cisco": lambda digits: _pairs(digits, ".", 4),
    "int": lambda digits: int(digits, 16),
}


def hwaddr(value: Any, query: str = "", alias: str = "hwaddr") -> Any:
    """A hardware address in another form: linux, cisco, bare, int, win…"""
    digits = parse_mac(value)
    if digits is None:
        if query and query != "bool":
            raise ValueError(f"{alias}: not a hardware address: {value}")
        return False if query else None
    if not query:
        return value
    if query not in _MAC_FORMS:
        raise ValueError(f"{alias}: unknown query '{query}'; known are {', '.join(_MAC_FORMS)}")
    return _MAC_FORMS[query](digits)


def macaddr(value: Any, query: str = "") -> Any:
    """The same as ``hwaddr``."""
    return hwaddr(value, query, "macaddr")


def ip4_hex(value: Any, delimiter: str = "") -> str:
    """An address of version 4 in hexadecimal."""
    return delimiter.join(f"{byte:02x}" for byte in ipaddress.IPv4Address(str(value)).packed)


def ipv6form(value: Any, format: str) -> str:
    """An address of version 6 in full (``expand``), without leading zeros (``x509``) or short (``compress``)."""
    ip = ipaddress.IPv6Address(str(value))
    forms = {"expand": ip.exploded, "compress": ip.compressed, "x509": ":".join(f"{int(group, 16):x}" for group in ip.exploded.split(":"))}
    if format not in forms:
        raise ValueError(f"format is '{format}'; it can be {', '.join(forms)}")
    return forms[format]


def cidr_merge(value: Any, action: str = "merge") -> Any:
    """Networks as few as possible (``merge``), or the smallest one with all of them in it (``span``)."""
    networks = [parse_network(item) for item in value]
    if action == "merge":
        merged = [ipaddress.collapse_addresses([item for item in networks if item.version == version]) for version in (4, 6)]  # type: ignore[type-var]
        return [str(network) for group in merged for network in group]
    if action != "span":
        raise ValueError(f"cidr_merge: invalid action '{action}'; it can be merge or span")
    if not networks:
        return None
    spanning = networks[0]
    while not all(within(network, spanning) for network in networks):
        spanning = spanning.supernet()
    return str(spanning)


def usable_range(value: Any) -> dict[str, Any]:
    """All addresses of a network, and how many they are."""
    network = parse_network(value)
    if network.num_addresses > 1 << 20:
        raise ValueError(f"a network of {network.num_addresses} addresses is too large to list")
    return {"usable_ips": [shown(ip) for ip in network], "number_of_ips": network.num_addresses}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cidr_merge": cidr_merge,
    "hwaddr": hwaddr,
    "ip4_hex": ip4_hex,
    "ipaddr": ipaddr,
    "ipmath": ipmath,
    "ipsubnet": ipsubnet,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "ipv6form": ipv6form,
    "ipwrap": ipwrap,
    "macaddr": macaddr,
    "network_in_network": network_in_network,
    "network_in_usable": network_in_usable,
    "next_nth_usable": next_nth_usable,
    "nthhost": nthhost,
    "previous_nth_usable": previous_nth_usable,
    "reduce_on_network": reduce_on_network,
    "slaac": slaac,
    "usable_range": usable_range,
}

COLLECTIONS = {"ansible.utils": FUNCTIONS, "ansible.netcommon": FUNCTIONS}

SHORT = FUNCTIONS
"""They were part of Ansible once, and are still called by their short names."""
