"""Connections over SSH: Fabric's ``Connection`` with our own socket, host-key policy and login, and a raw channel on it.

Where time goes in a handshake is known: Nagle's algorithm meets delayed acknowledgements (40 ms each time), the start of a command
need not wait for the server's consent, and Paramiko's reading thread need not wake ten times a second.
"""

from __future__ import annotations

import errno
import logging
import random
import socket
import subprocess
import threading
import time
from typing import Any

from provisioner.errors import HostUnreachable
from provisioner.ports import Target
from provisioner.transport.spare import spared

with spared("unittest.mock", "Mock"):
    import fabric
    import paramiko
    from paramiko.common import cMSG_CHANNEL_REQUEST, cMSG_GLOBAL_REQUEST
    from paramiko.packet import Packetizer

    from provisioner.transport import ssh_hosts
    from provisioner.transport.ssh_auth import Login
    from provisioner.transport.ssh_config import Settings, resolve, resolve_hop

WINDOW = 16 << 20
"""Bytes a node may send before we have to take them."""
WAKE = 2.0
"""Seconds between two looks of a connection's reading thread at whether it is still wanted."""
ATTEMPTS = 4
"""Tries at a server that turns us away before its banner, as one does that is asked by many at once (MaxStartups)."""
FAST_CIPHERS = ("aes128-gcm@openssh.com", "aes128-ctr", "aes256-gcm@openssh.com")
LISTS = {
    "kexalgorithms": "_preferred_kex",
    "ciphers": "_preferred_ciphers",
    "macs": "_preferred_macs",
    "hostkeyalgorithms": "_preferred_keys",
    "pubkeyacceptedalgorithms": "_preferred_pubkeys",
}

logging.getLogger("paramiko").addHandler(logging.NullHandler())


class Busy(Exception):
    """The server closed the connection before it said anything."""


class QuickSocket(socket.socket):
    """A socket that acknowledges at once: a server that holds back small packets until then would idle 40 ms after each."""

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return super().recv(size, flags)

    def close(self) -> None:
        try:
            self.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in recv
        except OSError:
            pass  # never connected, or closed by the other side
        super().close()


class Ear(Packetizer):
    """Remembers when the server was heard last."""

    heard = 0.0

    def read_message(self) -> tuple[int, paramiko.Message]:
        message = super().read_message()
        self.heard = time.monotonic()
        return message


class Link(paramiko.Transport):
    """A transport with our preferences."""

    _active_check_timeout = WAKE
    _preferred_ciphers: tuple[str, ...]
    _preferred_keys: tuple[str, ...]

    def __init__(self, sock: Any, settings: Settings, entries: list[ssh_hosts.Entry]) -> None:
        super().__init__(sock, default_window_size=WINDOW, packetizer_class=Ear)
        ciphers = self._preferred_ciphers
        self._preferred_ciphers = (
            *(name for name in FAST_CIPHERS if name in ciphers),
            *(name for name in ciphers if name not in FAST_CIPHERS),
        )
        for option, wanted in settings.algorithms:
            setattr(self, LISTS[option], choose(option, wanted, getattr(self, LISTS[option])))
        self._preferred_keys = ssh_hosts.preferred(entries, self._preferred_keys)
        self.banner_timeout = self.handshake_timeout = settings.timeout
        self.auth_timeout = max(settings.timeout, 30.0)
        self.channel_timeout = max(settings.timeout, 30.0)

    def tell(self, message: paramiko.Message) -> None:
        """Send a message of our own making."""
        self._send_user_message(message)  # type: ignore[attr-defined]  # all of Paramiko's own requests go out through it

    @property
    def ear(self) -> Ear:
        """The packetizer, as what it is."""
        found = self.packetizer
        assert isinstance(found, Ear)
        return found


