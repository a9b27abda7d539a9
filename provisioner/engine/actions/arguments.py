"""``validate_argument_spec``: the arguments of a role against what the role says of them."""

from __future__ import annotations

from collections.abc import Mapping

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.errors import InputError
from provisioner.schema.argspec import check


def validate(call: Call) -> Outcome:
    """Check every option of the specification: given where required, of its type, one of its choices."""
    spec = call.task.args.get("argument_spec")
    if not isinstance(spec, Mapping):
        spec = call.written.get("argument_spec")
    if not isinstance(spec, Mapping):
        raise InputError.of("validate_argument_spec needs 'argument_spec'", call.task.span_of("args"))
    provided = call.written.get("provided_arguments") or {}
    names = [name for name, option in spec.items() for name in (name, *((option or {}).get("aliases") or ()))]
    problems = check(spec, {name: provided[name] if name in provided else call.scope.lookup(str(name)) for name in names})
    context = call.written.get("validate_args_context") or {}
    if problems:
        message = "Validation of arguments failed:\n" + "\n".join(problems)
        return Outcome.failure(message, argument_errors=problems, validate_args_context=context)
    return Outcome.ok(msg="The arg spec validation passed", validate_args_context=context)
