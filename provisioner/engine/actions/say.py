"""Actions that only speak or judge: ``debug``, ``assert``, ``fail``, ``set_stats``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.engine.truth import as_bool, as_number
from provisioner.errors import InputError
from provisioner.events import plain
from provisioner.templating.failures import UndefinedVariable
from provisioner.values import Unknown, UnsafeText

NOT_DEFINED = "<< error 1 - {} >>"
"""What stands for a variable that does not exist, with the reason."""


def debug(call: Call) -> Outcome:
    """Show a message or a variable."""
    unknown = set(call.written) - {"msg", "var", "verbosity", "_raw_params"}
    if unknown:
        raise InputError.of(f"debug: unsupported option {', '.join(map(repr, sorted(unknown)))}", call.task.span_of("args"))
    verbosity = int(as_number(call.given("verbosity", default=0), "verbosity"))
    if verbosity > call.run.options.verbosity:
        return Outcome({"changed": False, "failed": False, "skipped": True, "skipped_reason": "Verbosity threshold not met."})
    if "var" in call.task.args:
        return _variable(call)
    message = call.written.get("msg", "Hello world!")
    outcome = Outcome.ok(msg=message)
    outcome.message = shown(message)
    return outcome


def _variable(call: Call) -> Outcome:
    raw, written = call.task.args["var"], call.written.get("var")
    if not isinstance(written, str) or "{{" in str(raw):
        # What a template gives is shown as it is: a text from elsewhere must not be evaluated.
        outcome = Outcome.ok(**{str(raw): written})
        outcome.message = f"{raw} = {shown(written)}"
        return outcome
    try:
        value = call.scope.value(written, call.task.span_of("args", "var"))
    except UndefinedVariable as error:
        value = NOT_DEFINED.format(error.message)
    outcome = Outcome.ok(**{written: value})
    outcome.message = f"{written} = {shown(value)}"
    return outcome


def assert_(call: Call) -> Outcome:
    """Judge conditions."""
    conditions = _conditions(call)
    if conditions is None:
        raise InputError.of("assert needs 'that'", call.task.span_of("args"))
    as_bool(call.given("quiet"), "quiet")
    templar = call.scope.templar
    if isinstance(conditions, str) and "{{" in conditions:
        conditions = templar.condition_list(conditions, call.task.span_of("args", "that")) or conditions
    listed = conditions if isinstance(conditions, (list, tuple)) else [conditions]
    unknown: Unknown | None = None
    for condition in listed:
        holds = templar.evaluate(condition, call.task.span_of("args", "that"))
        if isinstance(holds, Unknown):
            unknown = unknown or holds
        elif not holds:
            message = call.given("fail_msg", "msg", default="Assertion failed")
            return _failure(message, assertion=condition, evaluated_to=False)
    if unknown is not None:
        return Outcome.waiting(unknown.because)
    return Outcome.ok(msg=call.given("success_msg", default="All assertions passed"))


def _conditions(call: Call) -> Any:
    """``that`` as written; from arguments that are a variable as a whole, too, if a person wrote that variable."""
    whole = call.task.args_template
    if "that" in call.task.args or whole is None:
        return call.task.args.get("that")
    name = whole.strip().removeprefix("{{").removesuffix("}}").strip()
    loop = call.task.loop
    if loop is not None and name == loop.control.loop_var and isinstance(loop.terms, list) and loop.lookup is None:
        written = loop.terms[call.item.index]
        return written.get("that") if isinstance(written, Mapping) else None
    found = call.scope.variables.find(name)
    if found is not None and found.layer.trusted and isinstance(found.value, Mapping):
        return found.value.get("that")
    given = call.written.get("that")
    listed = given if isinstance(given, (list, tuple)) else [given]
    return None if given is None else [UnsafeText(item) if isinstance(item, str) else item for item in listed]


def fail(call: Call) -> Outcome:
    """Fail with a message."""
    return _failure(call.given("msg", default="Failed as requested from task"))


def _failure(message: Any, **result: Any) -> Outcome:
    """A failure whose message may be of any type; it is registered as it is."""
    outcome = Outcome.failure(message, **result)
    outcome.message = shown(message)
    return outcome


def set_stats(call: Call) -> Outcome:
    """Give numbers and texts of the run on to whoever reads its record."""
    data = call.written.get("data")
    if not isinstance(data, dict):
        raise InputError.of("set_stats needs 'data', a mapping", call.task.span_of("args"))
    per_host = as_bool(call.given("per_host"), "per_host")
    aggregate = as_bool(call.given("aggregate", default=True), "aggregate")
    return Outcome.ok(ansible_stats={"data": data, "per_host": per_host, "aggregate": aggregate})


def shown(value: Any) -> str:
    """A value as text for people."""
    if isinstance(value, Unknown):
        return f"(not known before apply: {value.because})"
    if isinstance(value, str):
        return value
    return json.dumps(plain(value), ensure_ascii=False, indent=2)
