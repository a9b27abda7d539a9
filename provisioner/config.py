"""Settings from ``ansible.cfg`` and ``ANSIBLE_*`` variables that have a meaning here, each with the place it came from.

Precedence as in Ansible: command line (not here), environment, file, default. The file is the first of ``$ANSIBLE_CONFIG``,
``./ansible.cfg`` (not in a folder that anybody may write to), ``~/.ansible.cfg`` and ``/etc/ansible/ansible.cfg``. A value of None
means that nobody said anything. Settings that exist in Ansible and do nothing here are named in ``notes``.
"""

from __future__ import annotations

import configparser
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.errors import InputError

NAME = "ansible.cfg"
_TRUE = frozenset(("1", "true", "t", "yes", "y", "on"))
_FALSE = frozenset(("0", "false", "f", "no", "n", "off"))


def _option(kind: str, default: Any, keys: str, names: str, *choices: str) -> Any:
    """A field of ``Config``: how its text is read, its default, ``section.key`` names in files and names in the environment."""
    metadata = {"kind": kind, "keys": keys.split(), "names": [f"ANSIBLE_{name}" for name in names.split()], "choices": choices}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Config:
    """All settings. Paths are absolute: those of a file are relative to it, those of the environment to the working folder."""

    inventory: tuple[str, ...] = _option("pathlist", (), "defaults.inventory", "INVENTORY")
    roles_path: tuple[str, ...] = _option("pathspec", (), "defaults.roles_path", "ROLES_PATH")
    collections_path: tuple[str, ...] = _option(
        "pathspec", (), "defaults.collections_path defaults.collections_paths", "COLLECTIONS_PATH COLLECTIONS_PATHS"
    )
    library: tuple[str, ...] = _option("pathspec", (), "defaults.library", "LIBRARY")
    module_utils: tuple[str, ...] = _option("pathspec", (), "defaults.module_utils", "MODULE_UTILS")
    plugin_filters_cfg: str | None = _option("path", None, "defaults.plugin_filters_cfg", "")
    ansible_path: str | None = _option("path", None, "defaults.ansible_path", "PATH")
    filter_plugins: tuple[str, ...] = _option("pathspec", (), "defaults.filter_plugins", "FILTER_PLUGINS")
    test_plugins: tuple[str, ...] = _option("pathspec", (), "defaults.test_plugins", "TEST_PLUGINS")
    lookup_plugins: tuple[str, ...] = _option("pathspec", (), "defaults.lookup_plugins", "LOOKUP_PLUGINS")
    playbook_dir: str | None = _option("path", None, "defaults.playbook_dir", "PLAYBOOK_DIR")

    remote_user: str | None = _option("text", None, "defaults.remote_user", "REMOTE_USER")
    remote_port: int | None = _option("integer", None, "defaults.remote_port", "REMOTE_PORT")
    private_key_file: str | None = _option("path", None, "defaults.private_key_file", "PRIVATE_KEY_FILE")
    transport: str | None = _option("text", None, "defaults.transport", "TRANSPORT")
    timeout: int | None = _option("integer", None, "defaults.timeout ssh_connection.timeout", "TIMEOUT SSH_TIMEOUT")
    host_key_checking: bool | None = _option(
        "boolean", None, "defaults.host_key_checking ssh_connection.host_key_checking", "HOST_KEY_CHECKING SSH_HOST_KEY_CHECKING"
    )
    ssh_args: str | None = _option("text", None, "ssh_connection.ssh_args", "SSH_ARGS")
    ssh_common_args: str | None = _option("text", None, "ssh_connection.ssh_common_args", "SSH_COMMON_ARGS")
    ssh_extra_args: str | None = _option("text", None, "ssh_connection.ssh_extra_args", "SSH_EXTRA_ARGS")
    ssh_retries: int | None = _option("integer", None, "ssh_connection.retries connection.retries", "SSH_RETRIES")
    ask_pass: bool = _option("boolean", False, "defaults.ask_pass", "ASK_PASS")
    connection_password_file: str | None = _option("path", None, "defaults.connection_password_file", "CONNECTION_PASSWORD_FILE")
    interpreter_python: str | None = _option("text", None, "defaults.interpreter_python", "PYTHON_INTERPRETER")
    executable: str | None = _option("text", None, "defaults.executable", "EXECUTABLE")
    remote_tmp: str | None = _option("text", None, "defaults.remote_tmp", "REMOTE_TEMP REMOTE_TMP")

    become: bool = _option("boolean", False, "privilege_escalation.become", "BECOME")
    become_user: str | None = _option("text", None, "privilege_escalation.become_user", "BECOME_USER")
    become_method: str | None = _option("text", None, "privilege_escalation.become_method", "BECOME_METHOD")
    become_exe: str | None = _option("text", None, "privilege_escalation.become_exe", "BECOME_EXE")
    become_flags: str | None = _option("text", None, "privilege_escalation.become_flags", "BECOME_FLAGS")
    become_ask_pass: bool = _option("boolean", False, "privilege_escalation.become_ask_pass", "BECOME_ASK_PASS")
    become_password_file: str | None = _option("path", None, "defaults.become_password_file", "BECOME_PASSWORD_FILE")

    vault_password_file: str | None = _option("path", None, "defaults.vault_password_file", "VAULT_PASSWORD_FILE")
    vault_identity: str = _option("text", "default", "defaults.vault_identity", "VAULT_IDENTITY")
    vault_identity_list: tuple[str, ...] = _option("vault_ids", (), "defaults.vault_identity_list", "VAULT_IDENTITY_LIST")
    vault_encrypt_identity: str | None = _option("text", None, "defaults.vault_encrypt_identity", "VAULT_ENCRYPT_IDENTITY")
    vault_id_match: bool = _option("boolean", False, "defaults.vault_id_match", "VAULT_ID_MATCH")
    vault_encrypt_salt: str | None = _option("text", None, "defaults.vault_encrypt_salt", "VAULT_ENCRYPT_SALT")
    ask_vault_pass: bool = _option("boolean", False, "defaults.ask_vault_pass", "ASK_VAULT_PASS")

    forks: int | None = _option("integer", None, "defaults.forks", "FORKS")
    strategy: str | None = _option("text", None, "defaults.strategy", "STRATEGY")
    gathering: str = _option("choice", "implicit", "defaults.gathering", "GATHERING", "implicit", "explicit", "smart")
    hash_behaviour: str = _option("choice", "replace", "defaults.hash_behaviour", "HASH_BEHAVIOUR", "replace", "merge")
    force_handlers: bool = _option("boolean", False, "defaults.force_handlers", "FORCE_HANDLERS")
    any_errors_fatal: bool = _option("boolean", False, "defaults.any_errors_fatal", "ANY_ERRORS_FATAL")
    error_on_missing_handler: bool = _option("boolean", True, "defaults.error_on_missing_handler", "ERROR_ON_MISSING_HANDLER")
    inject_facts_as_vars: bool = _option("boolean", True, "defaults.inject_facts_as_vars", "INJECT_FACT_VARS")
    private_role_vars: bool = _option("boolean", False, "defaults.private_role_vars", "PRIVATE_ROLE_VARS")
    playbook_vars_root: str = _option("choice", "top", "defaults.playbook_vars_root", "PLAYBOOK_VARS_ROOT", "top", "bottom", "all")
    task_timeout: int | None = _option("integer", None, "defaults.task_timeout", "TASK_TIMEOUT")
    poll_interval: int = _option("integer", 15, "defaults.poll_interval", "POLL_INTERVAL")
    async_dir: str = _option("text", "~/.ansible_async", "defaults.async_dir", "ASYNC_DIR")
    no_log: bool = _option("boolean", False, "defaults.no_log", "NO_LOG")
    run_tags: tuple[str, ...] = _option("list", (), "tags.run", "RUN_TAGS")
    skip_tags: tuple[str, ...] = _option("list", (), "tags.skip", "SKIP_TAGS")
    diff: bool = _option("boolean", False, "diff.always", "DIFF_ALWAYS")
    diff_context: int = _option("integer", 3, "diff.context", "DIFF_CONTEXT")
    verbosity: int = _option("integer", 0, "defaults.verbosity", "VERBOSITY")
    fact_caching: str | None = _option("text", None, "defaults.fact_caching", "CACHE_PLUGIN")
    fact_caching_connection: str | None = _option("text", None, "defaults.fact_caching_connection", "CACHE_PLUGIN_CONNECTION")
    fact_caching_prefix: str | None = _option("text", None, "defaults.fact_caching_prefix", "CACHE_PLUGIN_PREFIX")
    fact_caching_timeout: int | None = _option("integer", None, "defaults.fact_caching_timeout", "CACHE_PLUGIN_TIMEOUT")

    allow_broken_conditionals: bool = _option("boolean", True, "defaults.allow_broken_conditionals", "ALLOW_BROKEN_CONDITIONALS")
    ansible_managed: str | None = _option("text", None, "defaults.ansible_managed", "")
    duplicate_dict_key: str | None = _option(
        "choice", None, "defaults.duplicate_dict_key", "DUPLICATE_YAML_DICT_KEY", "error", "warn", "ignore"
    )
    error_on_undefined_vars: bool = _option("boolean", True, "defaults.error_on_undefined_vars", "ERROR_ON_UNDEFINED_VARS")
    jinja2_extensions: tuple[str, ...] = _option("list", (), "defaults.jinja2_extensions", "JINJA2_EXTENSIONS")

    enable_plugins: tuple[str, ...] | None = _option("list", None, "inventory.enable_plugins", "INVENTORY_ENABLED")
    ignore_extensions: tuple[str, ...] | None = _option(
        "list", None, "inventory.ignore_extensions defaults.inventory_ignore_extensions", "INVENTORY_IGNORE"
    )
    ignore_patterns: tuple[str, ...] = _option(
        "list", (), "inventory.ignore_patterns defaults.inventory_ignore_patterns", "INVENTORY_IGNORE_REGEX"
    )
    host_pattern_mismatch: str | None = _option(
        "choice", None, "inventory.host_pattern_mismatch", "HOST_PATTERN_MISMATCH", "error", "warning", "ignore"
    )
    force_valid_group_names: str = _option(
        "choice", "never", "defaults.force_valid_group_names", "TRANSFORM_INVALID_GROUP_CHARS", "never", "ignore", "always", "silently"
    )
    inventory_export: bool = _option("boolean", False, "inventory.export", "INVENTORY_EXPORT")

    file: Path | None = None
    """The settings file that was read."""
    origins: Mapping[str, Span] = field(default_factory=dict)
    """Setting → where its value stands; for the environment the file is the variable's name. Defaults have no entry."""
    notes: Diagnostics = field(default_factory=Diagnostics)
    """Warnings: settings that do nothing here, and files that were not trusted."""

    def origin(self, name: str) -> str:
        """``ansible.cfg:3``, ``$ANSIBLE_FORKS`` or ``default``."""
        found = self.origins.get(name)
        return str(found) if found is not None else "default"


