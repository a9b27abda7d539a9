"""Who may import whom, and what else must not grow: the contracts of the layout as data."""

from __future__ import annotations

GROUND = {"diagnostics", "errors", "values"}
"""What everything above may use."""

MAY_IMPORT: dict[str, set[str]] = {
    # the ground floor
    "diagnostics": set(),
    "values": set(),
    "errors": {"diagnostics"},
    "events": {"diagnostics", "values"},
    "ports": set(),
    "keeping": set(),
    "config": {"diagnostics", "errors"},
    # what runs on the node, and what starts it there
    "node": set(),
    "transport": {*GROUND, "ports", "keeping", "node.wire", "node"},
    # what people write
    "schema": {*GROUND, "node.declare", "node", "playbook.keywords"},
    "bridge": {*GROUND, "keeping", "schema"},
    "vault": {*GROUND},
    "playbook": {*GROUND, "schema", "node.declare"},
    "inventory": {*GROUND, "config", "vault", "playbook.yaml", "playbook.places"},
    "templating": {*GROUND, "vault"},
    # what happens
    "plan": {*GROUND},
    "engine": {*GROUND, "events", "ports", "inventory", "playbook", "schema", "bridge", "templating", "plan", "node.wire"},
    "verify": {*GROUND, "ports", "plan", "engine"},
    "doctor": {*GROUND, "ports"},
    "report": {"diagnostics", "values", "events", "plan"},
    "project": {
        *GROUND,
        "config",
        "events",
        "keeping",
        "ports",
        "node",
        "inventory",
        "playbook",
        "schema",
        "bridge",
        "templating",
        "vault",
        "engine",
        "transport",
    },
    "lab": {*GROUND},
    "testing": {*GROUND, "node", "schema"},
}
"""Package → what of ours it may import: a whole package, or one module of it. ``cli`` may import all."""

LIBRARIES: dict[str, set[str]] = {
    "bridge": {"yaml"},
    "cli": {"click", "yaml"},
    "inventory": {"yaml"},
    "lab": {"yaml", "cryptography"},
    "playbook": {"yaml"},
    "plan": {"cryptography"},
    "schema": {"jsonschema"},
    "templating": {"jinja2", "markupsafe", "yaml", "packaging", "bcrypt", "jmespath"},
    "transport": {"fabric", "paramiko"},
    "vault": {"cryptography"},
    "verify": {"pytest", "testinfra"},
    "testing": {"pytest", "yaml"},
}
"""Which other libraries a package may use; without an entry: none but the standard one."""

ONLY_IN: dict[str, str] = {"fabric": "transport/ssh.py", "invoke": "transport/ssh.py", "click": "cli/"}
"""Libraries that only one place may know, so that another could take its place."""

ANY_FILE = 500
"""Lines of a file."""
MODULE_FILE = 200
"""Lines of a module in node/modules."""
FUNCTION = 60
"""Lines of a function."""
AGENT = 40_000
"""Bytes of the streamed agent, compressed, without modules."""

AGENT_START = """
_blake2 _collections _collections_abc _functools _hashlib _json _operator _sha2 _sha256 _sha512 _sre _stat _struct _weakref
collections copyreg enum errno fcntl functools genericpath grp hashlib importlib itertools json keyword marshal operator os
posixpath pwd re reprlib select shlex signal stat struct types warnings
"""
"""Standard modules that an agent process imports before its first step, besides what an empty Python has."""

MODE_WORDS = ("check_mode", "planning", "dry_run", "dry-run")
MODE_MODULES = ("session", "overlay", "overlay_files", "overlay_system", "live", "agent", "journal")
"""What a module could tell the mode of a run by, and so must not use."""

WRITES = {
    *("os.mkdir", "os.makedirs", "os.unlink", "os.remove", "os.rmdir", "os.rename", "os.replace", "os.symlink", "os.link"),
    *("os.chmod", "os.chown", "os.lchown", "os.utime", "os.system", "os.popen", "os.fork", "os.kill", "os.mkfifo", "os.truncate"),
}
"""Calls by which a module would change the node by itself."""

PROGRAMS = {"lab/demo.py", "lab/httpd.py", "lab/repository/ctk.py", "lab/vagrant.py", "lab/simulator/install.py"}
"""Files that are programs of their own, started by a process."""

EXPORTED = ("InputError", "Options", "Outcome", "ProvisionError", "Record", "Run", "Session", "__version__", "load")
"""The public names of ``provisioner``, sorted."""
