"""What runs on the node: the agent, the ``Node`` facade, its live and planning sides, and the modules.

Everything below this folder is streamed to nodes: stdlib only, Python 3.9 syntax, no import from outside the folder, and nothing
that is slow to import (an agent starts in the time an import of ``dataclasses`` or ``typing`` takes). Annotations are never
evaluated on a node.
"""

WITH_FIELD = {"background": "background", "diff": "diff", "user": "identity"}
"""Field of a step → the file here that is sent with the first step in which it is set."""
APART = (
    *WITH_FIELD.values(),
    *("archives", "attributes", "download", "facts", "foreign", "fstab", "gittool", "guest", "imported", "ini", "invocation"),
    *("bus", "live_units", "managers", "modules", "openpgp", "providers", "rehearsal", "requirements", "sources", "text", "units"),
)
"""Files and folders here that are sent only when a step needs something of theirs; each agent gets all the rest."""

FACES = {"units": ("units", "live_units", "bus")}
"""Faces of ``Node`` whose code is apart, and the files behind them: what comes with a module that says ``node.units``."""