def by_ansible_name(config: Config) -> dict[str, Any]:
    """Settings as ``lookup('config', NAME)`` knows them: by the variable's name without ``ANSIBLE_``, also after ``DEFAULT_``."""
    found: dict[str, Any] = {}
    for option in fields(Config):
        value = getattr(config, option.name)
        value = list(value) if isinstance(value, tuple) else value
        for name in option.metadata.get("names", ()) or ([f"ANSIBLE_{option.name.upper()}"] if option.metadata else []):
            short = name.removeprefix("ANSIBLE_")
            found[short] = found[f"DEFAULT_{short}"] = value
    return found


IGNORED = {
    "output is this program's own": (
        "action_warnings bin_ansible_callbacks callbacks_enabled callback_whitelist callback_plugins command_warnings cow_selection "
        "cowpath cowsay_enabled_stencils deprecation_warnings devel_warning display_args_to_stdout display_failed_stderr "
        "display_ok_hosts display_skipped_hosts display_traceback force_color localhost_warning log_filter log_path log_verbosity "
        "nocolor nocows result_format show_custom_stats show_per_host_start stdout_callback system_warnings verbose_to_stderr"
    ),
    "one agent a host makes it needless": (
        "control_path control_path_dir internal_poll_interval keep_remote_files local_tmp module_compression pipelining scp_executable "
        "scp_extra_args scp_if_ssh sftp_batch_mode sftp_executable sftp_extra_args transfer_method use_persistent_connections usetty"
    ),
    "the order of precedence is fixed": "precedence run_vars_plugins vars_plugins_enabled",
    "such plugins of Ansible cannot run here": (
        "action_plugins become_plugins cache_plugins cliconf_plugins connection_plugins doc_fragment_plugins httpapi_plugins "
        "inventory_plugins netconf_plugins strategy_plugins terminal_plugins vars_plugins"
    ),
    "no retry files are written": "retry_files_enabled retry_files_save_path",
}
"""Why a setting of Ansible does nothing here → its keys."""

