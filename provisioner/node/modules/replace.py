"""All matches of a pattern in a text file."""

from __future__ import annotations

from ..declare import Module, option
from ..text import EditParams, load, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class ReplaceParams(EditParams):
    """Parameters of ``replace``."""

    regexp: str = option("The pattern; ^ and $ match at lines, the dot does not match a line end.")
    replace: str = option("What comes instead, with \\1 or \\g<name> for groups.", "")
    after: str | None = option("Only the part after this pattern's match.", None)
    before: str | None = option("Only the part before this pattern's match.", None)


def run(node: Node, p: ReplaceParams) -> dict[str, Any]:
    """Replace in memory, then store the text."""
    import re

    path = node.files.expand(p.path)
    old = load(node, path, False) or b""
    text = old.decode(p.encoding, "surrogateescape")
    section = _pattern(p)
    start, end = _section(node, section, text)
    if start < 0:
        return {"msg": f"Pattern for before/after params did not match the given file: {section}", "changed": False, "rc": 0}
    try:
        pattern = re.compile(p.regexp, re.MULTILINE)
        edited, count = pattern.subn(p.replace, text[start:end])
    except (re.error, IndexError) as error:
        node.fail(f"{p.regexp!r} and {p.replace!r} do not go together: {error}", path=path)
    new = (text[:start] + edited + text[end:]).encode(p.encoding, "surrogateescape")
    result = store(node, p, path, old, new, f"{count} replacements made")
    return {**result, "rc": 0} if result["backup"] else {"msg": result["msg"], "rc": 0}


def _pattern(p: ReplaceParams) -> str:
    """What finds the part to work on; "" for all of the file."""
    if p.after and p.before:
        return f"{p.after}(?P<subsection>.*?){p.before}"
    if p.after:
        return f"{p.after}(?P<subsection>.*)"
    return f"(?P<subsection>.*){p.before}" if p.before else ""


def _section(node: Node, pattern: str, text: str) -> tuple[int, int]:
    """Start and end of the part to work on; -1 when after or before match nothing."""
    import re

    if not pattern:
        return 0, len(text)
    try:
        match = re.search(pattern, text, re.DOTALL)
    except re.error as error:
        node.fail(f"after and before make no regular expression ({pattern}): {error}")
    return match.span("subsection") if match else (-1, -1)


MODULE = Module(
    name="replace",
    summary="All matches of a pattern in a text file.",
    params=ReplaceParams,
    run=run,
    resource=(("path", "path"),),
    examples="- replace: {path: /etc/ssh/sshd_config, regexp: '^#?PasswordAuthentication .*', replace: PasswordAuthentication no}\n",
)
