"""Load variables from files of the controller."""

from __future__ import annotations

from ..declare import Module, Params, option


class IncludeVarsParams(Params):
    """Parameters of ``include_vars``."""

    file: str | None = option("One file.", None, aliases=("_raw_params",))
    dir: str | None = option("All files of a folder.", None)
    name: str | None = option("Put them under this name.", None)
    depth: int = option("How deep into the folder; 0 is without limit.", 0)
    files_matching: str | None = option("Only files whose name matches.", None)
    ignore_files: list[str] | None = option("Files to leave out.", None)
    extensions: list[str] = option("Endings of files to load.", ["yaml", "yml", "json"])
    ignore_unknown_extensions: bool = option("Pass over other files.", False)
    hash_behaviour: str | None = option("How mappings are put together.", None, choices=("replace", "merge"))


MODULE = Module(
    name="include_vars",
    summary="Load variables from files of the controller.",
    params=IncludeVarsParams,
    where="controller",
    free_form="file",
    examples="- include_vars: gpu.yml\n",
)
