"""A git working tree at a version."""

from __future__ import annotations

import os

from ..declare import Module, Params, option
from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class GitParams(Params):
    """Parameters of ``git``."""

    repo: str = option("Where it comes from.", aliases=("name",))
    dest: str | None = option("The working tree.", None, kind="path")
    version: str = option("Branch, tag or commit.", "HEAD")
    update: bool = option("Fetch and move on when the tree is there.", True)
    clone: bool = option("Clone when the tree is not there.", True)
    force: bool = option("Throw local changes away.", False)
    depth: int | None = option("Only this many commits of history.", None)
    single_branch: bool = option("Only this branch.", False)
    bare: bool = option("Without a working tree.", False)
    remote: str = option("Name of the remote.", "origin")
    refspec: str | None = option("What else to fetch.", None)
    recursive: bool = option("Submodules, too.", True)
    track_submodules: bool = option("Submodules at the tip of their branch.", False)
    accept_hostkey: bool = option("Accept an unknown host key.", False)
    accept_newhostkey: bool = option("Accept a new host key, never a changed one.", False)
    key_file: str | None = option("SSH key.", None, kind="path", aliases=("ssh_key",))
    ssh_opts: str | None = option("Options for ssh.", None)
    executable: str | None = option("The git program.", None, kind="path")
    reference: str | None = option("A local repository to borrow objects from.", None)
    umask: str | None = option("Umask for the files.", None, kind="raw")
    separate_git_dir: str | None = option("Another place for the .git folder.", None, kind="path")
    verify_commit: bool = option("The commit's signature must be good.", False)
    gpg_allowlist: list[str] = option("Fingerprints whose signature is accepted.", [], aliases=("gpg_whitelist",))
    archive: str | None = option("Also make an archive of the tree.", None, kind="path")
    archive_prefix: str | None = option("Prefix of names in it.", None)


def run(node: Node, p: GitParams) -> dict[str, Any]:
    """Clone, or fetch and check out."""
    git = p.executable or node.commands.find("git")
    if git is None:
        node.fail("git is not installed; install the package git first")
    if p.dest is None and p.clone:
        node.fail("dest is needed unless clone is false")
    dest = node.files.expand(p.dest) if p.dest else ""
    folder = dest if p.bare else os.path.join(dest, ".git")
    tool = _Tool(node, p, git, dest)
    if not dest or not node.files.exists(os.path.join(folder, "config") if not p.separate_git_dir else folder):
        return _clone(node, p, tool, dest)
    return _update(node, p, tool, dest)


class _Tool:
    """git with the right environment, in the right place."""

    def __init__(self, node: Node, p: GitParams, git: str, dest: str) -> None:
        self._node = node
        self._git = git
        self._dest = dest
        options = ["-o", "BatchMode=yes"]
        if p.key_file:
            options += ["-i", p.key_file, "-o", "IdentitiesOnly=yes"]
        if p.accept_hostkey:
            options += ["-o", "StrictHostKeyChecking=no"]
        elif p.accept_newhostkey:
            options += ["-o", "StrictHostKeyChecking=accept-new"]
        self.environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": " ".join(["ssh", *options, p.ssh_opts or ""]).strip()}

    def ask(self, *argv: str, ok: Any = (0,), chdir: bool = True) -> str:
        """A question to git."""
        words = [self._git, *(["-C", self._dest] if chdir else []), *argv]
        return self._node.commands.query(words, about=[("path", self._dest)], timeout=300, environment=self.environment, ok=ok).out.strip()

    def do(self, *argv: str, what: str, before: Any = None, after: Any = None, chdir: bool = True) -> None:
        """Something that alters the tree."""
        words = [self._git, *(["-C", self._dest] if chdir else []), *argv]
        touches = [("path", self._dest)]
        self._node.commands.perform(words, touches=touches, what=what, environment=self.environment, before=before, after=after or "run")


def _remote_head(node: Node, p: GitParams, tool: _Tool) -> str:
    """The commit the version is on the remote: a full hash stands for itself."""
    if len(p.version) in (40, 64) and all(char in "0123456789abcdef" for char in p.version.lower()):
        return p.version.lower()
    answer = tool.ask("ls-remote", p.repo, *(["HEAD"] if p.version == "HEAD" else []), chdir=False)
    found = {name: commit for commit, _, name in (line.partition("\t") for line in answer.splitlines())}
    for name in (p.version, f"refs/heads/{p.version}", f"refs/tags/{p.version}^{{}}", f"refs/tags/{p.version}"):
        if name in found:
            return found[name]
    matching = [commit for commit in found.values() if len(p.version) > 6 and commit.startswith(p.version.lower())]
    if matching:
        return matching[0]
    node.fail(f"{p.repo} has no branch, tag or commit {p.version}")


