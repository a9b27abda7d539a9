"""SSH keys that may log in as a user."""

from __future__ import annotations

import os

from ..declare import Module, option
from ..download import WebParams, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

KINDS = (
    "ssh-ed25519", "ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com", "ssh-rsa-cert-v01@openssh.com", "ssh-ed25519-cert-v01@openssh.com",
)  # fmt: skip


class AuthorizedKeyParams(WebParams):
    """Parameters of ``authorized_key``."""

    user: str = option("The user.")
    key: str = option("The public keys, one a line, or a URL of such a list.")
    state: str = option("Whether they shall be there.", "present", choices=("absent", "present"))
    path: str | None = option("Another file than ~/.ssh/authorized_keys.", None, kind="path")
    manage_dir: bool = option("Make the folder and set its permissions.", True)
    key_options: str | None = option("Options before the key.", None)
    exclusive: bool = option("Take all other keys out.", False)
    comment: str | None = option("Another comment for the key.", None)
    follow: bool = option("Follow a link at path.", False)


def run(node: Node, p: AuthorizedKeyParams) -> dict[str, Any]:
    """Edit the file line by line: comments, order and unknown lines stay."""
    path, owner, group = _file(node, p)
    wanted = _wanted(node, p)
    old = node.files.read(path).decode("utf-8", "surrogateescape") if node.files.exists(path) else None
    lines = (old or "").splitlines()
    present = {key: index for index, line in enumerate(lines) if (key := _key_of(line)) is not None}
    if p.state == "absent":
        gone = {_key_of(line) for line in wanted}
        lines = [line for line in lines if _key_of(line) is None or _key_of(line) not in gone]
    else:
        for line in wanted:
            key = _key_of(line)
            if key in present:
                lines[present[key]] = _merged(lines[present[key]], line, p)
            else:
                lines.append(line)
        if p.exclusive:
            keep = {_key_of(line) for line in wanted}
            lines = [line for line in lines if _key_of(line) is None or _key_of(line) in keep]
    untouched = old is not None and lines == old.splitlines()
    new = old if untouched and old is not None else "".join(f"{line}\n" for line in lines)
    if p.manage_dir and (p.state == "present" or old is not None):
        folder = os.path.dirname(path)
        if p.path is None or not node.files.exists(folder):
            node.files.directory(folder, mode="0700", owner=owner, group=group)
    if old is not None or new:
        node.files.write(path, new, mode="0600", owner=owner, group=group)
    return {"user": p.user, "key": p.key, "keyfile": path, "state": p.state, "exclusive": p.exclusive, "unique": False}


def _file(node: Node, p: AuthorizedKeyParams) -> tuple[str, str | None, str | None]:
    user = node.accounts.user(p.user)
    if user is None:
        node.fail(f"the user {p.user} does not exist; create it first", user=p.user)
    if p.path is not None:
        path = p.path.replace("%u", p.user).replace("%h", str(user.home))
        path = node.files.expand(path if path.startswith(("/", "~")) else os.path.join(str(user.home), path))
    else:
        path = os.path.join(str(user.home), ".ssh", "authorized_keys")
    return (node.files.resolve(path) if p.follow else path), p.user, user.group


def _wanted(node: Node, p: AuthorizedKeyParams) -> list[str]:
    """The lines asked for, with options and comment put in."""
    text = p.key
    if text.startswith(("http://", "https://", "file://")):
        answer = request(node, p, text)
        if answer.status != 200:
            node.fail(f"the keys at {text} cannot be fetched: {answer.status} {answer.reason}")
        text = answer.body.decode("utf-8", "surrogateescape")
    found = []
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("#"):
            continue
        parts = _split(line.strip())
        if parts is None:
            node.fail(f"invalid key specified: {line.strip()[:60]}", key=p.key)
        options, kind, data, comment = parts
        options = p.key_options if p.key_options is not None else options
        comment = p.comment if p.comment is not None else comment
        found.append(" ".join(part for part in (options, kind, data, comment) if part))
    if not found and not p.exclusive:
        node.fail("no key given", key=p.key)
    return found


def _split(line: str) -> tuple[str, str, str, str] | None:
    """Options, type, data and comment of a line; spaces within quotes belong to the options."""
    words, quoted, current = [], False, ""
    for index, char in enumerate(line):
        if char == '"' and (index == 0 or line[index - 1] != "\\"):
            quoted = not quoted
        if char in " \t" and not quoted:
            if current:
                words.append(current)
            current = ""
        else:
            current += char
    words += [current] if current else []
    for position, word in enumerate(words[:-1]):
        if word in KINDS:
            return " ".join(words[:position]), word, words[position + 1], " ".join(words[position + 2 :])
    return None


def _key_of(line: str) -> str | None:
    parts = _split(line.strip()) if line.strip() and not line.strip().startswith("#") else None
    return f"{parts[1]} {parts[2]}" if parts is not None else None


def _merged(old: str, new: str, p: AuthorizedKeyParams) -> str:
    """The line for a key that is there: its options and comment change only when they were given."""
    before, after = _split(old.strip()), _split(new)
    if before is None or after is None:
        return new
    options = after[0] if p.key_options is not None or after[0] else (before[0] if p.key_options is None and not after[0] else "")
    comment = after[3] or before[3]
    if (options, comment) == (before[0], before[3]):
        return old
    return " ".join(part for part in (options, after[1], after[2], comment) if part)


MODULE = Module(
    name="authorized_key",
    summary="SSH keys that may log in as a user.",
    params=AuthorizedKeyParams,
    run=run,
    collection="ansible.posix",
    resource=(("path", "path"),),
    examples="- authorized_key: {user: admin, key: 'ssh-ed25519 AAAA… ada@example'}\n",
)
