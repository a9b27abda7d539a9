"""What the Vagrantfile needs of us: ``python -m provisioner.lab.vagrant image SUITE KEY`` and ``… overlay NODE FILE [BOARDS]``.

``image`` makes the Docker image of a node that opens to the public key in the file KEY, and prints its tag; ``overlay`` writes a tar of
what a machine of any provider gets on top of its box: simulated GPUs, and the local package repository below /srv/provision-lab.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from provisioner.errors import ProvisionError, UsageError
from provisioner.lab import image, repository, rootfs, simulator, state
from provisioner.lab.docker import Engine
from provisioner.lab.tools import call

REPOSITORY = "srv/provision-lab/repository"


def docker_image(suite: str, key: Path, *, folder: Path | None = None) -> str:
    """The tag of an image of ``suite`` that the public key in ``key`` opens; built when it is not there.

    Raises ProvisionError where Docker does not answer or the suite cannot be bootstrapped.
    """
    engine = Engine()
    reason = engine.unusable()
    if reason:
        raise ProvisionError("Vagrant's Docker provider needs Docker", why=reason, help="start Docker, or use another provider")
    root = image.ensure(suite, state.base_folder(folder), _say)
    plain = engine.image(root, _say)
    tag = f"provision-lab-vagrant:{suite}"
    with tempfile.TemporaryDirectory() as context:
        shutil.copy(key, Path(context, "key.pub"))
        copy = f"COPY --chown={rootfs.USER}:{rootfs.USER} key.pub /home/{rootfs.USER}/.ssh/authorized_keys"
        Path(context, "Dockerfile").write_text(f"FROM {plain}\n{copy}\n", encoding="utf-8")
        call("docker", "build", "--quiet", f"--tag={tag}", context)
    return tag


def overlay(node: str, destination: Path, boards: str = "2xA100") -> None:
    """Write the tar for one node; ``boards`` are in the simulator's words. The repository and its keys are kept beside ``destination``."""
    built = repository.build(destination.parent / "repository", url=f"file:///{REPOSITORY}")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        simulator.tree(tree, simulator.parse(boards), seed=node)
        # Only what is served: the keys it is signed with stay here.
        shutil.copytree(built.folder, tree / REPOSITORY)
        with tarfile.open(destination, "w:gz") as archive:
            for path in sorted(tree.rglob("*")):
                name = path.relative_to(tree)
                # Folders of the system are left out, so that they keep their modes; tar makes those that are missing.
                if path.is_symlink() or not path.is_dir() or name.is_relative_to("srv/provision-lab"):
                    archive.add(path, arcname=str(name), recursive=False, filter=_of_root)


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main(arguments: Sequence[str]) -> int:
    """Run one of the two; returns the exit code."""
    try:
        match list(arguments):
            case ["image", suite, key]:
                sys.stdout.write(f"{docker_image(suite, Path(key))}\n")
            case ["overlay", node, file, *boards] if len(boards) <= 1:
                overlay(node, Path(file), *boards)
            case _:
                raise UsageError("usage: image SUITE KEY | overlay NODE FILE [BOARDS]")
    except ProvisionError as error:
        _say(error.diagnostic().render())
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
