"""A git working tree at a version."""

from __future__ import annotations

import os

from ..declare import Module, Params, option
from ..faults import UnknownReading
from ..gittool import Git, is_hash

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
    umask: Any = option("Umask for the files.", None, kind="raw")
    separate_git_dir: str | None = option("Another place for the .git folder.", None, kind="path")
    verify_commit: bool = option("The commit's signature must be good.", False)
    gpg_allowlist: list[str] = option("Fingerprints whose signature is accepted.", [], aliases=("gpg_whitelist",))
    archive: str | None = option("Also make an archive of the tree.", None, kind="path")
    archive_prefix: str | None = option("Prefix of names in it.", None)


def run(node: Node, p: GitParams) -> dict[str, Any]:
    """Clone, or fetch and check out."""
    program = p.executable or node.commands.find("git")
    if program is None:
        node.fail("git is not installed; install the package git first")
    if p.dest is None and p.clone:
        node.fail("dest is needed unless clone is false")
    dest = node.files.expand(p.dest) if p.dest else ""
    git = Git(node, program, dest, ssh=_ssh(p), umask=f"{p.umask:04o}" if isinstance(p.umask, int) else str(p.umask or ""))
    folder = dest if p.bare else os.path.join(dest, ".git")
    if not dest or not node.files.exists(os.path.join(folder, "config") if not p.separate_git_dir else folder):
        return _clone(node, p, git, dest)
    return _update(node, p, git, dest)


def _ssh(p: GitParams) -> list[str]:
    options = ["-i", p.key_file, "-o", "IdentitiesOnly=yes"] if p.key_file else []
    if p.accept_hostkey:
        options += ["-o", "StrictHostKeyChecking=no"]
    elif p.accept_newhostkey:
        options += ["-o", "StrictHostKeyChecking=accept-new"]
    return [*options, *([p.ssh_opts] if p.ssh_opts else [])]


def _clone(node: Node, p: GitParams, git: Git, dest: str) -> dict[str, Any]:
    after = git.commit_of(p.repo, p.version)
    if not p.clone:
        return {"before": None, "after": after, "changed": False}
    if node.files.exists(dest) and node.files.names(dest):
        node.fail(f"{dest} is there, is not empty and is no git repository", dest=dest)
    argv = ["clone", "--origin", p.remote]
    argv += ["--bare"] if p.bare else []
    argv += ["--depth", str(p.depth)] if p.depth else []
    argv += ["--reference", p.reference] if p.reference else []
    argv += ["--single-branch"] if p.single_branch else []
    argv += ["--separate-git-dir", p.separate_git_dir] if p.separate_git_dir else []
    argv += ["--branch", p.version] if p.version != "HEAD" and not is_hash(p.version) and not p.bare else []
    argv += ["--no-checkout"] if is_hash(p.version) and not p.bare else []
    then = _submodules(p) if not is_hash(p.version) else []
    what = f"clone {p.repo} into {dest}"
    git.do(*argv, "--", p.repo, dest, what=what, after=after, inside=False, touches=[p.separate_git_dir or ""], then=then)
    if not p.bare:
        if is_hash(p.version):
            what = f"check out {p.version} in {dest}"
            git.do("checkout", "--quiet", "--detach", after, what=what, after=after, then=_submodules(p))
        _verify(p, git)
    _archive(node, p, git, dest)
    return {"before": None, "after": after, "remote_url_changed": False}


def _update(node: Node, p: GitParams, git: Git, dest: str) -> dict[str, Any]:
    before = git.ask("rev-parse", "HEAD")
    dirty = "" if p.bare else git.ask("status", "--porcelain", "--untracked-files=no")
    url = git.ask("config", "--get", f"remote.{p.remote}.url", ok=None)
    if dirty and not p.force and p.update:
        node.fail(f"Local modifications exist in the destination: {dest} (force=no). force: true throws them away", before=before)
    after = git.commit_of(p.repo, p.version) if p.update else before
    branch = "" if p.bare or not p.update else git.ask("rev-parse", "--abbrev-ref", "HEAD")
    result: dict[str, Any] = {"before": before, "after": after, "remote_url_changed": bool(url) and url != p.repo}
    if url != p.repo:
        verb = "set-url" if url else "add"
        git.do("remote", verb, p.remote, p.repo, what=f"remote {p.remote} of {dest}", before=url or None, after=p.repo)
    if not p.update:
        return result
    if dirty:
        git.do("reset", "--quiet", "--hard", what=f"throw local changes in {dest} away", before=before)
    wants_branch = not p.bare and p.version not in ("HEAD", branch) and after != p.version.lower() and branch != "HEAD"
    if before != after or wants_branch:
        _fetch(p, git, dest, before, after)
        if not p.bare:
            _check_out(p, git, dest, branch, before, after)
    if not p.bare and before != after:
        _verify(p, git)
    _archive(node, p, git, dest)
    return result


def _fetch(p: GitParams, git: Git, dest: str, before: str, after: str) -> None:
    refs = p.refspec or ("+refs/heads/*:refs/heads/*" if p.bare else f"+refs/heads/*:refs/remotes/{p.remote}/*")
    depth = ["--depth", str(p.depth)] if p.depth else []
    what = f"fetch {p.repo} into {dest}"
    git.do("fetch", "--quiet", "--tags", "--force", *depth, p.remote, refs, what=what, before=before, after=after)


def _check_out(p: GitParams, git: Git, dest: str, branch: str, before: str, after: str) -> None:
    """The branch when the version is one, else the commit itself."""
    name = branch if p.version == "HEAD" else p.version
    place = ["-B", name] if git.is_branch(p.repo, name) else ["--detach"]
    what = f"check out {p.version} in {dest}"
    git.do("checkout", "--quiet", "--force", *place, after, what=what, before=before, after=after, then=_submodules(p))


def _submodules(p: GitParams) -> list[str]:
    """What brings submodules to where the tree wants them; nothing happens in a tree that has none."""
    if not p.recursive or p.bare:
        return []
    return ["submodule", "--quiet", "update", "--init", "--recursive", *(["--remote"] if p.track_submodules else [])]


def _verify(p: GitParams, git: Git) -> None:
    """The signature, as soon as the commit is here."""
    if p.verify_commit:
        try:
            git.check_signature(p.gpg_allowlist)
        except UnknownReading:
            return


def _archive(node: Node, p: GitParams, git: Git, dest: str) -> None:
    if not p.archive or node.files.exists(p.archive):
        return
    kinds = {".zip": "zip", ".tar": "tar", ".gz": "tar.gz", ".tgz": "tar.gz"}
    kind = kinds.get(os.path.splitext(p.archive)[1], "tar")
    prefix = [f"--prefix={p.archive_prefix}/"] if p.archive_prefix else []
    what = f"archive of {dest} as {p.archive}"
    git.do("archive", f"--format={kind}", *prefix, "-o", p.archive, "HEAD", what=what, touches=[p.archive])


MODULE = Module(
    name="git",
    summary="A git working tree at a version.",
    params=GitParams,
    run=run,
    resource=(("path", "dest"),),
    examples="- git: {repo: 'https://example.com/tool.git', dest: /opt/tool, version: v1.2}\n",
)
