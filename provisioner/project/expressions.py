"""What renders the expressions of constructed and generated inventories: the template engine, imported only when there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def inventory_renderer() -> Callable[[str, Mapping[str, Any]], Any]:
    """A ``Render`` for ``inventory.load``; lookups make nothing, and what is missing raises ``InputError``."""
    made: list[Any] = []

    def render(text: str, variables: Mapping[str, Any]) -> Any:
        from provisioner.templating.environment import Environment
        from provisioner.templating.templar import Templar
        from provisioner.templating.variables import Layer, Level, Scope

        if not made:
            made.append(Environment())
        scope = Scope([Layer(Level.INVENTORY_HOST, variables, "inventory")])
        return Templar(made[0], scope, read_only=True).render(text)

    return render
