"""The format itself: what is written can be read, by us and by what ansible-vault wrote before us."""

from __future__ import annotations

import pytest

from provisioner.vault import Envelope, EnvelopeError, WrongPassword, is_vaulted

WRITTEN_BY_ANSIBLE = """$ANSIBLE_VAULT;1.2;AES256;dev
38623331643837646666393538383532363964643362393635396135363264633430396530356535
6331363062373161373039366439623437663033343061310a343033663464666365383537646564
64333565303039613562303366633938316631353430633635333138633336386236343235666561
6134643031656365370a663338313563346538336532393932396664343730353036373537633638
3931
"""


def test_reads_what_ansible_vault_wrote() -> None:
    envelope = Envelope.parse(WRITTEN_BY_ANSIBLE)
    assert envelope.vault_id == "dev"
    assert envelope.open(b"pw1") == b"hello"
    assert envelope.text() == WRITTEN_BY_ANSIBLE


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join(line + "   " for line in text.splitlines()),
        lambda text: "\n".join("          " + line for line in text.splitlines()),
        lambda text: text.rstrip("\n"),
        lambda text: text.encode(),
    ],
    ids=["crlf", "trailing blanks", "indented", "no final newline", "bytes"],
)
def test_blanks_do_not_matter(change: object) -> None:
    assert callable(change)
    assert Envelope.parse(change(WRITTEN_BY_ANSIBLE)).open(b"pw1") == b"hello"


@pytest.mark.parametrize("plain", [b"", b"x", b"0123456789abcdef", b"\0\xff" * 999, "größe\n".encode()])
@pytest.mark.parametrize("vault_id", ["default", "prod"])
def test_round_trip(plain: bytes, vault_id: str) -> None:
    text = Envelope.seal(plain, b"secret", vault_id).text()
    assert is_vaulted(text)
    assert max(map(len, text.splitlines())) <= 80
    envelope = Envelope.parse(text)
    assert (envelope.vault_id, envelope.open(b"secret")) == (vault_id, plain)


def test_default_id_is_written_in_the_older_version() -> None:
    assert Envelope.seal(b"x", b"p").text().startswith("$ANSIBLE_VAULT;1.1;AES256\n")


def test_a_fixed_salt_gives_the_same_text() -> None:
    assert Envelope.seal(b"x", b"p", salt=b"s" * 32) == Envelope.seal(b"x", b"p", salt=b"s" * 32)
    assert Envelope.seal(b"x", b"p") != Envelope.seal(b"x", b"p")


def test_wrong_password_and_changed_text() -> None:
    envelope = Envelope.seal(b"hello", b"right")
    with pytest.raises(WrongPassword):
        envelope.open(b"wrong")
    changed = Envelope(envelope.vault_id, envelope.salt, envelope.digest, envelope.ciphertext[:-1] + b"\0")
    with pytest.raises(WrongPassword):
        changed.open(b"right")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not begin"),
        ("hello", "does not begin"),
        ("$ANSIBLE_VAULT;1.0;AES\n00", "version '1.0'"),
        ("$ANSIBLE_VAULT;1.1;AES\n00", "cipher 'AES'"),
        ("$ANSIBLE_VAULT;1.1;AES256\nxyz", "not three parts"),
        ("$ANSIBLE_VAULT;1.1;AES256\n3333", "not three parts"),
        (WRITTEN_BY_ANSIBLE[:100], "not three parts"),
        (b"$ANSIBLE_VAULT;1.1;AES256\n\xff", "no ASCII"),
    ],
)
def test_damaged_envelopes_say_what_is_wrong(text: str | bytes, reason: str) -> None:
    with pytest.raises(EnvelopeError, match=reason):
        Envelope.parse(text)
