"""What ssh would do for a host: ``~/.ssh/config``, the system's file and ``ansible_ssh_common_args``, resolved as OpenSSH does.

The first value found wins: the inventory's connection variables, then ``-o`` and its kin, then the user's file, then the system's.
Parsing and pattern matching are Paramiko's; what it lacks (``Include``, options of the command line) is put into the text it reads.
"""

from __future__ import annotations

import getpass
import glob
import os
import re
import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from provisioner.diagnostics import did_you_mean
from provisioner.errors import HostUnreachable
from provisioner.ports import Target

USER_FILE = Path("~/.ssh/config")
SYSTEM_FILE = Path("/etc/ssh/ssh_config")
USER_KNOWN_HOSTS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
SYSTEM_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
DEFAULT_KEYS = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
MOST_INCLUDES = 16

_HONOURED = """
addressfamily bindaddress ciphers connecttimeout forwardagent globalknownhostsfile hashknownhosts hostkeyalgorithms hostkeyalias hostname
identitiesonly identityagent identityfile kbdinteractiveauthentication kexalgorithms macs passwordauthentication port
preferredauthentications proxycommand proxyjump pubkeyacceptedalgorithms pubkeyauthentication serveralivecountmax serveraliveinterval
stricthostkeychecking user userknownhostsfile
"""
HONOURED = frozenset(_HONOURED.split())
_WITHOUT_EFFECT = """
addkeystoagent batchmode checkhostip clearallforwardings compression connectionattempts controlmaster controlpath controlpersist escapechar
exitonforwardfailure forwardx11 forwardx11trusted gssapiauthentication gssapidelegatecredentials ipqos loglevel
nohostauthenticationforlocalhost numberofpasswordprompts permitlocalcommand rekeylimit requesttty tcpkeepalive updatehostkeys
verifyhostkeydns visualhostkey warnweakcrypto
"""
WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT.split())
"""Options that change nothing for one session without a terminal, kept for the whole run."""
WITH_VALUE = {"-p": "Port", "-l": "User", "-i": "IdentityFile", "-J": "ProxyJump", "-b": "BindAddress", "-c": "Ciphers", "-m": "MACs"}
SWITCHES = {"-4": "AddressFamily inet", "-6": "AddressFamily inet6", "-A": "ForwardAgent yes", "-a": "ForwardAgent no"}
IDLE_SWITCHES = frozenset(["-C", "-q", "-T", "-x", "-v", "-vv", "-vvv", "-n"])


@dataclass(frozen=True)
class Settings:
    """How to reach and trust one host. Paths are absolute; ``jump`` and ``command``: through what, if not directly."""

    alias: str
    address: str
    port: int
    user: str
    keys: tuple[str, ...]
    explicit_keys: bool
    only_these_keys: bool
    agent: str | None
    jump: tuple[str, ...]
    command: str | None
    known_hosts: tuple[Path, ...]
    system_known_hosts: tuple[Path, ...]
    key_name: str
    checking: str
    hash_names: bool
    timeout: float
    alive_every: float
    alive_most: int
    forward_agent: bool
    methods: tuple[str, ...]
    family: str
    bind: str
    algorithms: tuple[tuple[str, str], ...]


def resolve(target: Target) -> Settings:
    """The settings for a target; ``HostUnreachable`` naming what is wrong in its variables or files."""
    overrides, file = parse_arguments(target.ssh_args)
    lines = [
        *((f"Port {target.port}",) if target.port else ()),
        *((f"User {target.user}",) if target.user else ()),
        *((f'IdentityFile "{target.private_key_file}"',) if target.private_key_file else ()),
        *overrides,
    ]
    if target.host_key_checking != "yes" and not any(line.lower().startswith("stricthostkeychecking") for line in overrides):
        lines.append(f"StrictHostKeyChecking {target.host_key_checking}")
    return _settings(target.address or target.host, tuple(lines), file, target.timeout)


def resolve_hop(hop: str, target: Target) -> Settings:
    """The settings for a jump host, ``[user@]host[:port]``: options given for the target do not apply to it, files and policy do."""
    _, file = parse_arguments(target.ssh_args)
    match = re.fullmatch(r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<six>[^]]+)\]|(?P<host>[^:]+))(?::(?P<port>\d+))?/?", hop)
    if match is None:
        raise HostUnreachable(f"ProxyJump {hop!r} is not [user@]host[:port]")
    lines = [f"{word} {value}" for word, value in (("Port", match["port"]), ("User", match["user"])) if value]
    if target.host_key_checking != "yes":
        lines.append(f"StrictHostKeyChecking {target.host_key_checking}")
    return _settings(match["six"] or match["host"], tuple(lines), file, target.timeout)


