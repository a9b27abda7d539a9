"""The git program, driven for the module ``git``: with the right environment, in the right place."""

from __future__ import annotations

import shlex

from .faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .api import Node


class Git:
    """``program`` works in ``dest``; whatever alters it is a change that touches ``dest`` alone."""

    def __init__(self, node: Node, program: str, dest: str, *, ssh: Sequence[str] = (), umask: str = "") -> None:
        self._node = node
        self._program = program
        self._dest = dest
        self._umask = umask
        self.environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": " ".join(["ssh", "-o", "BatchMode=yes", *ssh])}

    def ask(self, *argv: str, ok: Any = (0,), inside: bool = True) -> str:
        """A question to git, about the tree or (``inside`` False) about a remote."""
        words = [self._program, *(["-C", self._dest] if inside else []), *argv]
        about = [("path", self._dest)] if inside else []
        return self._node.commands.query(words, about=about, timeout=300, environment=self.environment, ok=ok).out.strip()

    def do(
        self,
        *argv: str,
        what: str,
        before: Any = None,
        after: Any = None,
        inside: bool = True,
        touches: Sequence[str] = (),
        then: Sequence[str] = (),
    ) -> None:
        """Something that alters the tree; ``then``: a second command that belongs to it, run inside once the first is done."""
        words = [self._program, *(["-C", self._dest] if inside else []), *argv]
        if self._umask or then:
            script = [f"umask {self._umask}"] if self._umask else []
            script += [shlex.join(words), *([shlex.join([self._program, "-C", self._dest, *then])] if then else [])]
            words = ["/bin/sh", "-c", " && ".join(script)]
        places = [("path", path) for path in (self._dest, *touches) if path]
        self._node.commands.perform(words, touches=places, what=what, environment=self.environment, before=before, after=after or "run")

    def commit_of(self, repo: str, version: str) -> str:
        """The commit a version (branch, tag, commit) is on the remote; a full hash stands for itself."""
        if is_hash(version):
            return version.lower()
        answer = self.ask("ls-remote", repo, *(["HEAD"] if version == "HEAD" else []), inside=False)
        found = {name: commit for commit, _, name in (line.partition("\t") for line in answer.splitlines())}
        for name in (version, f"refs/heads/{version}", f"refs/tags/{version}^{{}}", f"refs/tags/{version}"):
            if name in found:
                return found[name]
        matching = [commit for commit in found.values() if len(version) > 6 and commit.startswith(version.lower())]
        if matching:
            return matching[0]
        raise Fail(f"{repo} has no branch, tag or commit {version}")

    def is_branch(self, repo: str, name: str) -> bool:
        """Whether the remote has a branch of this name."""
        return bool(self.ask("ls-remote", "--heads", repo, f"refs/heads/{name}", inside=False))

    def check_signature(self, allowed: Sequence[str]) -> None:
        """The commit checked out must be signed well, and by one of these keys when there are any."""
        about = [("path", self._dest)]
        argv = [self._program, "-C", self._dest, "verify-commit", "--raw", "HEAD"]
        answer = self._node.commands.query(argv, about=about, environment=self.environment, ok=None)
        if answer.rc:
            raise Fail(f"the commit checked out in {self._dest} has no good signature: {answer.err.strip()}", rc=answer.rc)
        signers = [line.split()[2] for line in answer.err.splitlines() if " VALIDSIG " in line]
        if allowed and not set(signers) & {each.replace(" ", "").upper() for each in allowed}:
            raise Fail(f"the commit in {self._dest} is signed by {', '.join(signers) or 'nobody'}, whom gpg_allowlist does not list")


def is_hash(version: str) -> bool:
    """Whether this is the full hash of a commit."""
    return len(version) in (40, 64) and all(char in "0123456789abcdef" for char in version.lower())
