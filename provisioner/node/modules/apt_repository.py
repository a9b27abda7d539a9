"""An apt source in one line."""

from __future__ import annotations

import re

from ..declare import Module, Params, option
from ..sources import FOLDER, MAIN, Entry, conflicting, parse_line, refresh, source_files, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class AptRepositoryParams(Params):
    """Parameters of ``apt_repository``."""

    repo: str = option("The source line, or ppa:OWNER/NAME.")
    state: str = option("Whether it shall be there.", "present", choices=("absent", "present"))
    filename: str | None = option("Name of the file below sources.list.d, without .list.", None)
    mode: str | None = option("Permissions of that file.", None, kind="mode")
    update_cache: bool = option("Refresh the index after a change.", True, aliases=("update-cache",))
    update_cache_retries: int = option("How often to try the refresh again.", 5)
    update_cache_retry_max_delay: int = option("Longest pause between two tries, in seconds.", 12)
    validate_certs: bool = option("Has a meaning for PPAs only, which are not looked up here.", True)
    codename: str | None = option("Suite for a PPA.", None)
    install_python_apt: bool = option("Has no meaning here: nothing needs to be installed on the node.", True)


def run(node: Node, p: AptRepositoryParams) -> dict[str, Any]:
    """Add or remove the line wherever it is."""
    line = p.repo.strip()
    if line.startswith("ppa:"):
        line = _ppa(node, p, line)
    wanted = parse_line(line)
    if wanted is None:
        node.fail(f"{p.repo!r} is no source line of the form: deb [options] URI SUITE COMPONENTS", repo=p.repo)
    result: dict[str, Any] = {"repo": p.repo, "state": p.state, "sources_added": [], "sources_removed": []}
    if p.state == "absent":
        result["sources_removed"] = _remove(node, wanted)
    elif not _is_there(node, wanted):
        path = _file(p, wanted)
        others = conflicting(node, wanted, path)
        if others:
            node.fail(
                f"{', '.join(others)} names {wanted.uri} {wanted.suite} with another Signed-By, and apt refuses to work with both: "
                "remove that entry first (apt_repository or deb822_repository with state: absent)",
                repo=p.repo,
            )
        old = text_of(node, path)
        node.files.write(
            path, f"{old}{'' if not old or old.endswith(chr(10)) else chr(10)}{line}\n", mode=p.mode or ("0644" if not old else None)
        )
        result["sources_added"] = [path]
    if node.changed and p.update_cache:
        refresh(node, {"retries": p.update_cache_retries, "max_delay": p.update_cache_retry_max_delay})
    return result


def _ppa(node: Node, p: AptRepositoryParams, line: str) -> str:
    owner, _, name = line[4:].partition("/")
    codename = p.codename
    if codename is None:
        release = text_of(node, "/etc/os-release")
        match = re.search(r"^VERSION_CODENAME=\"?(\w+)", release, re.MULTILINE)
        codename = match.group(1) if match else ""
    if not owner or not codename:
        node.fail(f"{line!r} needs an owner and a suite; give codename", repo=p.repo)
    return f"deb http://ppa.launchpad.net/{owner}/{name or 'ppa'}/ubuntu {codename} main"


def _is_there(node: Node, wanted: Entry) -> bool:
    for path in source_files(node):
        if path.endswith(".list"):
            for line in text_of(node, path).splitlines():
                entry = parse_line(line)
                if entry is not None and entry.enabled and entry == wanted:
                    return True
    return False


def _remove(node: Node, wanted: Entry) -> list[str]:
    """Take the line out of every file; a file that is empty then goes."""
    removed = []
    for path in source_files(node):
        if not path.endswith(".list"):
            continue
        lines = text_of(node, path).splitlines(keepends=True)
        kept = [line for line in lines if (entry := parse_line(line)) is None or not entry.enabled or entry != wanted]
        if len(kept) == len(lines):
            continue
        if path != MAIN and not any(line.strip() and not line.startswith("#") for line in kept):
            node.files.absent(path)
        else:
            node.files.write(path, "".join(kept))
        removed.append(path)
    return removed


def _file(p: AptRepositoryParams, entry: Entry) -> str:
    if p.filename:
        name = p.filename if p.filename.startswith("/") else f"{FOLDER}/{p.filename}"
        return name if name.endswith(".list") else f"{name}.list"
    words = [part for part in re.split(r"[^a-zA-Z0-9]+", f"{re.sub('^[a-z+]+://', '', entry.uri)} {entry.suite}") if part]
    if entry.components:
        words = [part for part in re.split(r"[^a-zA-Z0-9]+", re.sub("^[a-z+]+://", "", entry.uri)) if part]
    return f"{FOLDER}/{'_'.join(words)}.list"


MODULE = Module(
    name="apt_repository",
    summary="An apt source in one line.",
    params=AptRepositoryParams,
    run=run,
    examples="- apt_repository: {repo: 'deb [signed-by=/usr/share/keyrings/x.gpg] https://example.com/debian stable main', filename: x}\n",
)