def choose(option: str, wanted: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """An algorithm list as ssh writes it, ``+``, ``-`` and ``^`` included, applied to what there is."""
    sign, names = (wanted[0], wanted[1:]) if wanted[:1] in "+-^" else ("", wanted)
    listed = [name.strip() for name in names.split(",")]
    if sign == "-":
        chosen = tuple(name for name in known if name not in listed)
    else:
        first = tuple(name for name in listed if name in known)
        chosen = first if not sign else (*first, *(name for name in known if name not in first)) if sign == "^" else known
    if not chosen:
        raise HostUnreachable(f"none of the {option} {wanted} is supported", why=f"supported are {', '.join(known)}")
    return chosen


class SshStream:
    """A command on a channel; see ``streams.Stream``."""

    def __init__(self, connection: Connection, channel: paramiko.Channel) -> None:
        self.login = connection.settings.user
        self._connection = connection
        self._channel = channel
        self._link = connection.link
        self._came = threading.Event()
        self._asked_at = 0.0
        for buffer in (channel.in_buffer, channel.in_stderr_buffer):
            buffer.set_event(_Bell(self._came))  # type: ignore[arg-type]

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        """See ``Stream.receive``."""
        until = time.monotonic() + timeout
        channel = self._channel
        while True:
            self._came.clear()
            err = channel.recv_stderr(WINDOW) if channel.recv_stderr_ready() else b""
            out = channel.recv(WINDOW) if channel.recv_ready() else b""
            if out or err:
                return out, err
            if channel.eof_received or channel.closed:
                return None if not channel.recv_ready() else (channel.recv(WINDOW), b"")
            left = until - time.monotonic()
            if left <= 0 or not self._came.wait(left):
                return b"", b""

    def send(self, data: memoryview, timeout: float) -> int:
        """See ``Stream.send``."""
        self._channel.settimeout(timeout)
        try:
            return self._channel.send(data[: 1 << 20].tobytes())
        except TimeoutError:
            return 0

    def finish(self) -> None:
        """See ``Stream.finish``."""
        self._channel.shutdown_write()

    def exit_code(self, timeout: float) -> int | None:
        """See ``Stream.exit_code``."""
        if not self._channel.status_event.wait(timeout) or self._channel.exit_status < 0:
            return None
        return self._channel.exit_status

    def interrupt(self) -> None:
        """See ``Stream.interrupt``. Old servers do not know how to."""
        request = self._connection.request(self._channel, "signal")
        request.add_string("TERM")
        self._link.tell(request)

    def trouble(self) -> str:
        """See ``Stream.trouble``. Asks the server for a sign of life when it has been silent, and believes only an answer."""
        settings, now = self._connection.settings, time.monotonic()
        if not self._link.is_active():
            return "the ssh connection was lost"
        silent = now - self._link.ear.heard
        if silent < settings.alive_every:
            return ""
        if settings.alive_most and silent >= settings.alive_every * settings.alive_most:
            return f"the node does not answer since {silent:.0f} s"
        if now - self._asked_at >= settings.alive_every:
            self._asked_at = now
            question = paramiko.Message()
            question.add_byte(cMSG_GLOBAL_REQUEST)
            question.add_string("keepalive@openssh.com")
            question.add_boolean(True)
            # Never waits for a server that does not read: that is what this is to find out.
            threading.Thread(target=self._link.tell, args=(question,), daemon=True).start()
        return ""

    def close(self) -> None:
        """See ``Stream.close``."""
        self._connection.close()


class _Bell:
    """What Paramiko's buffers ring when something came; who waits clears it, not they."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        """Two buffers share the bell: one that is empty says nothing of the other."""


class Connection:
    """An open connection to a target, through as many jump hosts as it takes. ``HostUnreachable`` when there is none to be had."""

    def __init__(self, target: Target) -> None:
        self.settings = resolve(target)
        self._hops: list[fabric.Connection] = []
        self._helper: subprocess.Popen[bytes] | None = None
        try:
            for hop in self.settings.jump:
                self._hops.append(self._open(resolve_hop(hop, target), None, f"jump host {hop}: "))
            self._fabric = self._open(self.settings, target.password, "")
        except BaseException:
            self.close()
            raise

    @property
    def link(self) -> Link:
        """Our transport under Fabric's connection."""
        found = self._fabric.transport
        assert isinstance(found, Link)
        return found

    def start(self, command: str) -> SshStream:
        """Start a command. Its input may be sent at once: whether the server consents shows in what it does."""
        try:
            channel: paramiko.Channel = self._fabric.create_session()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise HostUnreachable(
                f"logged in, but the server opens no session: {error}",
                help="look at MaxSessions and ForceCommand in the node's sshd_config",
            ) from None
        stream = SshStream(self, channel)
        request = self.request(channel, "exec")
        request.add_string(command)
        self.link.tell(request)
        return stream

    @staticmethod
    def request(channel: paramiko.Channel, kind: str) -> paramiko.Message:
        """The head of a request on a channel that wants no answer."""
        request = paramiko.Message()
        request.add_byte(cMSG_CHANNEL_REQUEST)
        request.add_int(channel.remote_chanid)
        request.add_string(kind)
        request.add_boolean(False)
        return request

    def close(self) -> None:
        """Close everything, from the far end to the near one."""
        found: fabric.Connection | None = getattr(self, "_fabric", None)
        for connection in ([found] if found is not None else []) + self._hops[::-1]:
            connection.close()
        if self._helper is not None:
            self._helper.terminate()
            self._helper.wait()
            self._helper = None

    def _open(self, settings: Settings, password: str | None, prefix: str) -> fabric.Connection:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(settings, password)
            except Busy as busy:
                if attempt == ATTEMPTS:
                    raise HostUnreachable(
                        f"{prefix}the server closed the connection before it said anything",
                        why=str(busy),
                        help="if many connect at once, raise MaxStartups in its sshd_config or lower --forks; check its TCP wrappers, too",
                    ) from None
                time.sleep(random.uniform(0.1, 0.4) * 2**attempt)
            except HostUnreachable as error:
                error.message = prefix + error.message
                raise
        raise AssertionError

    def _attempt(self, settings: Settings, password: str | None) -> fabric.Connection:
        entries = ssh_hosts.entries_of(settings)
        made: list[Link] = []

        def link(sock: Any, **_options: Any) -> Link:
            made.append(Link(sock, settings, entries))
            return made[0]

        connection = fabric.Connection(
            settings.address,
            user=settings.user,
            port=settings.port,
            config=_fabric_config(),
            gateway=False,
            forward_agent=settings.forward_agent,
            connect_timeout=max(1, round(settings.timeout)),
            connect_kwargs={"sock": self._reach(settings), "transport_factory": link, "auth_strategy": Login(settings, password)},
        )
        connection.client.set_missing_host_key_policy(ssh_hosts.Policy(settings, entries))
        try:
            connection.open()
        except BaseException as error:
            connection.client.close()
            raise _explain(error, settings, made[0] if made else None) from None
        return connection

    # -- the way there -------------------------------------------------------------------------------------------------------------

    def _reach(self, settings: Settings) -> Any:
        """A socket to the server, or something that acts like one."""
        if settings is not self.settings or not (settings.jump or settings.command):
            if self._hops:
                return self._through(settings)
            return dial(settings)
        if settings.command:
            return self._helped(settings.command)
        return self._through(settings)

    def _through(self, settings: Settings) -> paramiko.Channel:
        try:
            link: paramiko.Transport = self._hops[-1].transport
            return link.open_channel("direct-tcpip", (settings.address, settings.port), ("", 0), timeout=settings.timeout)
        except paramiko.ChannelException as error:
            raise HostUnreachable(
                f"the jump host cannot reach {settings.address} port {settings.port}: {error.text}",
                help="AllowTcpForwarding must be on at the jump host, and the name must resolve there",
            ) from None
        except (paramiko.SSHException, EOFError) as error:
            raise HostUnreachable(f"the jump host does not open a way to {settings.address} port {settings.port}: {error}") from None

    def _helped(self, command: str) -> socket.socket:
        """Our end of a ProxyCommand, which has the other one as stdin and stdout."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._helper = subprocess.Popen(
                f"exec {command}", shell=True, stdin=theirs.fileno(), stdout=theirs.fileno(), start_new_session=True
            )
        return ours


def dial(settings: Settings) -> socket.socket:
    """A TCP connection to the server; ``HostUnreachable`` with a reason of its own for each way to fail."""
    where = f"{settings.address} port {settings.port}"
    families = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
    try:
        found = socket.getaddrinfo(settings.address, settings.port, families.get(settings.family, 0), socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise HostUnreachable(
            f"the name {settings.address} cannot be resolved",
            why=error.strerror if isinstance(error, socket.gaierror) and error.strerror else str(error),
            help="correct it in the inventory, or give the address in ansible_host",
        ) from None
    last: OSError = OSError("no address")
    for family, _, _, _, address in found:
        sock = QuickSocket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(settings.timeout)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.bind:
                sock.bind((settings.bind, 0))
            sock.connect(address)
            return sock
        except OSError as error:
            sock.close()
            last = error
    raise _no_way(last, where, settings.timeout)


def _no_way(error: OSError, where: str, timeout: float) -> HostUnreachable:
    if isinstance(error, TimeoutError):
        return HostUnreachable(
            f"no answer from {where} within {timeout:g} s",
            help="is the host up, and does a firewall let you through? ansible_timeout (--timeout) sets the limit",
        )
    if isinstance(error, ConnectionRefusedError):
        return HostUnreachable(f"{where} refuses connections", help="is sshd running there, and is ansible_port right?")
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return HostUnreachable(f"there is no route to {where}: {error.strerror}", help="check the address, the network and the VPN")
    return HostUnreachable(f"cannot connect to {where}: {error.strerror or error}")


def _explain(error: BaseException, settings: Settings, link: Link | None) -> BaseException:
    """What went wrong between the first byte and the end of the login."""
    where = f"{settings.address} port {settings.port}"
    if isinstance(error, HostUnreachable | Busy) or not isinstance(error, Exception):
        return error
    spoke = link is not None and bool(link.remote_version)
    if not spoke:
        if str(error) == "No existing session":
            return HostUnreachable(f"{where} accepts connections but says nothing", help="is it an ssh server, and is it overloaded?")
        if isinstance(error, EOFError | ConnectionResetError | BrokenPipeError) or "banner" in str(error):
            if settings.command:
                return HostUnreachable(
                    "the ProxyCommand gives no connection", why=f"{settings.command}: {error or 'it ended'}", help="try it by hand"
                )
            return Busy(f"{where}: {error or 'connection closed'}")
        return HostUnreachable(f"{where} does not speak ssh: {error}")
    if isinstance(error, paramiko.SSHException) and "no acceptable" in str(error).lower():
        return HostUnreachable(
            f"no algorithm in common with {where}: {error}",
            why=f"the server is {link.remote_version if link else 'unknown'}",
            help="update its sshd, or change KexAlgorithms, Ciphers, MACs or HostKeyAlgorithms in ~/.ssh/config",
        )
    if str(error) == "No existing session":
        return HostUnreachable(f"{where} did not finish the handshake within {settings.timeout:g} s")
    return HostUnreachable(f"the ssh handshake with {where} failed: {error or type(error).__name__}")


def _fabric_config() -> fabric.Config:
    """Fabric's configuration without any file of its own: ssh's files are read by ``ssh_config``.

    One for each connection, which writes into it: while it does, others that shared it would find it empty.
    """
    return fabric.Config(lazy=True, ssh_config=paramiko.SSHConfig())