_REASONS = {key: reason for reason, keys in IGNORED.items() for key in keys.split()}


def load(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Config:
    """Read the settings. ``folder`` stands for the working folder. Raises ``InputError`` with every value that cannot be read."""
    environment = os.environ if environment is None else environment
    folder = (folder if folder is not None else Path.cwd()).absolute()
    reading = _Reading(environment, folder)
    values = reading.values()
    if reading.problems.errors:
        raise InputError(reading.problems)
    return Config(**values, file=reading.file, origins=reading.origins, notes=reading.problems)


class _Reading:
    """Reads the values of one environment and file."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        self.origins: dict[str, Span] = {}
        self.problems = Diagnostics()
        self.file = self._find()
        self._entries = self._parse() if self.file is not None else {}

    def values(self) -> dict[str, Any]:
        """Setting → value, for those that are set anywhere."""
        found: dict[str, Any] = {}
        known: set[str] = set()
        for option in fields(Config):
            if not option.metadata:
                continue
            known.update(option.metadata["keys"])
            setting = self._lookup(option)
            if setting is None:
                continue
            text, origin, base = setting
            try:
                found[option.name] = _KINDS[option.metadata["kind"]](text, base, option.metadata["choices"])
            except ValueError as error:
                self.problems.error(f"setting {option.name} = {text!r}: {error}", origin if origin.line else None, help=f"set in {origin}")
                continue
            self.origins[option.name] = origin
        self._note_ignored(known)
        return found

    def _lookup(self, option: Field[Any]) -> tuple[str, Span, Path] | None:
        for name in option.metadata["names"]:
            if name in self._environment:
                return self._environment[name], Span(f"${name}"), self._folder
        for key in option.metadata["keys"]:
            if key in self._entries and self.file is not None:
                text, line = self._entries[key]
                return text, Span(str(self.file), line), self.file.parent
        return None

    def _find(self) -> Path | None:
        named = self._environment.get("ANSIBLE_CONFIG")
        if named:
            path = self._folder / os.path.expanduser(os.path.expandvars(named))
            path = path / NAME if path.is_dir() else path
            if path.is_file():
                return path
            self.problems.warning(f"settings file {path} does not exist", help="ANSIBLE_CONFIG names it; unset it or correct it")
        for path in self._candidates():
            if path.is_file() and os.access(path, os.R_OK):
                return path
        return None

    def _candidates(self) -> Iterator[Path]:
        local = self._folder / NAME
        if local.is_file():
            if self._folder.stat().st_mode & stat.S_IWOTH:
                self.problems.warning(
                    f"{local} is not read: anybody may write to its folder",
                    help=f"'chmod o-w {self._folder}', or name the file in ANSIBLE_CONFIG",
                )
            else:
                yield local
        home = self._environment.get("HOME")
        if home:
            yield Path(home) / f".{NAME}"
        yield Path("/etc/ansible") / NAME

    def _parse(self) -> dict[str, tuple[str, int]]:
        """``section.key`` → text and line."""
        assert self.file is not None
        parser = configparser.ConfigParser(inline_comment_prefixes=(";",), interpolation=None)
        try:
            text = self.file.read_text(encoding="utf-8")
            parser.read_string(text)
        except (OSError, UnicodeDecodeError) as error:
            self.problems.error(f"cannot read {self.file}: {error}", Span(str(self.file)))
            return {}
        except configparser.Error as error:
            line = getattr(error, "lineno", 0) or (getattr(error, "errors", None) or [(0, "")])[0][0]
            self.problems.error(
                f"{self.file.name} is not an INI file: {str(error).splitlines()[0]}",
                Span(str(self.file), line or 0),
                help="write [section] lines and key = value",
            )
            return {}
        lines = _lines(text)
        return {
            f"{section}.{key}": (_unquoted(value), lines.get((section, key), 0))
            for section in parser.sections()
            for key, value in parser.items(section)
        }

    def _note_ignored(self, known: set[str]) -> None:
        sections = {key.partition(".")[0] for key in known}
        for key, (_, line) in self._entries.items():
            section, _, name = key.partition(".")
            if key in known:
                continue
            place = Span(str(self.file), line)
            if name in _REASONS:
                self.problems.warning(f"setting {name} does nothing here", place, why=_REASONS[name], code="ignored-setting")
            elif section in sections:
                near = did_you_mean(name, [other.partition(".")[2] for other in known if other.startswith(f"{section}.")])
                self.problems.warning(f"setting {name} has no meaning here", place, help=near, code="unknown-setting")


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Where each key of an INI text stands."""
    found: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\[(?P<name>[^\]]+)\]", line)
        if head:
            section = head["name"]
        elif line[:1].strip() and line[0] not in "#;":
            found.setdefault((section, re.split(r"[=:]", line, maxsplit=1)[0].strip().lower()), number)
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _boolean(text: str, _base: Path, _choices: tuple[str, ...]) -> bool:
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("it must be yes or no")


