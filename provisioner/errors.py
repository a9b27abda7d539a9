"""The error tree; every class carries the exit code the command line ends with.

    ProvisionError            1
    ├── UsageError            1   bad command line, missing file
    ├── InputError            1   playbook, inventory, variables, template: holds Diagnostics
    ├── HostFailed            2   a step failed
    ├── HostUnreachable       4   no connection, or it was lost
    │   ├── NodeLocked        4   another run holds the node
    │   ├── WrongPassword     4   the password for becoming another user was refused
    │   ├── MayNotBecome      4   the login may not become the user that was to be
    │   └── InterpreterMissing 4  there is no such Python on the node; a step that asked for it fails
    ├── Refused               3   the plan is stale, or reality moved
    │   └── PlanMismatch      3   the apply did something else than was planned
    └── Interrupted         130

Raise the most specific one. Foreign exceptions are mapped where they enter: transport/, playbook/yaml.py, templating/.
"""

from __future__ import annotations

from provisioner.diagnostics import Diagnostic, Diagnostics, Span


class ProvisionError(Exception):
    """Anything that went wrong for a reason a person can act on; never a bug of ours."""

    exit_code = 1

    def __init__(self, message: str, *, why: str = "", help: str = "", span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.help = help
        self.span = span

    def diagnostic(self) -> Diagnostic:
        """The same fact in the form that is rendered."""
        return Diagnostic(self.message, self.span, why=self.why, help=self.help)


class UsageError(ProvisionError):
    """The command line asks for something that does not exist."""


class InputError(ProvisionError):
    """Problems in files a person wrote, all that were found."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        errors = diagnostics.errors
        super().__init__(errors[0].message if errors else "invalid input")
        self.diagnostics = diagnostics

    @classmethod
    def of(cls, message: str, span: Span | None = None, *, why: str = "", help: str = "") -> InputError:
        """An error with a single problem."""
        diagnostics = Diagnostics()
        diagnostics.error(message, span, why=why, help=help)
        return cls(diagnostics)


class HostFailed(ProvisionError):
    """A step failed on a host."""

    exit_code = 2


class HostUnreachable(ProvisionError):
    """No connection to a host, or it broke, or it does not answer within its deadline."""

    exit_code = 4


class NodeLocked(HostUnreachable):
    """Another run holds the node, and did not end while this one waited."""


class WrongPassword(HostUnreachable):
    """A host refused the password for becoming another user; trying it on more hosts would only lock accounts."""


class MayNotBecome(HostUnreachable):
    """A host does not let the login become the user that was to be, or only with a password that was not given."""


class InterpreterMissing(HostUnreachable):
    """The host was reached, but what ``ansible_python_interpreter`` names is not there: a failure of the task that says so."""


class Refused(ProvisionError):
    """A saved plan no longer fits: its inputs changed, or the nodes did."""

    exit_code = 3


class PlanMismatch(Refused):
    """An apply was about to do, or did, something else than its plan said."""


class Interrupted(ProvisionError):
    """The operator stopped the run."""

    exit_code = 130
