"""A file put together from fragments."""

from __future__ import annotations

from ..attributes import FileAttributes
from ..declare import Module, option


class AssembleParams(FileAttributes):
    """Parameters of ``assemble``."""

    src: str = option("Folder of the fragments.", kind="path")
    dest: str = option("Where the file goes.", kind="path")
    remote_src: bool = option("The folder is on the node.", True)
    delimiter: str | None = option("What stands between two fragments.", None)
    regexp: str | None = option("Only fragments whose name matches.", None)
    ignore_hidden: bool = option("Leave out names that start with a dot.", False)
    backup: bool = option("Keep a dated copy of what is replaced.", False)
    validate: str = option("A command that must accept the new file (%s).", "")
    decrypt: bool = option("Decrypt vaulted fragments.", True)


MODULE = Module(
    name="assemble",
    summary="A file put together from fragments.",
    params=AssembleParams,
    where="controller",
    examples="- assemble: {src: /etc/app.d, dest: /etc/app.conf}\n",
)
