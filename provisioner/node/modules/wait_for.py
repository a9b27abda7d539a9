"""Wait for a port, a file, or a time to pass."""

from __future__ import annotations

import os
import time

from ..declare import Module, Params, exclusive, option
from ..faults import ResultUnknown, UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

STATES = {"ESTABLISHED": "01", "SYN_SENT": "02", "SYN_RECV": "03", "FIN_WAIT1": "04", "FIN_WAIT2": "05", "TIME_WAIT": "06"}


class WaitForParams(Params):
    """Parameters of ``wait_for``."""

    host: str = option("Where the port is.", "127.0.0.1")
    port: int | None = option("A TCP port.", None)
    path: str | None = option("A file.", None, kind="path")
    state: str = option("What to wait for.", "started", choices=("absent", "drained", "present", "started", "stopped"))
    search_regex: str | None = option("A pattern that the file, or what the port says, must match.", None)
    timeout: int = option("Seconds to wait at most.", 300)
    delay: int = option("Seconds to wait before the first look.", 0)
    sleep: int = option("Seconds between two looks.", 1)
    connect_timeout: int = option("Seconds for one try to connect.", 5)
    active_connection_states: list[str] = option(
        "Which connections count for drained.", ["ESTABLISHED", "FIN_WAIT1", "FIN_WAIT2", "SYN_RECV", "SYN_SENT", "TIME_WAIT"]
    )
    exclude_hosts: list[str] | None = option("Hosts whose connections do not count for drained.", None)
    msg: str | None = option("What to say when time is up.", None)


def run(node: Node, p: WaitForParams) -> dict[str, Any]:
    """Look until it is so, or the time is up."""
    started = time.monotonic()
    if p.port is None and p.path is None:
        if p.state in ("started", "present"):
            time.sleep(p.timeout)
        return {"elapsed": int(time.monotonic() - started), "state": p.state, "path": None, "port": None}
    if p.delay:
        time.sleep(p.delay)
    path = node.files.expand(p.path) if p.path else None
    _foreseeable(node, p, path)
    while True:
        found = _look(node, p, path)
        if found is not None:
            return {
                "elapsed": int(time.monotonic() - started),
                "state": p.state,
                "path": path,
                "port": p.port,
                "search_regex": p.search_regex,
                **found,
            }
        if time.monotonic() - started > p.timeout:
            node.fail(p.msg or _late(p, path), elapsed=int(time.monotonic() - started))
        time.sleep(p.sleep)


def _foreseeable(node: Node, p: WaitForParams, path: str | None) -> None:
    """When something pending decides the outcome, waiting now would be in vain: the answer is not known yet."""
    try:
        if path is not None:
            node.files.stat(path)
        else:
            node.commands.query(["true"], about=[("unit", ""), ("package", ""), ("port", str(p.port))])
    except UnknownReading as unknown:
        raise ResultUnknown(unknown.because) from None


def _late(p: WaitForParams, path: str | None) -> str:
    what = f"file {path}" if path is not None else f"{p.host}:{p.port}"
    verbs = {"started": "appear", "present": "appear", "stopped": "stop", "absent": "go away", "drained": "drain"}
    pattern = f" with a match of {p.search_regex!r}" if p.search_regex else ""
    return f"Timeout when waiting for {what} to {verbs[p.state]}{pattern} after {p.timeout} s"


def _look(node: Node, p: WaitForParams, path: str | None) -> dict[str, Any] | None:
    """The result when it is so, else None."""
    wanted = p.state in ("started", "present")
    if p.state == "drained":
        return {} if not _connections(p) else None
    if path is not None:
        return _look_at_file(node, p, path, wanted)
    answer = _talk(p)
    if not wanted:
        return {} if answer is None else None
    if answer is None:
        return None
    return _searched(p, answer)


def _look_at_file(node: Node, p: WaitForParams, path: str, wanted: bool) -> dict[str, Any] | None:
    there = os.path.exists(path)
    if not there or not wanted:
        return {} if there == wanted else None
    if p.search_regex is None:
        return {}
    return _searched(p, node.files.read(path))


def _searched(p: WaitForParams, data: bytes) -> dict[str, Any] | None:
    if p.search_regex is None:
        return {}
    import re

    match = re.search(p.search_regex.encode(), data, re.MULTILINE)
    if match is None:
        return None
    groups = [group.decode("utf-8", "replace") if group is not None else None for group in match.groups()]
    named = {name: value.decode("utf-8", "replace") if value is not None else None for name, value in match.groupdict().items()}
    return {"match_groups": groups, "match_groupdict": named}


def _talk(p: WaitForParams) -> bytes | None:
    """What the port says at once, when it takes connections; None when it does not."""
    import socket

    try:
        with socket.create_connection((p.host, p.port or 0), timeout=p.connect_timeout) as link:
            if p.search_regex is None:
                return b""
            import re

            data = b""
            link.settimeout(p.connect_timeout)
            pattern = re.compile(p.search_regex.encode(), re.MULTILINE)
            try:
                while not pattern.search(data):
                    piece = link.recv(4096)
                    if not piece:
                        break
                    data += piece
            except OSError:
                return data
            return data
    except OSError:
        return None


def _connections(p: WaitForParams) -> int:
    """How many connections to the port are in one of the states that count."""
    import socket

    states = {STATES[name] for name in p.active_connection_states if name in STATES}
    excluded = set()
    for host in p.exclude_hosts or ():
        excluded |= {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    count = 0
    for table, family in (("/proc/net/tcp", socket.AF_INET), ("/proc/net/tcp6", socket.AF_INET6)):
        try:
            with open(table, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] in states and int(words[1].rpartition(":")[2], 16) == p.port and _address(words[2], family) not in excluded:
                count += 1
    return count


def _address(text: str, family: int) -> str:
    import socket

    raw = bytes.fromhex(text.partition(":")[0])
    groups = [raw[start : start + 4][::-1] for start in range(0, len(raw), 4)]
    return socket.inet_ntop(family, b"".join(groups))


MODULE = Module(
    name="wait_for",
    summary="Wait for a port, a file, or a time to pass.",
    params=WaitForParams,
    run=run,
    rules=(exclusive("port", "path"),),
    examples="- wait_for: {port: 9400, timeout: 60}\n",
)
