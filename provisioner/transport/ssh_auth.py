"""Logging in: which keys and passwords are tried in what order, and what is said when none fits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko
from paramiko.agent import AgentSSH

from provisioner.errors import HostUnreachable
from provisioner.transport.ssh_config import Settings
from provisioner.transport.ssh_hosts import fingerprint

AGENT_PATIENCE = 30.0
"""Seconds for an agent that asks a person before it signs."""


class Agent(AgentSSH):
    """The keys of an ssh-agent at a given socket."""

    def __init__(self, path: str) -> None:
        """``OSError`` or ``SSHException`` when nobody answers there."""
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(AGENT_PATIENCE)
            self._socket.connect(path)
            self._connect(self._socket)  # type: ignore[attr-defined]  # what Paramiko's own agent does with the socket it has found
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()


class Login:
    """Authenticates one connection; has the form of Paramiko's ``AuthStrategy``."""

    def __init__(self, settings: Settings, password: str | None) -> None:
        self._settings = settings
        self._password = password
        self._tried: list[str] = []
        self._seen: set[str] = set()
        self._agent: Agent | None = None
        self._agent_asked = False

    def authenticate(self, transport: paramiko.Transport) -> None:
        """Log in; ``HostUnreachable`` saying what was tried."""
        try:
            for method in self._order():
                if method == "publickey":
                    done = any(self._try_key(transport, name, key) for name, key in self._keys())
                elif self._password is None:
                    done = False
                else:
                    done = self._try_password(transport, method, self._password)
                if done:
                    return
            raise self._refused(transport)
        finally:
            if self._agent is not None:
                self._agent.close()

    def _order(self) -> list[str]:
        methods = [method for method in self._settings.methods if method in ("publickey", "password", "keyboard-interactive")]
        if self._password is not None and not self._settings.explicit_keys:
            # A server gives up after a few keys; a password that was given on purpose must still get its turn.
            methods.sort(key=lambda method: method == "publickey")
        return methods

    # -- keys ----------------------------------------------------------------------------------------------------------------------

    def _keys(self) -> Iterator[tuple[str, paramiko.PKey]]:
        """The keys to try: named files, then the agent's, then the usual files."""
        if self._settings.explicit_keys:
            yield from self._file_keys()
        if not self._settings.only_these_keys:
            for key in self._agent_keys():
                yield f"key {key.comment or key.get_name()!r} of the agent", key
        if not self._settings.explicit_keys:
            yield from self._file_keys()

    def _file_keys(self) -> Iterator[tuple[str, paramiko.PKey]]:
        for path in self._settings.keys:
            key = load_key(path)
            if isinstance(key, paramiko.PKey):
                yield f"key {path}", key
            elif key == LOCKED:
                held = next((one for one in self._agent_keys() if one.get_base64() == _public_part(path)), None)
                if held is not None:
                    yield f"key {path} through the agent", held
                else:
                    self._tried.append(f"key {path} has a passphrase and is in no agent (ssh-add {path})")
            elif self._settings.explicit_keys or key != MISSING:
                self._tried.append(f"key {path} {key}")

    def _agent_keys(self) -> tuple[paramiko.AgentKey, ...]:
        if not self._agent_asked and self._settings.agent is not None:
            self._agent_asked = True
            try:
                self._agent = Agent(self._settings.agent)
            except (OSError, paramiko.SSHException) as error:
                self._tried.append(f"the agent at {self._settings.agent} does not answer ({error})")
        return self._agent.get_keys() if self._agent is not None else ()

    def _try_key(self, transport: paramiko.Transport, name: str, key: paramiko.PKey) -> bool:
        text = key.get_base64()
        if text in self._seen:
            return False
        self._seen.add(text)
        try:
            more = transport.auth_publickey(self._settings.user, key)
        except paramiko.BadAuthenticationType:
            self._tried.append(f"{name}: the server takes no keys")
            return False
        except (paramiko.AuthenticationException, paramiko.SSHException) as error:
            return self._not_taken(transport, f"{name} ({fingerprint(text)})", error)
        return self._go_on(transport, more)

    # -- passwords -----------------------------------------------------------------------------------------------------------------

    def _try_password(self, transport: paramiko.Transport, method: str, password: str) -> bool:
        try:
            if method == "password":
                more = transport.auth_password(self._settings.user, password, fallback=False)
            else:
                answers = iter([password])
                more = transport.auth_interactive(self._settings.user, lambda _title, _text, asked: [next(answers, "") for _ in asked])
        except paramiko.BadAuthenticationType:
            self._tried.append(f"{method}: the server does not take it")
            return False
        except (paramiko.AuthenticationException, paramiko.SSHException) as error:
            return self._not_taken(transport, method, error)
        return self._go_on(transport, more)

    def _go_on(self, transport: paramiko.Transport, more: list[str]) -> bool:
        """After a success: whether that was all; some servers want a key and a password."""
        if not more:
            return True
        if self._password is not None:
            for method in ("password", "keyboard-interactive"):
                if method in more:
                    return self._try_password(transport, method, self._password)
        raise HostUnreachable(
            f"the server also wants {' or '.join(more)} of {self._settings.user}", help="give the password with -k or in ansible_password"
        )

    # -- what went wrong -----------------------------------------------------------------------------------------------------------

    def _not_taken(self, transport: paramiko.Transport, name: str, error: Exception) -> bool:
        if not transport.is_active():
            raise HostUnreachable(
                f"the server closed the connection while {self._settings.user} was logging in",
                why=f"tried before: {'; '.join(self._tried) or 'nothing'}; then {name}. Servers stop after a few attempts (MaxAuthTries)",
                help="name the one key in ansible_ssh_private_key_file, and set IdentitiesOnly yes",
            )
        self._tried.append(f"{name} was refused" if isinstance(error, paramiko.AuthenticationException) else f"{name}: {error}")
        return False

    def _refused(self, transport: paramiko.Transport) -> HostUnreachable:
        accepted = ""
        try:
            transport.auth_none(self._settings.user)
        except paramiko.BadAuthenticationType as error:
            accepted = f" (it accepts {', '.join(error.allowed_types)})"
        except paramiko.SSHException:
            pass  # it will not say what it accepts
        tried = "; ".join(self._tried) or "there was nothing to try: no key file, no agent, no password"
        return HostUnreachable(
            f"the server refused to let {self._settings.user} log in{accepted}",
            why=tried,
            help="check ansible_user and ansible_ssh_private_key_file; add the key to its authorized_keys, or give a password with -k",
        )


LOCKED = "has a passphrase"
MISSING = "does not exist"

_loaded: dict[str, tuple[float, paramiko.PKey | str]] = {}
_loading = threading.Lock()


def load_key(path: str) -> paramiko.PKey | str:
    """A private key, read once however many hosts use it, or why there is none."""
    try:
        stamp = Path(path).stat().st_mtime
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    with _loading:
        if path not in _loaded or _loaded[path][0] != stamp:
            _loaded[path] = (stamp, _load(path))
        return _loaded[path][1]


def _load(path: str) -> paramiko.PKey | str:
    try:
        return paramiko.PKey.from_path(path)
    except (paramiko.PasswordRequiredException, TypeError):
        return LOCKED  # the cryptography library says it with a TypeError
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, paramiko.SSHException) as error:
        return f"is no private key that can be used: {error}"


def _public_part(path: str) -> str:
    """The public key beside a private one, or an empty text."""
    try:
        words = Path(f"{path}.pub").read_text("utf-8", "replace").split()
    except OSError:
        return ""
    return words[1] if len(words) > 1 else ""
