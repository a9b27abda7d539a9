"""``gather_facts``: the ``setup`` module under the name plays use."""

from __future__ import annotations

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Work
from provisioner.schema.convert import coerce
from provisioner.schema.fields import fields_of


def gather_facts(call: Call) -> Work:
    """Read the node's facts."""
    module = call.run.registry.find("setup")
    assert module is not None, "setup is a built-in module"
    known = fields_of(module.module.params)
    args = {name: value for name, value in call.written.items() if name in known}
    params, _ = coerce(module.module, args, defaults=False)
    return Work([NodeCall("setup", params)])
