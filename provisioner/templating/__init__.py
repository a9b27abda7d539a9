"""Templates and variables: Ansible's Jinja dialect over lazily rendered, unknown-aware variables."""

from __future__ import annotations

from provisioner.templating.environment import Environment
from provisioner.templating.failures import UndefinedVariable
from provisioner.templating.files import template_variables
from provisioner.templating.natural import OMIT
from provisioner.templating.syntax import DEFAULT_SYNTAX, Syntax
from provisioner.templating.templar import Templar
from provisioner.templating.variables import LEVELS, PENDING, Definition, Layer, Level, NeedsResult, PendingNames, Scope

__all__ = [
    "DEFAULT_SYNTAX",
    "LEVELS",
    "OMIT",
    "PENDING",
    "Definition",
    "Environment",
    "Layer",
    "Level",
    "NeedsResult",
    "PendingNames",
    "Scope",
    "Syntax",
    "Templar",
    "UndefinedVariable",
    "template_variables",
]