def parse_arguments(text: str) -> tuple[list[str], str | None]:
    """Options of an ssh command line as lines of a config file, and the file of ``-F``."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise HostUnreachable(f"ansible_ssh_common_args cannot be read: {error}", why=text) from None
    lines: list[str] = []
    file = None
    rest = iter(words)
    for word in rest:
        flag, value = word[:2], word[2:]
        if word in SWITCHES:
            lines.append(SWITCHES[word])
        elif word in IDLE_SWITCHES:
            continue
        elif flag in WITH_VALUE or flag in ("-o", "-F"):
            value = value or next(rest, "")
            if not value:
                raise HostUnreachable(f"ansible_ssh_common_args: {flag} needs a value", why=text)
            if flag == "-F":
                file = value
            else:
                lines.append(_option(value, text) if flag == "-o" else f"{WITH_VALUE[flag]} {value}")
        else:
            raise HostUnreachable(
                f"ansible_ssh_common_args: {word!r} is not supported",
                why=text,
                help=f"supported are -o OPTION=VALUE, -F FILE, {', '.join(WITH_VALUE)}, {', '.join(SWITCHES)}",
            )
    return lines, file


def _option(value: str, text: str) -> str:
    match = re.fullmatch(r"\s*(\w+)\s*[=\s]\s*(.*\S)\s*", value, re.DOTALL)
    if match is None:
        raise HostUnreachable(f"ansible_ssh_common_args: -o {value!r} is not OPTION=VALUE", why=text)
    name = match[1].lower()
    if name not in HONOURED | WITHOUT_EFFECT:
        raise HostUnreachable(
            f"ansible_ssh_common_args: the ssh option {match[1]} is not supported",
            why=text,
            help=did_you_mean(name, HONOURED) or "leave it out, or set it in a ProxyCommand that runs ssh",
        )
    return f"{match[1]} {match[2]}"


_configs: dict[tuple[object, ...], paramiko.SSHConfig] = {}
_parsing = threading.Lock()


class _Config(paramiko.SSHConfig):
    """Fills in only values that hold something to fill in: paramiko asks the resolver for our own full name (``%l``) at every look-up."""

    def _tokenize(self, *args: Any) -> Any:
        value = args[-1]
        return super()._tokenize(*args) if "%" in value or "~" in value else value  # type: ignore[misc]


def _config(lines: Sequence[str], file: str | None) -> paramiko.SSHConfig:
    """The files behind the given lines, parsed once for all hosts that share these."""
    files = [Path(file).expanduser()] if file else [USER_FILE.expanduser(), SYSTEM_FILE]
    if file and file.lower() == "none":
        files = []
    key = (tuple(lines), *files)
    with _parsing:
        if key not in _configs:
            text = "\n".join([*lines, *(line for path in files for line in ("Host *", *_read(path, str(path) == file, 0)))])
            try:
                _configs[key] = _Config.from_text(text)
            except (paramiko.SSHException, ValueError) as error:
                raise HostUnreachable(f"cannot read {' or '.join(str(path) for path in files)}: {error}") from None
        return _configs[key]


def _read(path: Path, needed: bool, depth: int, context: str = "Host *") -> Iterator[str]:
    """The lines of a config file with its includes in place; what an include opens ends with it."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        if needed or not isinstance(error, FileNotFoundError):
            raise HostUnreachable(f"cannot read {path}: {error.strerror}") from None
        return
    if depth > MOST_INCLUDES:
        raise HostUnreachable(f"{path}: includes nest deeper than {MOST_INCLUDES}")
    for line in lines:
        word, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if word.lower() in ("host", "match"):
            context = line
        if word.lower() != "include":
            yield line
            continue
        for pattern in shlex.split(value):
            base = SYSTEM_FILE.parent if path.is_relative_to(SYSTEM_FILE.parent) else USER_FILE.expanduser().parent
            for found in sorted(glob.glob(str(base / Path(pattern).expanduser()))):
                yield from _read(Path(found), True, depth + 1, context)
        yield context


