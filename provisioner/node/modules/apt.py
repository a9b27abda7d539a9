"""Packages of Debian and Ubuntu."""

from __future__ import annotations

import fnmatch
import time

from ..declare import Module, Params, one_of, option
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

STAMPS = ("/var/lib/apt/periodic/update-success-stamp", "/var/lib/apt/lists")
UPGRADES = {"yes": "upgrade", "safe": "upgrade", "full": "dist-upgrade", "dist": "dist-upgrade"}


class AptParams(Params):
    """Parameters of ``apt``."""

    name: list[str] | None = option("Packages: name, name=version (wildcards allowed), name/release.", None, aliases=("package", "pkg"))
    state: str = option("What they shall be.", "present", choices=("absent", "build-dep", "fixed", "latest", "present"))
    update_cache: bool | None = option("Refresh the package index first.", None, aliases=("update-cache",))
    cache_valid_time: int = option("Do not refresh an index younger than this many seconds.", 0)
    update_cache_retries: int = option("How often to try the refresh again.", 5)
    update_cache_retry_max_delay: int = option("Longest pause between two tries, in seconds.", 12)
    purge: bool = option("Remove configuration files, too.", False)
    default_release: str | None = option("The release to prefer.", None, aliases=("default-release",))
    install_recommends: bool | None = option(
        "Install recommended packages; else as the system does.", None, aliases=("install-recommends",)
    )
    force: bool = option("Go on where apt would rather not: unauthenticated, downgrades, held, essential.", False)
    allow_unauthenticated: bool = option("Accept packages without a valid signature.", False, aliases=("allow-unauthenticated",))
    allow_downgrade: bool = option("Permit an older version.", False, aliases=("allow-downgrade", "allow_downgrades", "allow-downgrades"))
    allow_change_held_packages: bool = option("Change held packages and hold them again.", False)
    allow_remove: list[str] | None = option("Packages that may go when these come; others in the way stop the step.", None)
    auto_install_module_deps: bool = option("Has no meaning here: nothing needs to be installed on the node.", True)
    upgrade: str = option("Upgrade all packages.", "no", choices=("dist", "full", "no", "safe", "yes"))
    dpkg_options: str = option("Options for dpkg, comma-separated.", "force-confdef,force-confold")
    deb: str | None = option("A .deb file on the node, or a URL.", None, kind="path")
    autoremove: bool = option("Remove packages that nothing needs any more.", False)
    autoclean: bool = option("Clean old package files from the cache.", False)
    clean: bool = option("Empty the package cache.", False)
    policy_rc_d: int | None = option("Let a policy-rc.d return this while packages are installed (101: start nothing).", None)
    only_upgrade: bool = option("Only upgrade what is installed.", False)
    fail_on_autoremove: bool = option("Fail if anything would be removed.", False)
    force_apt_get: bool = option("Always so here.", False)
    lock_timeout: int = option("Seconds to wait for apt's lock.", 60)


def run(node: Node, p: AptParams) -> dict[str, Any]:
    """Refresh, upgrade, then bring the named packages to their state."""
    result: dict[str, Any] = {"cache_updated": _refresh(node, p)}
    if not any((p.name, p.deb, p.upgrade != "no", p.autoremove, p.clean, p.autoclean)):
        result["changed"] = bool(result["cache_updated"])
        return result
    options = _options(p)
    if p.clean or p.autoclean:
        node.commands.perform(["apt-get", "clean" if p.clean else "autoclean"], touches=[("path", "/var/cache/apt")])
    if p.upgrade != "no":
        node.packages.install("apt", [], {**options, "allow_remove": True if p.upgrade in ("dist", "full") else None}, UPGRADES[p.upgrade])
    if p.deb:
        node.packages.install("apt", [_deb(node, p.deb)], options)
    names = [name.strip() for entry in p.name or () for name in entry.split(",") if name.strip()]
    if names == ["*"]:
        node.packages.install("apt", [], {**options, "allow_remove": True}, "dist-upgrade")
    elif p.state == "absent":
        _remove(node, p, names, options)
    elif names:
        _install(node, p, names, options)
    if p.autoremove and not (p.state == "absent" and names):
        node.packages.remove("apt", [], options, "autoremove")
    return {**result, **node.packages.said}


