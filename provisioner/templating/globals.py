"""Global functions of templates: ``lookup``, ``query``, ``q``, ``now``, ``undef``, and those of Jinja."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.runtime import Undefined

from provisioner.templating.compiler import CURRENT
from provisioner.templating.filters.basics import undef
from provisioner.templating.guard import refused
from provisioner.templating.lookups.context import called
from provisioner.values import Unknown


def _calling(*, listed: bool) -> Callable[..., Any]:
    def function(name: Any, *terms: Any, **options: Any) -> Any:
        evaluation = CURRENT.evaluation
        if evaluation is None:
            raise RuntimeError("a lookup runs outside of any evaluation")
        for term in (name, *terms):
            if isinstance(term, Unknown):
                return term
            if isinstance(term, Undefined):
                refused(term)
        return called(evaluation, str(name), terms, options, listed=listed)

    return function


def now(utc: bool = False, fmt: str | None = None) -> Any:
    """The present moment, or text of it."""
    moment = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) if utc else datetime.datetime.now()
    return moment.strftime(fmt) if fmt else moment


def table() -> dict[str, Any]:
    """All global functions by name."""
    query = _calling(listed=True)
    return {**DEFAULT_NAMESPACE, "lookup": _calling(listed=False), "query": query, "q": query, "now": now, "undef": undef}