def _settings(alias: str, lines: tuple[str, ...], file: str | None, timeout: float) -> Settings:
    try:
        found = _config(lines, file).lookup(alias)
    except (paramiko.SSHException, ValueError, KeyError) as error:
        raise HostUnreachable(f"the ssh configuration for {alias} cannot be used: {error}") from None
    get = {key: value for key, value in found.items() if isinstance(value, str)}.get
    user = get("user") or getpass.getuser()
    jump, command = _ways(found)
    keys = found.get("identityfile")
    paths = [_path(key, alias, user) for key in (keys if isinstance(keys, list) else DEFAULT_KEYS) if key.lower() != "none"]
    methods = [method.strip() for method in get("preferredauthentications", "publickey,password,keyboard-interactive").split(",")]
    off = {
        "publickey": get("pubkeyauthentication", "yes"),
        "password": get("passwordauthentication", "yes"),
        "keyboard-interactive": get("kbdinteractiveauthentication", "yes"),
    }
    named = ("kexalgorithms", "ciphers", "macs", "hostkeyalgorithms", "pubkeyacceptedalgorithms")
    return Settings(
        alias=alias,
        address=get("hostname") or alias,
        port=_number(get("port", "22"), "Port"),
        user=user,
        keys=tuple(paths),
        explicit_keys=isinstance(keys, list),
        only_these_keys=get("identitiesonly", "no") == "yes",
        agent=_agent(get("identityagent", "SSH_AUTH_SOCK"), alias, user),
        jump=jump,
        command=command,
        known_hosts=_paths(get("userknownhostsfile", USER_KNOWN_HOSTS), alias, user),
        system_known_hosts=_paths(get("globalknownhostsfile", SYSTEM_KNOWN_HOSTS), alias, user),
        key_name=get("hostkeyalias") or "",
        checking=_checking(get("stricthostkeychecking", "yes")),
        hash_names=get("hashknownhosts", "no") == "yes",
        timeout=float(_number(get("connecttimeout", "0"), "ConnectTimeout") or timeout),
        alive_every=float(_number(get("serveraliveinterval", "0"), "ServerAliveInterval") or 15),
        alive_most=_number(get("serveralivecountmax", "4"), "ServerAliveCountMax"),
        forward_agent=get("forwardagent", "no") not in ("no", ""),
        methods=tuple(method for method in methods if off.get(method, "no") != "no"),
        family=get("addressfamily", "any").lower(),
        bind=get("bindaddress", ""),
        algorithms=tuple((name, get(name, "")) for name in named if get(name)),
    )


def _ways(found: paramiko.SSHConfigDict) -> tuple[tuple[str, ...], str | None]:
    """Jump hosts, or the command; whichever was named first counts."""
    for key, value in found.items():
        if key == "proxyjump" and isinstance(value, str):
            return ((), None) if value.lower() == "none" else (tuple(hop.strip() for hop in value.split(",")), None)
        if key == "proxycommand":
            return (), value if isinstance(value, str) and value.lower() != "none" else None
    return (), None


def _checking(word: str) -> str:
    known = {"yes": "yes", "ask": "yes", "accept-new": "accept-new", "no": "no", "off": "no"}
    if word.lower() not in known:
        raise HostUnreachable(f"StrictHostKeyChecking {word!r} is not one of {', '.join(known)}")
    return known[word.lower()]


def _number(text: str, option: str) -> int:
    if not text.isdecimal():
        raise HostUnreachable(f"the ssh option {option} needs a number, not {text!r}")
    return int(text)


def _agent(value: str, alias: str, user: str) -> str | None:
    if value.lower() == "none":
        return None
    if value == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK") or None
    return os.environ.get(value[1:]) if value.startswith("$") else _path(value, alias, user)


def _paths(value: str, alias: str, user: str) -> tuple[Path, ...]:
    return tuple(Path(_path(word, alias, user)) for word in shlex.split(value) if word.lower() not in ("none", "/dev/null"))


def _path(text: str, alias: str, user: str) -> str:
    """A path with ``~`` and the usual tokens replaced."""
    tokens = {"%%": "%", "%d": str(Path.home()), "%h": alias, "%n": alias, "%r": user, "%u": getpass.getuser()}
    return os.path.expanduser(re.sub(r"%.", lambda token: tokens.get(token[0], token[0]), text.strip('"')))