def _integer(text: str, _base: Path, _choices: tuple[str, ...]) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("it must be a whole number") from None


def _text(text: str, _base: Path, _choices: tuple[str, ...]) -> str | None:
    return text or None


def _choice(text: str, _base: Path, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(did_you_mean(text, choices) or f"it must be one of {', '.join(choices)}")
    return text


def _list(text: str, _base: Path, _choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _path(text: str, base: Path, _choices: tuple[str, ...]) -> str | None:
    if not text:
        return None
    text = text.replace("{{CWD}}", str(Path.cwd())).replace("{{ CWD }}", str(Path.cwd()))
    return os.path.normpath(base / os.path.expanduser(os.path.expandvars(text)))


def _pathspec(text: str, base: Path, choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for part in text.split(os.pathsep) if (path := _path(part.strip(), base, choices)) is not None)


def _pathlist(text: str, base: Path, choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for part in text.split(",") if (path := _path(part.strip(), base, choices)) is not None)


def _vault_ids(text: str, base: Path, choices: tuple[str, ...]) -> tuple[str, ...]:
    """``ID@WHERE`` entries; a WHERE that is a path beside the file is made absolute, names of prompts stay."""
    entries = []
    for entry in _list(text, base, choices):
        vault_id, at, where = entry.rpartition("@")
        path = base / os.path.expanduser(where)
        entries.append(f"{vault_id}{at}{path}" if path.exists() else entry)
    return tuple(entries)


_KINDS: Mapping[str, Callable[[str, Path, tuple[str, ...]], Any]] = {
    "boolean": _boolean,
    "integer": _integer,
    "text": _text,
    "choice": _choice,
    "list": _list,
    "path": _path,
    "pathspec": _pathspec,
    "pathlist": _pathlist,
    "vault_ids": _vault_ids,
}
