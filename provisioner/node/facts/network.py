"""Network interfaces, addresses and routes, from the kernel (netlink and /sys), and the resolver's configuration."""

from __future__ import annotations

import os
import struct

from .reading import text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

KINDS = {"1": "ether", "512": "ppp", "772": "loopback", "32": "infiniband", "65534": "unknown", "776": "tunnel", "778": "tunnel"}
FLAGS = (
    "UP",
    "BROADCAST",
    "DEBUG",
    "LOOPBACK",
    "POINTOPOINT",
    "NOTRAILERS",
    "RUNNING",
    "NOARP",
    "PROMISC",
    "ALLMULTI",
    "MASTER",
    "SLAVE",
    "MULTICAST",
    "PORTSEL",
    "AUTOMEDIA",
    "DYNAMIC",
    "LOWER_UP",
)
GET_ADDRESS, GET_ROUTE = 22, 26
SCOPES = {0: "global", 200: "site", 253: "link", 254: "host"}


def network() -> dict[str, Any]:
    """Interfaces with their addresses, and the default routes."""
    names = sorted(os.listdir("/sys/class/net"))
    names = [name for name in names if os.path.isdir(f"/sys/class/net/{name}")]
    facts: dict[str, Any] = {"interfaces": names}
    cards = {name: _card(name) for name in names}
    v4: list[str] = []
    v6: list[str] = []
    for family, index, prefix, scope, address in _addresses():
        name = _name_of(index, cards)
        card = cards.get(name or "")
        if card is None:
            continue
        if family == 2:
            entry = _v4(address, prefix)
            if "ipv4" in card:
                card.setdefault("ipv4_secondaries", []).append(entry)
            else:
                card["ipv4"] = entry
            if not address.startswith("127."):
                v4.append(address)
        else:
            card.setdefault("ipv6", []).append({"address": address, "prefix": str(prefix), "scope": SCOPES.get(scope, str(scope))})
            if address != "::1":
                v6.append(address)
    for name, card in cards.items():
        facts[name.replace("-", "_").replace(".", "_").replace(":", "_")] = card
    facts.update(all_ipv4_addresses=v4, all_ipv6_addresses=v6)
    facts["default_ipv4"], facts["default_ipv6"] = _defaults(cards)
    return facts


def interfaces() -> dict[str, Any]:
    """Only their names; ``network`` has all."""
    return {"interfaces": sorted(name for name in os.listdir("/sys/class/net") if os.path.isdir(f"/sys/class/net/{name}"))}


def _card(name: str) -> dict[str, Any]:
    base = f"/sys/class/net/{name}"
    flags = int(word(f"{base}/flags", "0"), 16)
    card: dict[str, Any] = {
        "device": name,
        "macaddress": word(f"{base}/address", "") or None,
        "mtu": int(word(f"{base}/mtu", "0")),
        "active": word(f"{base}/operstate", "") == "up" or bool(flags & 8),
        "type": KINDS.get(word(f"{base}/type", ""), "unknown"),
        "promisc": bool(flags & 0x100),
        "flags": [flag for position, flag in enumerate(FLAGS) if flags >> position & 1],
    }
    if card["type"] == "loopback":
        card.pop("macaddress")
    speed = word(f"{base}/speed", "")
    if speed.lstrip("-").isdigit():
        card["speed"] = int(speed)
    if os.path.isdir(f"{base}/bridge"):
        card.update(type="bridge", interfaces=sorted(os.listdir(f"{base}/brif")), stp=word(f"{base}/bridge/stp_state", "0") == "1")
    if os.path.isdir(f"{base}/bonding"):
        card.update(type="bonding", slaves=word(f"{base}/bonding/slaves", "").split(), mode=word(f"{base}/bonding/mode", "").split(" ")[0])
    device = os.path.realpath(f"{base}/device")
    if os.path.exists(f"{base}/device"):
        card["pciid"] = os.path.basename(device)
        driver = os.path.realpath(f"{base}/device/driver/module")
        if os.path.isdir(driver):
            card["module"] = os.path.basename(driver)
    return card


def _name_of(index: int, cards: dict[str, Any]) -> str | None:
    for name in cards:
        if word(f"/sys/class/net/{name}/ifindex", "") == str(index):
            return name
    return None