def _options(p: AptParams) -> dict[str, Any]:
    options = {
        "recommends": p.install_recommends,
        "default_release": p.default_release,
        "force": p.force,
        "allow_unauthenticated": p.allow_unauthenticated,
        "allow_downgrade": p.allow_downgrade or p.force,
        "allow_change_held": p.allow_change_held_packages or p.force,
        "allow_remove": p.allow_remove or (True if p.force else None),
        "only_upgrade": p.only_upgrade,
        "dpkg_options": [word for word in p.dpkg_options.split(",") if word],
        "lock_timeout": p.lock_timeout,
        "policy_rc_d": p.policy_rc_d,
        "fix_broken": p.state == "fixed",
    }
    # A no is an answer: to recommended packages, and 0 to policy_rc_d.
    return {key: value for key, value in options.items() if value is not None and value != []}


def _refresh(node: Node, p: AptParams) -> bool:
    """Refresh the index if it is asked for and old enough."""
    if p.update_cache is False or (p.update_cache is None and not p.cache_valid_time):
        return False
    if p.cache_valid_time:
        newest = 0.0
        for path in STAMPS:
            state = node.files.stat(path)
            newest = max(newest, state.mtime if state is not None else 0.0)
        if newest + p.cache_valid_time > time.time():
            return False
    node.packages.refresh(
        "apt", {"lock_timeout": p.lock_timeout, "retries": p.update_cache_retries, "max_delay": p.update_cache_retry_max_delay}
    )
    return True


def _install(node: Node, p: AptParams, names: list[str], options: dict[str, Any]) -> None:
    if p.state == "build-dep":
        node.packages.install("apt", names, options, "build-dep")
        return
    wanted = names if p.state == "latest" else [name for name in names if not _satisfied(node, name, p)]
    if p.state == "fixed":
        wanted = names
    if wanted or p.state == "fixed":
        node.packages.install("apt", wanted, options)


def _satisfied(node: Node, request: str, p: AptParams) -> bool:
    """Whether what is installed meets ``name``, ``name=version`` or a pattern of names."""
    name, _, version = request.partition("=")
    name = name.split("/")[0].strip().rstrip(">")
    try:
        if any(char in name for char in "*?["):
            installed = node.packages.all("apt")
            return any(fnmatch.fnmatchcase(known, name) for known in installed) and not version
        state = node.packages.installed("apt", name) or _provider(node, name, version)
    except UnknownReading:
        return False
    if state is None:
        return p.only_upgrade
    if version and not fnmatch.fnmatchcase(str(state.version), version.strip()):
        return False
    return "/" not in request


def _provider(node: Node, name: str, version: str) -> Any:
    """An installed package that provides a virtual one: asking apt for it again would change nothing."""
    return None if version else node.reader.package("apt", f"provides:{name}")


def _remove(node: Node, p: AptParams, names: list[str], options: dict[str, Any]) -> None:
    verb = "purge" if p.purge else "remove"
    bare = [name.split("=")[0].split("/")[0] for name in names]
    there = []
    for name in bare:
        try:
            if any(char in name for char in "*?["):
                there += [known for known in node.packages.all("apt") if fnmatch.fnmatchcase(known, name)]
            elif node.packages.installed("apt", name) is not None or (p.purge and node.reader.package("apt", f"leftover:{name}")):
                there.append(name)
        except UnknownReading:
            there.append(name)
    if there:
        node.packages.remove("apt", there, {**options, "auto_remove": p.autoremove}, verb)


def _deb(node: Node, deb: str) -> str:
    if "://" in deb:
        node.fail(f"{deb} is a URL: fetch it first with get_url (with a checksum), then give its path", deb=deb)
    path = node.files.expand(deb)
    if not node.files.exists(path):
        node.fail(f"{path} does not exist on the node", deb=deb)
    return path


MODULE = Module(
    name="apt",
    summary="Packages of Debian and Ubuntu.",
    params=AptParams,
    run=run,
    rules=(one_of("name", "deb", "update_cache", "upgrade", "autoremove", "clean", "autoclean", "cache_valid_time"),),
    resource=(("package", "name"),),
    examples="""
- apt: {name: [nvidia-driver, nvidia-smi], state: present, update_cache: true, cache_valid_time: 3600}
- apt: {name: cuda-toolkit-12-2=12.2.2-1}
""",
)
