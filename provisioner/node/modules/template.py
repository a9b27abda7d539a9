"""A file from a template of the controller."""

from __future__ import annotations

from ..attributes import FileAttributes
from ..declare import Module, option


class TemplateParams(FileAttributes):
    """Parameters of ``template``."""

    src: str = option("The template, relative to templates/.")
    dest: str = option("Where it goes.", kind="path")
    backup: bool = option("Keep a dated copy of what is replaced.", False)
    force: bool = option("Replace a file with other content.", True)
    follow: bool = option("Follow a link at dest.", False)
    validate: str = option("A command that must accept the new file (%s) before it takes the place of the old one.", "")
    newline_sequence: str = option("Line ends.", "\\n", choices=("\\n", "\\r", "\\r\\n"))
    block_start_string: str = option("How a block starts.", "{%")
    block_end_string: str = option("How a block ends.", "%}")
    variable_start_string: str = option("How an expression starts.", "{{")
    variable_end_string: str = option("How an expression ends.", "}}")
    comment_start_string: str | None = option("How a comment starts.", None)
    comment_end_string: str | None = option("How a comment ends.", None)
    trim_blocks: bool = option("Drop the line end after a block.", True)
    lstrip_blocks: bool = option("Drop the space before a block.", False)
    output_encoding: str = option("Encoding of the file.", "utf-8")


MODULE = Module(
    name="template",
    summary="A file from a template of the controller.",
    params=TemplateParams,
    where="controller",
    examples="- template: {src: daemon.json.j2, dest: /etc/docker/daemon.json}\n",
)
