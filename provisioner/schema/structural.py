"""Actions that shape a run instead of touching a node: imports, includes and the check of a role's arguments.

The loader and the engine carry them out; their declarations stand here so that they are checked, documented and completed like modules.
"""

from __future__ import annotations

from typing import Any

from provisioner.node.declare import Module, Params, one_of, option


class ImportPlaybook(Params):
    """import_playbook."""

    file: str = option("The playbook, relative to this one, or namespace.collection.name.", aliases=("_raw_params",))


class IncludeTasks(Params):
    """include_tasks."""

    file: str = option("The file of tasks; looked for beside this file, then in the role, then beside the playbook.")
    apply: dict[str, Any] = option("Keywords that hold for the tasks of the file, such as tags and become.", None)


class ImportTasks(Params):
    """import_tasks."""

    file: str = option("The file of tasks. The name may hold variables that are known before the run.")


class ImportRole(Params):
    """import_role."""

    name: str | None = option("The role.", None, aliases=("role",))
    tasks_from: str = option("The file in tasks/ to run.", "main")
    vars_from: str = option("The file in vars/ to load.", "main")
    defaults_from: str = option("The file in defaults/ to load.", "main")
    handlers_from: str = option("The file in handlers/ to load.", "main")
    allow_duplicates: bool = option("Run the role even when it ran before.", True)
    rolespec_validate: bool = option("Check the arguments against the role's argument specification.", True)
    public: bool | None = option("Whether variables of the role stay visible after it.", None)


class IncludeRole(ImportRole):
    """include_role."""

    apply: dict[str, Any] = option("Keywords that hold for the tasks of the role, such as tags and become.", None)
    public: bool | None = option("Whether variables of the role stay visible after it.", False)


class ValidateArguments(Params):
    """validate_argument_spec."""

    argument_spec: dict[str, Any] = option("What each argument must be, as in meta/argument_specs.yml.")
    provided_arguments: dict[str, Any] = option("The values to check; those not given are taken from the variables.", None)
    validate_args_context: dict[str, Any] = option("Where the specification comes from, for messages.", None)


def _structural(name: str, summary: str, params: type[Params], **details: Any) -> Module:
    return Module(name=name, summary=summary, params=params, where="controller", **details)


MODULES = {
    module.name: module
    for module in (
        _structural("import_playbook", "Insert the plays of another playbook here.", ImportPlaybook, free_form="file"),
        _structural(
            "import_tasks",
            "Insert the tasks of a file here, before the run.",
            ImportTasks,
            free_form="file",
        ),
        _structural(
            "include_tasks", "Run the tasks of a file, chosen during the run.", IncludeTasks, free_form="file", aliases=("include",)
        ),
        _structural("import_role", "Insert a role here, before the run.", ImportRole, rules=(one_of("name"),)),
        _structural("include_role", "Run a role, chosen during the run.", IncludeRole, rules=(one_of("name"),)),
        _structural("validate_argument_spec", "Check variables against a specification.", ValidateArguments),
    )
}
