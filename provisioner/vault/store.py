"""``Vault``: the passwords of a run and what they open; ``Vaulted``: an inline ``!vault`` value that is decrypted when it is first used."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Span
from provisioner.errors import InputError, UsageError
from provisioner.values import Secrets
from provisioner.vault.envelope import DEFAULT_ID, Envelope, EnvelopeError, WrongPassword, is_vaulted
from provisioner.vault.passwords import Password

_GIVE_PASSWORD = "give one with --vault-password-file FILE, --vault-id ID@FILE or --ask-vault-password"


class Vault:
    """Opens and seals with several passwords; what is decrypted for a run is registered as a secret.

    ``match_ids`` tries only passwords of the id an envelope names (``vault_id_match``). Safe to use from several threads.
    """

    def __init__(
        self,
        passwords: Iterable[Password] = (),
        secrets: Secrets | None = None,
        *,
        match_ids: bool = False,
        salt: bytes | None = None,
    ) -> None:
        self.passwords = tuple(passwords)
        self.secrets = secrets if secrets is not None else Secrets()
        self._match_ids = match_ids
        self._salt = salt

    @property
    def ids(self) -> tuple[str, ...]:
        """The vault ids there are passwords for, in the order given."""
        return tuple(dict.fromkeys(password.vault_id for password in self.passwords))

    def open(self, content: str | bytes, span: Span | None = None, name: str = "") -> bytes:
        """The plain bytes of an envelope; ``span`` and ``name`` say in errors what it is. Raises ``InputError``."""
        return self.unlock(content, span, name)[0]

    def unlock(self, content: str | bytes, span: Span | None = None, name: str = "") -> tuple[bytes, Password]:
        """As ``open``, with the password that fits, under the id that the envelope names."""
        try:
            envelope = Envelope.parse(content)
        except EnvelopeError as error:
            raise InputError.of(f"{_label(name)}not a vault value that can be read", span, why=str(error)) from None
        tried = self._candidates(envelope.vault_id)
        for password in tried:
            try:
                return envelope.open(password.secret), Password(envelope.vault_id, password.secret, password.origin)
            except WrongPassword:
                continue
        raise InputError.of(self._refusal(name, envelope.vault_id, tried), span, why=self._why(envelope.vault_id), help=_GIVE_PASSWORD)

    def value(self, content: str, span: Span | None = None, name: str = "") -> Vaulted:
        """An inline value, not decrypted yet. Raises nothing: a value that nobody uses must not stop a run."""
        return Vaulted(content, self, span, name)

    def __call__(self, content: str, span: Span) -> Any:
        """As the YAML loader asks: a file as a whole (a span without line) is decrypted now, an inline value when it is used."""
        return self.value(content, span) if span.line else self.open(content, Span(span.file, 1)).decode()

    def read(self, path: Path | str) -> bytes:
        """A file's content; that of an envelope is decrypted, and is a secret from then on. Raises ``OSError`` and ``InputError``."""
        content = Path(path).read_bytes()
        if not is_vaulted(content):
            return content
        plain = self.open(content, Span(str(path), 1), "")
        self.secrets.add(plain.decode("utf-8", "surrogateescape"))
        return plain

    def seal(self, plain: bytes, vault_id: str | None = None) -> str:
        """An envelope's text, sealed with the password of ``vault_id``, by default the only one there is. Raises ``UsageError``."""
        return self.seal_with(plain, self.sealing(vault_id))

    def seal_with(self, plain: bytes, password: Password) -> str:
        """An envelope's text, sealed with this password."""
        return Envelope.seal(plain, password.secret, password.vault_id, self._salt).text()

    def sealing(self, vault_id: str | None = None) -> Password:
        """The password that ``seal`` would use."""
        if not self.passwords:
            raise UsageError("encrypting needs a vault password, and none is given", help=_GIVE_PASSWORD)
        fitting = [password for password in self.passwords if vault_id in (None, password.vault_id)]
        if not fitting:
            known = ", ".join(self.ids)
            raise UsageError(f"there is no password for vault id {vault_id!r}", help=f"the ids given are: {known}")
        if vault_id is None and len(self.passwords) > 1:
            raise UsageError(
                f"several vault passwords are given ({', '.join(self.ids)}), and none is named to encrypt with",
                help="choose one with --encrypt-vault-id",
            )
        return fitting[0]

    def _candidates(self, vault_id: str) -> list[Password]:
        """Those of the id the envelope names first: they fit most often, and each try costs a key derivation."""
        named = [password for password in self.passwords if password.vault_id == vault_id]
        if self._match_ids:
            return named
        return named + [password for password in self.passwords if password.vault_id != vault_id]

    def _refusal(self, name: str, vault_id: str, tried: list[Password]) -> str:
        if not self.passwords:
            return f"{_label(name)}encrypted, and no vault password is given"
        if not tried:
            return f"{_label(name)}encrypted with vault id {vault_id!r}, and there is no password for that id"
        ids = ", ".join(dict.fromkeys(password.vault_id for password in tried))
        return f"{_label(name)}none of the vault passwords ({ids}) fits"

    def _why(self, vault_id: str) -> str:
        if vault_id == DEFAULT_ID:
            return ""
        if vault_id not in self.ids:
            return f"it was encrypted with vault id {vault_id!r}, for which no password is given"
        return f"it was encrypted with vault id {vault_id!r}"


class Vaulted:
    """An encrypted inline value. ``reveal()`` or ``str()`` gives the text; nothing is decrypted before, and only once."""

    __slots__ = ("_lock", "_text", "_vault", "ciphertext", "name", "span")

    def __init__(self, ciphertext: str, vault: Vault, span: Span | None = None, name: str = "") -> None:
        self.ciphertext = ciphertext
        self.span = span
        self.name = name
        self._vault = vault
        self._text: str | None = None
        self._lock = threading.Lock()

    def reveal(self) -> str:
        """The decrypted text, which is a secret from then on. Raises ``InputError`` naming file, line, variable and the ids tried."""
        with self._lock:
            if self._text is None:
                plain = self._vault.open(self.ciphertext, self.span, self.name)
                try:
                    self._text = plain.decode()
                except UnicodeDecodeError:
                    raise InputError.of(f"{_label(self.name)}the decrypted value is not UTF-8 text", self.span) from None
                self._vault.secrets.add(self._text)
            return self._text

    def __str__(self) -> str:
        return self.reveal()

    def __repr__(self) -> str:
        return "<vaulted value>"

    def __deepcopy__(self, _memo: object) -> Vaulted:
        return self

    def __copy__(self) -> Vaulted:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vaulted) and other.ciphertext == self.ciphertext

    def __hash__(self) -> int:
        return hash(self.ciphertext)


def _label(name: str) -> str:
    return f"{name}: " if name else ""
