"""Packages of Fedora, Red Hat and their kin."""

from __future__ import annotations

from ..declare import Module, Params, one_of, option
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class DnfParams(Params):
    """Parameters of ``dnf``."""

    name: list[str] = option("Packages: name, name-version, a file's path, a URL, @group, or *.", [], aliases=("pkg",))
    state: str | None = option(
        "What they shall be; present, or absent with autoremove.", None, choices=("absent", "installed", "latest", "present", "removed")
    )
    enablerepo: list[str] = option("Repositories to use beside the enabled ones.", [])
    disablerepo: list[str] = option("Repositories not to use.", [])
    exclude: list[str] = option("Packages to leave alone.", [])
    disable_excludes: str | None = option("Which exclusions of the configuration do not count.", None)
    enable_plugin: list[str] = option("Plugins to use.", [])
    disable_plugin: list[str] = option("Plugins not to use.", [])
    disable_gpg_check: bool = option("Accept packages without a valid signature.", False)
    allow_downgrade: bool = option("Permit an older version.", False)
    allow_remove: list[str] | None = option("Packages that may go when these come; others in the way stop the step.", None)
    allowerasing: bool = option("Let dnf remove what is in the way; still only what allow_remove lists.", False)
    autoremove: bool = option("Remove packages that nothing needs any more.", False)
    best: bool | None = option("Only the newest versions will do.", None)
    nobest: bool | None = option("Older versions will do, too.", None)
    bugfix: bool = option("With latest: only bug fixes.", False)
    security: bool = option("With latest: only security fixes.", False)
    cacheonly: bool = option("Fetch nothing.", False)
    conf_file: str | None = option("Another configuration file.", None)
    download_only: bool = option("Fetch packages, do not install them.", False)
    download_dir: str | None = option("Where to put them.", None)
    install_repoquery: bool = option("Has no meaning here.", True)
    install_weak_deps: bool = option("Install recommended packages, too.", True)
    installroot: str = option("Another root.", "/")
    lock_timeout: int = option("Seconds to wait for dnf's lock; dnf waits by itself as long as the step may run.", 30)
    releasever: str | None = option("Another release.", None)
    skip_broken: bool = option("Leave out what cannot be installed.", False)
    sslverify: bool = option("Check certificates of servers.", True)
    update_cache: bool = option("Refresh the index first.", False, aliases=("expire-cache",))
    update_only: bool = option("With latest: only what is installed.", False)
    use_backend: str = option("Which generation of dnf; the one that is installed.", "auto")
    validate_certs: bool = option("Check the certificate of a server that name points to.", True)
    list: str | None = option("Return what is known: installed, available, updates, repos, or a name.", None)


def run(node: Node, p: DnfParams) -> dict[str, Any]:
    """Refresh, then bring the packages to their state."""
    if p.list is not None:
        return _listing(node, p)
    names = [name.strip() for entry in p.name for name in entry.split(",") if name.strip()]
    state = {"installed": "present", "removed": "absent", None: "absent" if p.autoremove else "present"}.get(p.state, p.state)
    options = _options(p)
    if p.update_cache:
        node.packages.refresh("dnf", options)
    if state == "absent":
        _remove(node, names, options)
        if p.autoremove:
            node.packages.remove("dnf", [], options, "autoremove")
    elif names:
        _install(node, p, names, str(state), options)
    elif not p.update_cache:
        node.fail("name is needed", rc=1)
    return {"msg": "" if node.changed else "Nothing to do", "results": _results(node), "rc": 0}


def _options(p: DnfParams) -> dict[str, Any]:
    same = ("enablerepo", "disablerepo", "exclude", "disable_excludes", "enable_plugin", "disable_plugin", "disable_gpg_check")
    more = (
        "allowerasing",
        "best",
        "nobest",
        "bugfix",
        "security",
        "cacheonly",
        "conf_file",
        "download_only",
        "download_dir",
        "skip_broken",
    )
    options: dict[str, Any] = {name: getattr(p, name) for name in (*same, *more, "releasever", "allow_downgrade")}
    options["allow_remove"] = p.allow_remove
    options["installroot"] = p.installroot if p.installroot != "/" else None
    options = {name: value for name, value in options.items() if value not in (None, False, [], "")}
    for name, given in (("recommends", p.install_weak_deps), ("sslverify", p.sslverify)):
        if not given:
            options[name] = False
    return options


def _install(node: Node, p: DnfParams, names: list[str], state: str, options: dict[str, Any]) -> None:
    if state == "latest":
        if names == ["*"]:
            node.packages.install("dnf", [], {**options, "allow_remove": True}, "upgrade")
            return
        there = [name for name in names if _is_there(node, name)]
        new = [] if p.update_only else [name for name in names if name not in there]
        if there:
            node.packages.install("dnf", there, options, "upgrade")
        if new:
            node.packages.install("dnf", new, options)
        return
    wanted = [name for name in names if not _is_there(node, name)]
    if wanted:
        node.packages.install("dnf", wanted, options)


def _is_there(node: Node, name: str) -> bool:
    """Whether a package is certainly installed; groups, patterns, comparisons and files are left to dnf to judge."""
    if name.startswith("@") or any(char in name for char in "*?[<>= ") or "://" in name or name.endswith(".rpm"):
        return False
    try:
        if node.packages.installed("dnf", name) is not None:
            return True
        return node.reader.package("dnf", f"provides:{name}") is not None
    except UnknownReading:
        return False


def _remove(node: Node, names: list[str], options: dict[str, Any]) -> None:
    there = [name for name in names if _is_there(node, name) or name.startswith("@") or any(char in name for char in "*?[")]
    if there:
        node.packages.remove("dnf", there, {**options, "autoremove": False})


def _results(node: Node) -> list[str]:
    """What was done, in Ansible's words."""
    words = []
    for change in node.recorder.changes:
        if isinstance(change.after, dict):
            words += [f"Installed: {name}-{version}" if version else f"Removed: {name}" for name, version in change.after.items()]
    return words


def _listing(node: Node, p: DnfParams) -> dict[str, Any]:
    """Installed packages by name or all of them, or dnf's own listing."""
    if p.list == "installed" or (p.list and p.list not in ("available", "updates", "repos", "repositories")):
        chosen = [state for state in node.packages.all("dnf").values() if p.list in ("installed", state.name)]
        found = [{"name": state.name, "version": state.version, "arch": state.arch, "yumstate": "installed"} for state in chosen]
        return {"results": found, "msg": ""}
    words = ["repolist", "--quiet"] if str(p.list).startswith("repo") else ["list", "--quiet", f"--{p.list}"]
    answer = node.commands.query(["dnf", *words], about=[("package", "")], timeout=300)
    return {"results": [line.split() for line in answer.out.splitlines()[1:] if line.strip()], "msg": ""}


MODULE = Module(
    name="dnf",
    summary="Packages of Fedora, Red Hat and their kin.",
    params=DnfParams,
    run=run,
    aliases=("dnf5", "yum"),
    rules=(one_of("name", "list", "autoremove", "update_cache"),),
    resource=(("package", "name"),),
    examples="- dnf: {name: [kernel-devel, dkms], state: present, enablerepo: epel}\n",
)
