"""Opening with several passwords, values decrypted when used, and errors that name file, line, variable and ids."""

from __future__ import annotations

import copy
import time
from pathlib import Path

import pytest

from provisioner.diagnostics import Span
from provisioner.errors import InputError, UsageError
from provisioner.inventory.varsfiles import label_secrets, read_document
from provisioner.values import Secrets
from provisioner.vault import Envelope, Password, Vault, Vaulted

DEV, PROD = Password("dev", b"pw-dev"), Password("prod", b"pw-prod")


def inline(name: str, text: str, password: Password) -> str:
    envelope = Envelope.seal(text.encode(), password.secret, password.vault_id).text()
    return f"{name}: !vault |\n" + "".join(f"  {line}\n" for line in envelope.splitlines())


def message(caught: pytest.ExceptionInfo[InputError]) -> str:
    return caught.value.diagnostics.errors[0].render(source=False)


def test_tries_every_password_whatever_the_id_says() -> None:
    text = Envelope.seal(b"x", PROD.secret, "unknown").text()
    assert Vault([DEV, PROD]).open(text) == b"x"
    with pytest.raises(InputError) as caught:
        Vault([DEV, PROD], match_ids=True).open(text)
    assert "there is no password for that id" in message(caught)


def test_inline_values_are_decrypted_when_used(tmp_path: Path) -> None:
    file = tmp_path / "secrets.yml"
    file.write_text("plain: 1\n" + inline("good", "hunter22", DEV) + inline("bad", "x", Password("prod", b"other")) + "users:\n- name: a\n")
    vault = Vault([DEV, PROD], Secrets())
    data = read_document(file, vault).data
    label_secrets(data)
    assert isinstance(data["good"], Vaulted)
    assert list(vault.secrets) == []
    assert str(data["good"]) == data["good"].reveal() == "hunter22"
    assert vault.secrets.mask("it is hunter22!") == "it is ********!"
    with pytest.raises(InputError) as caught:
        data["bad"].reveal()
    assert message(caught).startswith(f"{file}:9:6: error: bad: none of the vault passwords (prod, dev) fits")


def test_without_any_password(tmp_path: Path) -> None:
    file = tmp_path / "group_vars.yml"
    file.write_text(Envelope.seal(b"a: 1", DEV.secret).text())
    with pytest.raises(InputError) as caught:
        read_document(file, None)
    assert message(caught).startswith(f"{file}:1: error: encrypted, and no vault password is given")
    assert "--vault-password-file" in message(caught)


def test_damaged_value_says_so() -> None:
    with pytest.raises(InputError) as caught:
        Vault([DEV]).value("$ANSIBLE_VAULT;1.1;AES256\n12", Span("a.yml", 3), "db_pw").reveal()
    assert message(caught).startswith("a.yml:3: error: db_pw: not a vault value that can be read")


def test_a_value_that_is_no_text() -> None:
    with pytest.raises(InputError) as caught:
        Vault([DEV]).value(Envelope.seal(b"\xff", DEV.secret).text(), Span("a.yml", 3), "key").reveal()
    assert "not UTF-8" in message(caught)


def test_whole_files(tmp_path: Path) -> None:
    file = tmp_path / "vars.yml"
    file.write_text(Envelope.seal(b"a: 1\nb: {c: !unsafe '{{ x }}'}\n", PROD.secret, "prod").text())
    document = read_document(file, Vault([DEV, PROD]))
    assert document.data == {"a": 1, "b": {"c": "{{ x }}"}}
    assert document.span("a").line == 0, "lines of the plain text are not lines of the file"
    assert Vault([PROD]).read(file).startswith(b"a: 1")


def test_json_spells_tags_as_objects(tmp_path: Path) -> None:
    file = tmp_path / "vars.json"
    sealed = Envelope.seal(b"deep", DEV.secret).text().replace("\n", "\\n")
    file.write_text(f'{{"a": {{"__ansible_vault": "{sealed}"}}, "b": {{"__ansible_unsafe": "{{{{ x }}}}"}}, "c": [1]}}')
    data = read_document(file, Vault([DEV])).data
    assert str(data["a"]) == "deep"
    assert (type(data["b"]).__name__, data["b"], data["c"]) == ("UnsafeText", "{{ x }}", [1])


def test_sealing_needs_one_choice() -> None:
    assert Envelope.parse(Vault([PROD]).seal(b"x")).vault_id == "prod"
    assert Envelope.parse(Vault([DEV, PROD]).seal(b"x", "dev")).vault_id == "dev"
    for vault, chosen, text in (
        (Vault(), None, "none is given"),
        (Vault([DEV, PROD]), None, "several vault passwords"),
        (Vault([DEV]), "prod", "no password for vault id 'prod'"),
    ):
        with pytest.raises(UsageError, match=text):
            vault.seal(b"x", chosen)


def test_values_do_not_show_or_copy_themselves() -> None:
    value = Vault([DEV]).value(Envelope.seal(b"hunter22", DEV.secret).text())
    assert "hunter" not in repr(value)
    assert copy.deepcopy({"a": value})["a"] is value
    assert value == Vault().value(value.ciphertext)


def test_two_hundred_values_are_quick(tmp_path: Path) -> None:
    file = tmp_path / "secrets.yml"
    file.write_text("".join(inline(f"v{number}", f"text {number}", DEV) for number in range(200)))
    started = time.perf_counter()
    data = read_document(file, Vault([PROD, DEV])).data
    assert [str(value) for value in data.values()] == [f"text {number}" for number in range(200)]
    assert time.perf_counter() - started < 3