def _clone(node: Node, p: GitParams, tool: _Tool, dest: str) -> dict[str, Any]:
    if not p.clone:
        return {"before": None, "after": _remote_head(node, p, tool), "changed": False}
    if node.files.exists(dest) and node.files.names(dest):
        node.fail(f"{dest} is there, is not empty and is no git repository", dest=dest)
    after = _remote_head(node, p, tool)
    argv = ["clone", "--origin", p.remote]
    argv += ["--bare"] if p.bare else []
    argv += ["--depth", str(p.depth)] if p.depth else []
    argv += ["--reference", p.reference] if p.reference else []
    argv += ["--single-branch"] if p.single_branch else []
    argv += ["--separate-git-dir", p.separate_git_dir] if p.separate_git_dir else []
    is_hash = after == p.version.lower()
    argv += ["--branch", p.version] if p.version != "HEAD" and not is_hash and not p.bare else []
    tool.do(*argv, "--", p.repo, dest, what=f"clone {p.repo} into {dest}", after=after, chdir=False)
    if not p.bare:
        if is_hash:
            tool.do("checkout", "--quiet", "--detach", after, what=f"check out {p.version} in {dest}", after=after)
        _finish(p, tool, dest)
    _archive(p, tool, dest)
    return {"before": None, "after": after, "remote_url_changed": False}


def _update(node: Node, p: GitParams, tool: _Tool, dest: str) -> dict[str, Any]:
    before = tool.ask("rev-parse", "HEAD")
    dirty = "" if p.bare else tool.ask("status", "--porcelain", "--untracked-files=no")
    url = tool.ask("config", "--get", f"remote.{p.remote}.url", ok=None)
    if dirty and not p.force and p.update:
        node.fail(f"Local modifications exist in the destination: {dest} (force=no). force: true throws them away", before=before)
    result: dict[str, Any] = {"before": before, "remote_url_changed": False}
    if url != p.repo:
        tool.do(
            "remote", "set-url" if url else "add", p.remote, p.repo, what=f"remote {p.remote} of {dest}", before=url or None, after=p.repo
        )
        result["remote_url_changed"] = bool(url)
    if not p.update:
        return {**result, "after": before}
    after = _remote_head(node, p, tool)
    branch = "" if p.bare else tool.ask("rev-parse", "--abbrev-ref", "HEAD")
    wants_branch = not p.bare and p.version not in ("HEAD", branch) and after != p.version.lower() and branch != "HEAD"
    if dirty:
        tool.do("reset", "--quiet", "--hard", what=f"throw local changes in {dest} away", before=before)
    if before != after or wants_branch:
        refs = (
            [p.refspec] if p.refspec else ([f"+refs/heads/*:refs/remotes/{p.remote}/*"] if not p.bare else ["+refs/heads/*:refs/heads/*"])
        )
        depth = ["--depth", str(p.depth)] if p.depth else []
        tool.do(
            "fetch", "--quiet", "--tags", "--force", *depth, p.remote, *refs, what=f"fetch {p.repo} into {dest}", before=before, after=after
        )
        if not p.bare:
            _check_out(p, tool, dest, branch, before, after)
    if not p.bare:
        _finish(p, tool, dest, only_if=before != after)
    _archive(p, tool, dest)
    return {**result, "after": after}


def _check_out(p: GitParams, tool: _Tool, dest: str, branch: str, before: str, after: str) -> None:
    """The branch when the version is one, else the commit itself."""
    name = branch if p.version == "HEAD" else p.version
    what = f"check out {p.version} in {dest}"
    if tool.ask("ls-remote", "--heads", p.repo, f"refs/heads/{name}", chdir=False):
        tool.do("checkout", "--quiet", "--force", "-B", name, after, what=what, before=before, after=after)
    else:
        tool.do("checkout", "--quiet", "--force", "--detach", after, what=what, before=before, after=after)


def _finish(p: GitParams, tool: _Tool, dest: str, only_if: bool = True) -> None:
    """Submodules and signature."""
    if p.recursive and only_if and os.path.exists(os.path.join(dest, ".gitmodules")):
        remote = ["--remote"] if p.track_submodules else []
        tool.do("submodule", "update", "--init", "--recursive", *remote, what=f"submodules of {dest}")
    if p.verify_commit:
        try:
            tool.ask("verify-commit", "--raw", "HEAD")
        except Fail as fault:
            raise Fail(f"the commit checked out in {dest} has no good signature: {fault.msg}") from None


def _archive(p: GitParams, tool: _Tool, dest: str) -> None:
    if not p.archive or os.path.exists(p.archive):
        return
    kinds = {".zip": "zip", ".tar": "tar", ".gz": "tar.gz", ".tgz": "tar.gz"}
    kind = kinds.get(os.path.splitext(p.archive)[1], "tar")
    prefix = [f"--prefix={p.archive_prefix}/"] if p.archive_prefix else []
    tool.do("archive", f"--format={kind}", *prefix, "-o", p.archive, "HEAD", what=f"archive of {dest} as {p.archive}")


MODULE = Module(
    name="git",
    summary="A git working tree at a version.",
    params=GitParams,
    run=run,
    resource=(("path", "dest"),),
    examples="- git: {repo: 'https://example.com/tool.git', dest: /opt/tool, version: v1.2}\n",
)
