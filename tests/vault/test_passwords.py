"""Sources of passwords: files, scripts, client scripts, prompts, and their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import UsageError
from provisioner.vault import Envelope, Password, load_passwords, new_password, split_id


def make(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [("prod@file", ("prod", "file")), ("file", ("default", "file")), ("@file", ("default", "file")), ("a@b@c", ("a", "b@c"))],
)
def test_split_id(text: str, parts: tuple[str, str]) -> None:
    assert split_id(text) == parts


def test_files_scripts_and_prompts_in_order(tmp_path: Path) -> None:
    plain = make(tmp_path / "plain", "  one two \n")
    script = make(tmp_path / "script.sh", "#!/bin/sh\necho three\n", 0o700)
    client = make(tmp_path / "keyring-client.sh", '#!/bin/sh\necho "$1 $2"\n', 0o700)
    questions: list[str] = []

    def ask(question: str) -> str:
        questions.append(question)
        return "typed"

    found = load_passwords([f"dev@{plain}", f"prod@{client}", "stage@prompt"], [script], ask_password=True, ask=ask)
    assert [(password.vault_id, password.secret) for password in found] == [
        ("dev", b"one two"),
        ("prod", b"--vault-id prod"),
        ("stage", b"typed"),
        ("default", b"three"),
        ("default", b"typed"),
    ]
    assert questions == ["Vault password (stage)", "Vault password"]


def test_another_default_id(tmp_path: Path) -> None:
    assert load_passwords([make(tmp_path / "p", "x")], default_id="main")[0].vault_id == "main"


def test_a_password_file_may_itself_be_encrypted(tmp_path: Path) -> None:
    first = make(tmp_path / "first", "outer")
    second = make(tmp_path / "second", Envelope.seal(b"inner\n", b"outer").text())
    assert [password.secret for password in load_passwords([f"a@{first}", f"b@{second}"])] == [b"outer", b"inner"]
    with pytest.raises(UsageError, match="no password given before it fits"):
        load_passwords([f"b@{second}"])


def test_paths_may_begin_with_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make(tmp_path / "pw", "x")
    assert load_passwords(["~/pw"])[0].secret == b"x"


@pytest.mark.parametrize(
    ("name", "text", "mode", "message"),
    [
        ("empty", "\n", 0o600, "is empty"),
        ("fails", "#!/bin/sh\nexit 7\n", 0o700, "exit code 7"),
        ("nothing", "#!/bin/sh\n", 0o700, "is empty"),
        ("no-such-id-client", "#!/bin/sh\nexit 2\n", 0o700, "has no password for vault id 'prod'"),
        ("no-interpreter", "hello\n", 0o700, "cannot run vault password script"),
    ],
)
def test_sources_that_give_nothing(tmp_path: Path, name: str, text: str, mode: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_passwords([f"prod@{make(tmp_path / name, text, mode)}"])


def test_missing_file_folder_and_terminal(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_passwords([f"prod@{tmp_path}/none"])
    with pytest.raises(UsageError, match="is a folder"):
        load_passwords([f"prod@{tmp_path}"])
    with pytest.raises(UsageError, match="only be asked for on a terminal"):
        load_passwords(["prod@prompt"])


def test_a_new_password_is_typed_twice() -> None:
    answers = iter(["one", "one", "one", "two"])
    assert new_password("prod", lambda _question: next(answers)).secret == b"one"
    with pytest.raises(UsageError, match="differ"):
        new_password("prod", lambda _question: next(answers))


def test_a_password_is_not_in_its_repr() -> None:
    assert "hunter2" not in repr(Password("prod", b"hunter2"))
