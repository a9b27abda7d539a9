"""Filters about paths on the controller's side: pure text operations, but for links, globs, home and environment variables."""

from __future__ import annotations

import glob
import ntpath
import os.path
from collections.abc import Callable
from typing import Any

from provisioner.templating.natural import describe, text_of


def path_join(paths: Any) -> str:
    """One path of several parts; a part that is absolute starts again."""
    if isinstance(paths, str):
        return os.path.join(paths)
    if not isinstance(paths, (list, tuple)):
        raise TypeError(f"path_join expects string or sequence, got {describe(paths)}")
    return os.path.join(*map(text_of, paths))


def commonpath(paths: Any) -> str:
    """The longest beginning that paths have in common."""
    if not isinstance(paths, (list, tuple)):
        raise TypeError(f"|commonpath expects a list of paths, got {describe(paths)}")
    return os.path.commonpath([text_of(path) for path in paths])


def relpath(path: Any, start: str = ".") -> str:
    """The path seen from another folder."""
    return os.path.relpath(text_of(path), start)


def splitext(path: Any) -> list[str]:
    """The path without its extension, and the extension."""
    return list(os.path.splitext(text_of(path)))


def fileglob(pattern: Any) -> list[str]:
    """The files (no folders) that match a pattern with wildcards."""
    return [path for path in glob.glob(text_of(pattern)) if os.path.isfile(path)]


def _of_text(function: Callable[[str], Any]) -> Callable[[Any], Any]:
    def filter_(value: Any) -> Any:
        return function(text_of(value))

    filter_.__doc__ = function.__doc__
    return filter_


FILTERS: dict[str, Callable[..., Any]] = {
    "basename": _of_text(os.path.basename),
    "commonpath": commonpath,
    "dirname": _of_text(os.path.dirname),
    "expanduser": _of_text(os.path.expanduser),
    "expandvars": _of_text(os.path.expandvars),
    "fileglob": fileglob,
    "normpath": _of_text(os.path.normpath),
    "path_join": path_join,
    "realpath": _of_text(os.path.realpath),
    "relpath": relpath,
    "splitext": splitext,
    "win_basename": _of_text(ntpath.basename),
    "win_dirname": _of_text(ntpath.dirname),
    "win_splitdrive": _of_text(lambda path: list(ntpath.splitdrive(path))),
}
