"""Password hashes: the C library and our own code give the same, and both give known results."""

from __future__ import annotations

import pytest

from provisioner.templating.filters import crypt

SHA512 = "svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
KNOWN = [
    ("Hello world!", "sha512", "saltstring", 5000, f"$6$saltstring${SHA512}"),
    ("Hello world!", "sha256", "saltstring", 5000, "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
    ("x", "md5", "saltsalt", None, "$1$saltsalt$4px9i58NU2Z2/vZOUlGjq."),
]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("password", "scheme", "salt", "rounds", "expected"), KNOWN)
def test_known_results(
    monkeypatch: pytest.MonkeyPatch, password: str, scheme: str, salt: str, rounds: int | None, expected: str, own: bool
) -> None:
    crypt._shadow.cache_clear()
    if own:
        monkeypatch.setattr(crypt, "_library", lambda: None)
    assert crypt.hash_password(password, scheme, salt, rounds=rounds) == expected


def test_long_passwords_by_our_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    password = "pässwörd longer than the digest size of the hash function 0123456789 0123456789"
    monkeypatch.setattr(crypt, "_library", lambda: None)
    crypt._shadow.cache_clear()
    found = [crypt.hash_password(password, scheme, "sa", rounds=1000) for scheme in ("sha512", "sha256")]
    assert found == [
        "$6$rounds=1000$sa$k94qdiRJ80HddTEc.EtlN6bN5394jz7RQtPajFh3CTA..Lampa5us1MpLn4F.WUo0/rSS9pnaZzbwn3t8Vuvy/",
        "$5$rounds=1000$sa$0iR5seOHmt1dlvWFOdsqD/B/cSopX9Lq6rI6BpFrVK2",
    ]
    assert crypt.hash_password(password, "md5", "sa") == "$1$sa$p7niRRRdhbRFxDDnAvekY/"


def test_bcrypt() -> None:
    found = crypt.hash_password("x", "blowfish", "1234567890123456789012", rounds=4)
    assert found.startswith("$2b$04$123456789012345678901")
    assert crypt.hash_password("x", "bcrypt", "1234567890123456789012", rounds=4, ident="2a").startswith("$2a$04$")
    with pytest.raises(ValueError, match="at most 72 bytes"):
        crypt.hash_password("x" * 73, "bcrypt", rounds=4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope", "salt"), "not in the list of supported"),
        (("sha512", "bad salt"), "characters other than"),
        (("sha512", "s" * 17), "at most 16"),
        (("bcrypt", "short"), "exactly 22"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crypt.hash_password("x", *arguments)


def test_another_salt_every_time() -> None:
    assert crypt.hash_password("x", "sha256", rounds=1000) != crypt.hash_password("x", "sha256", rounds=1000)
