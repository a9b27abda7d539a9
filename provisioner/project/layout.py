"""Which project an inventory belongs to, which playbooks are meant, and what to say when they are not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from provisioner.errors import UsageError

DEFAULT = Path("playbooks") / "site.yml"


def is_host_list(source: str) -> bool:
    """Whether an inventory is hosts between commas rather than a path."""
    return "," in source and not Path(source).exists()


def is_playbook(path: Path) -> bool:
    """Whether a file is a playbook: a YAML list, which no inventory is. Looks at the first line that says anything."""
    if path.suffix not in (".yml", ".yaml") or not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                text = line.strip()
                if text and not text.startswith(("#", "---", "%")):
                    return text == "-" or text.startswith("- ")
    except OSError:
        return False
    return False


def project_folder(inventories: Sequence[str]) -> Path | None:
    """The nearest folder that has ``playbooks/site.yml``: above an inventory, else above the working directory; None without one.

    An inventory that lives elsewhere (a lab's, or a fleet's shared one) is used with the project one works in.
    """
    starts = [Path(source).absolute() for source in inventories if not is_host_list(source)]
    for start in (*starts, Path.cwd()):
        for folder in (start, *start.parents):
            if (folder / DEFAULT).is_file():
                return folder
    return None


def shown(path: Path) -> Path:
    """The path as people want to read it: relative to the working directory when it lies below."""
    try:
        return path.absolute().relative_to(Path.cwd())
    except ValueError:
        return path.absolute()


def find_playbooks(named: Sequence[str | Path], inventories: Sequence[str]) -> list[Path]:
    """The playbooks to run: those named, else ``playbooks/site.yml`` of the project. Raises ``UsageError`` when there is none."""
    if named:
        paths = [Path(name) for name in named]
        for path in paths:
            if not path.is_file():
                raise UsageError(f"playbook {path} {'is a folder' if path.is_dir() else 'does not exist'}", help=_near(path))
        return paths
    folder = project_folder(inventories)
    if folder is None:
        raise UsageError(
            "no playbook was named, and no playbooks/site.yml belongs to this inventory",
            why="the folders above the inventory, and above this one, were searched for playbooks/site.yml",
            help="name one: provision apply INVENTORY PLAYBOOK; or start a project: provision init DIR",
        )
    return [shown(folder / DEFAULT)]


def _near(path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    names = sorted(each.name for each in folder.glob("*.y*ml"))[:8] if folder.is_dir() else []
    return f"{folder} has {', '.join(names)}" if names else ""


def check_inventories(sources: Sequence[str]) -> None:
    """Raise ``UsageError`` for an inventory that does not exist, or that is a playbook put in the wrong place."""
    for source in sources:
        if is_host_list(source):
            continue
        path = Path(source)
        if not path.exists():
            hint = (
                f"a single host is written with a comma: {source}," if "/" not in source and "." not in Path(source).suffix else _near(path)
            )
            raise UsageError(f"inventory {source} does not exist", help=hint)
        if is_playbook(path):
            raise UsageError(f"{source} is a playbook, and an inventory is wanted first", help="provision COMMAND INVENTORY PLAYBOOK…")
