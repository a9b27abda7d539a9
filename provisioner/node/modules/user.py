"""A user: its number, groups, shell, password and home."""

from __future__ import annotations

import os

from ..declare import Module, Params, option
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node
    from ..readings import UserState


class UserParams(Params):
    """Parameters of ``user``."""

    name: str = option("The user.", aliases=("user",))
    state: str = option("Whether it shall exist.", "present", choices=("present", "absent"))
    uid: int | None = option("Its number.", None)
    non_unique: bool = option("Let several users have the number.", False)
    group: str | None = option("Primary group.", None)
    groups: list[str] | None = option("Supplementary groups; an empty list means none.", None)
    append: bool = option("Only add the groups, keep the others.", False)
    comment: str | None = option("Full name or purpose.", None)
    home: str | None = option("Home directory.", None, kind="path")
    move_home: bool = option("Move the old home to a new place.", False)
    create_home: bool = option("Make the home directory.", True, aliases=("createhome",))
    skeleton: str | None = option("Directory to fill a new home from.", None)
    shell: str | None = option("Login shell.", None)
    system: bool = option("Make it a system user when it is created.", False)
    password: str | None = option("Password hash as in /etc/shadow.", None, secret=True)
    update_password: str = option("Whether an existing password is replaced.", "always", choices=("always", "on_create"))
    password_lock: bool | None = option("Lock or unlock the password.", None)
    password_expire_max: int | None = option("Days a password may be used.", None)
    password_expire_min: int | None = option("Days before a password may be changed.", None)
    password_expire_warn: int | None = option("Days of warning before a password expires.", None)
    expires: float | None = option("When the account ends, in seconds since 1970; negative: never.", None)
    umask: str | None = option("Permissions a new home is made with, as an umask.", None)
    remove: bool = option("Remove home and mail along with the user.", False)
    force: bool = option("Remove though it is logged in.", False)
    local: bool = option("Only the local files are meant; the tools used here write these anyway.", False)
    generate_ssh_key: bool = option("Make an SSH key pair.", False)
    ssh_key_bits: int = option("Size of that key; 0 is ssh-keygen's own default.", 0)
    ssh_key_type: str = option("Type of that key.", "rsa")
    ssh_key_file: str | None = option("Where, seen from the home directory.", None, kind="raw")
    ssh_key_comment: str | None = option("Comment in that key.", None)
    ssh_key_passphrase: str | None = option("Passphrase of that key.", None, secret=True)


def run(node: Node, p: UserParams) -> dict[str, Any]:
    """Bring the user to its state."""
    result: dict[str, Any] = {"name": p.name, "state": p.state}
    if p.state == "absent":
        node.accounts.remove_user(p.name, purge=p.remove, force=p.force)
        return {**result, "remove": p.remove, "force": p.force}
    try:
        before = node.accounts.user(p.name)
    except UnknownReading:
        before = None
    group, _ = p.group, node.accounts.known_owner(None, p.group)
    for name in p.groups or ():
        node.accounts.known_owner(None, name)
    options = {
        "non_unique": p.non_unique,
        "move_home": p.move_home,
        "create_home": p.create_home,
        "system": p.system,
        "skeleton": p.skeleton,
    }
    node.accounts.ensure_user(p.name, _fields(p, before, group), {key: value for key, value in options.items() if value is not None})
    if before is not None and p.create_home:
        _home(node, p, before)
    if p.generate_ssh_key:
        result.update(_ssh_key(node, p))
    return {**result, **_described(node, p.name), "append": p.append, "move_home": p.move_home}


def _fields(p: UserParams, before: UserState | None, group: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"uid": p.uid, "group": group, "comment": p.comment, "home": p.home, "shell": p.shell}
    if p.groups is not None:
        names = tuple(name for name in dict.fromkeys(p.groups) if name)
        fields["append_groups" if p.append else "groups"] = names
    if p.password is not None and (before is None or p.update_password == "always"):
        fields["password"] = p.password
    if p.password_lock is not None:
        hidden = fields.get("password") or (before.password if before is not None else "")
        if isinstance(hidden, str):
            fields["password"] = f"!{hidden.lstrip('!')}" if p.password_lock else hidden.lstrip("!")
    if p.expires is not None:
        fields["expires"] = -1 if p.expires < 0 else int(p.expires // 86400)
        if fields["expires"] == -1 and (before is None or before.expires is None):
            del fields["expires"]
    fields.update(password_max=p.password_expire_max, password_min=p.password_expire_min, password_warn=p.password_expire_warn)
    return fields


def _home(node: Node, p: UserParams, before: UserState) -> None:
    """A home directory that is missing for a user that exists: useradd is past, so it is made here from the skeleton."""
    home = p.home or before.home
    if not isinstance(home, str) or not home or node.files.exists(home):
        return
    skeleton = p.skeleton or "/etc/skel"
    mask = int(p.umask, 8) if p.umask else 0o022
    owner: dict[str, Any] = {"owner": p.name, "group": p.group or before.group}
    node.files.directory(home, mode=f"{0o777 & ~mask:04o}", **owner)
    if node.files.exists(skeleton):
        for path, state in node.files.walk(skeleton):
            target = os.path.join(home, os.path.relpath(path, skeleton))
            if state.kind == "directory":
                node.files.directory(target, mode=f"{state.mode:04o}", **owner)
            elif state.kind == "file":
                node.files.write(target, node.files.content(path), mode=f"{state.mode:04o}", **owner)


def _ssh_key(node: Node, p: UserParams) -> dict[str, Any]:
    """Make a key pair where there is none; returns Ansible's ssh_* values."""
    user = node.accounts.user(p.name)
    home = (user.home if user is not None else None) or f"/home/{p.name}"
    path = p.ssh_key_file or f".ssh/id_{p.ssh_key_type}"
    path = path if path.startswith("/") else os.path.join(home, path)
    if not node.files.exists(path):
        folder = os.path.dirname(path)
        node.files.directory(folder, mode="0700", owner=p.name)
        argv = ["ssh-keygen", "-q", "-t", p.ssh_key_type, "-f", path, "-N", p.ssh_key_passphrase or ""]
        argv += ["-C", p.ssh_key_comment or f"ansible-generated on {os.uname().nodename}"]
        argv += ["-b", str(p.ssh_key_bits)] if p.ssh_key_bits else []
        touched = [("path", path), ("path", f"{path}.pub")]
        node.commands.perform(argv, touches=touched, what=f"ssh-keygen for {p.name}", after={"file": path})
        for name in (path, f"{path}.pub"):
            node.files.attributes(name, owner=p.name, group=user.group if user is not None else None)
    answer = node.commands.query(["ssh-keygen", "-lf", f"{path}.pub"], about=[("path", f"{path}.pub")])
    public = node.files.read(f"{path}.pub").decode("utf-8", "replace").strip()
    return {"ssh_key_file": path, "ssh_fingerprint": answer.out.strip(), "ssh_public_key": public}


def _described(node: Node, name: str) -> dict[str, Any]:
    user = node.accounts.user(name)
    if user is None:
        return {}
    shown = {"uid": user.uid, "group": user.gid, "comment": user.comment, "home": user.home, "shell": user.shell}
    return {**shown, "groups": ",".join(user.groups)}


MODULE = Module(
    name="user",
    summary="A user: its number, groups, shell, password and home.",
    params=UserParams,
    run=run,
    resource=(("user", "name"),),
    examples="""
- user: {name: prometheus, system: true, shell: /usr/sbin/nologin, create_home: false}
- user: {name: ada, groups: [docker, video], append: true}
""",
)