def _v4(address: str, prefix: int) -> dict[str, str]:
    mask = (0xFFFFFFFF << (32 - prefix)) & 0xFFFFFFFF
    number = struct.unpack("!I", bytes(map(int, address.split("."))))[0]

    def dotted(value: int) -> str:
        return ".".join(map(str, struct.pack("!I", value)))

    entry = {"address": address, "netmask": dotted(mask), "network": dotted(number & mask), "prefix": str(prefix), "broadcast": ""}
    if prefix < 31 and not address.startswith("127."):
        entry["broadcast"] = dotted(number | ~mask & 0xFFFFFFFF)
    return entry


def _dump(kind: int, family: int) -> Iterator[bytes]:
    """The kernel's answers to a netlink dump request, each without its header."""
    import _socket  # without what ``socket`` adds: importing that costs more than the answers

    link = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 0)
    try:
        link.bind((0, 0))
        link.send(struct.pack("=IHHII", 16 + 12, kind, 0x301, 1, 0) + struct.pack("=B11x", family))
        while True:
            data = link.recv(1 << 17)
            while len(data) >= 16:
                length, answer = struct.unpack("=IH", data[:6])
                if answer in (2, 3) or length < 16:
                    return
                yield data[16:length]
                data = data[(length + 3) & ~3 :]
    finally:
        link.close()


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack("=HH", data[:4])
        if length < 4:
            break
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def _addresses() -> list[tuple[int, int, int, int, str]]:
    """Family, interface index, prefix, scope and address of every address."""
    import _socket

    found = []
    try:
        for answer in _dump(GET_ADDRESS, 0):
            family, prefix, _flags, scope, index = struct.unpack("=BBBBI", answer[:8])
            if family not in (_socket.AF_INET, _socket.AF_INET6):
                continue
            said = _attributes(answer[8:])
            raw = said.get(2) or said.get(1) or b""
            found.append((2 if family == _socket.AF_INET else 10, index, prefix, scope, _socket.inet_ntop(family, raw)))
    except OSError:
        return []
    return found


def _defaults(cards: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    v4: dict[str, Any] = {}
    best = None
    for line in text("/proc/net/route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == "00000000" and fields[7] == "00000000" and (best is None or int(fields[6]) < best):
            best = int(fields[6])
            gateway = ".".join(str(part) for part in struct.pack("<I", int(fields[2], 16)))
            v4 = {"gateway": gateway, "interface": fields[0]}
    card = cards.get(v4.get("interface", ""))
    if card is not None:
        v4.update(card.get("ipv4", {}), macaddress=card.get("macaddress"), mtu=card["mtu"], type=card["type"], alias=v4["interface"])
    v6: dict[str, Any] = {}
    for line in text("/proc/net/ipv6_route").splitlines():
        fields = line.split()
        if len(fields) > 9 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo" and fields[4] != "0" * 32:
            import _socket

            v6 = {"gateway": _socket.inet_ntop(_socket.AF_INET6, bytes.fromhex(fields[4])), "interface": fields[9]}
            break
    card = cards.get(v6.get("interface", ""))
    if card is not None:
        chosen = next((entry for entry in card.get("ipv6", []) if entry["scope"] == "global"), None)
        v6.update(chosen or {}, macaddress=card.get("macaddress"), mtu=card["mtu"], type=card["type"])
    return v4, v6


def dns() -> dict[str, Any]:
    """From /etc/resolv.conf."""
    facts: dict[str, Any] = {}
    for line in text("/etc/resolv.conf").splitlines():
        words = line.split("#")[0].split(";")[0].split()
        if not words:
            continue
        if words[0] == "nameserver":
            facts.setdefault("nameservers", []).extend(words[1:])
        elif words[0] == "domain" and len(words) > 1:
            facts["domain"] = words[1]
        elif words[0] in ("search", "sortlist"):
            facts[words[0]] = words[1:]
        elif words[0] == "options":
            pairs = (word.partition(":") for word in words[1:])
            facts["options"] = {key: value if colon else True for key, colon, value in pairs}
    return {"dns": facts}
