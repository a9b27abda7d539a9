"""Steer the run."""

from __future__ import annotations

from ..declare import Module, Params, option


class MetaParams(Params):
    """Parameters of ``meta``."""

    action: str = option(
        "What to do.",
        aliases=("_raw_params",),
        choices=(
            "clear_facts",
            "clear_host_errors",
            "end_batch",
            "end_host",
            "end_play",
            "end_role",
            "flush_handlers",
            "noop",
            "refresh_inventory",
            "reset_connection",
        ),
    )


MODULE = Module(
    name="meta",
    summary="Steer the run.",
    params=MetaParams,
    where="controller",
    free_form="action",
    examples="- meta: flush_handlers\n",
)
