"""Engine settings from the command line, ``ansible.cfg`` and the environment: the command line wins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.cli.options import Choices
from provisioner.cli.passwords import become_password, login_password
from provisioner.cli.process import process
from provisioner.cli.questions import answer
from provisioner.config import Config
from provisioner.diagnostics import did_you_mean
from provisioner.engine.factcache import DAY, FactCache
from provisioner.engine.options import BECOME_METHODS, DEFAULT_FORKS, Options
from provisioner.engine.targets import CONNECTIONS
from provisioner.errors import UsageError
from provisioner.ports import Mode


def engine_options(choices: Choices, config: Config, extra_vars: Mapping[str, Any], *, mode: Mode, command: str) -> Options:
    """What the engine is told. Asks for passwords when that was wanted; raises ``UsageError``."""
    method = choices.become_method or config.become_method or "sudo"
    connection = choices.connection or config.transport or "ssh"
    _check("--become-method", method, BECOME_METHODS)
    _check("--connection", connection, CONNECTIONS)
    login = login_password(choices, config)
    checking = config.host_key_checking
    return Options(
        mode=mode,
        command=command,
        config_file=None if config.file is None else str(config.file),
        limit=limit(choices),
        tags=frozenset(_words(choices.tags) or config.run_tags or ("all",)),
        skip_tags=frozenset(_words(choices.skip_tags) or config.skip_tags),
        extra_vars=extra_vars,
        forks=choices.forks or config.forks or DEFAULT_FORKS,
        diff=choices.diff or config.diff,
        start_at_task=choices.start_at_task,
        force_handlers=choices.force_handlers or config.force_handlers,
        gather=config.gathering,
        facts=_fact_cache(config),
        flush_facts=choices.flush_cache,
        any_errors_fatal=config.any_errors_fatal,
        connection=CONNECTIONS[connection],
        remote_user=choices.user or config.remote_user,
        port=config.remote_port,
        password=login,
        private_key_file=_key(choices.private_key) or config.private_key_file,
        ssh_args=" ".join(filter(None, (config.ssh_args, choices.ssh_args or config.ssh_common_args, config.ssh_extra_args))),
        host_key_checking="yes" if checking is None or checking else "no",
        connect_timeout=float(choices.timeout or config.timeout or 10),
        python=config.interpreter_python,
        become=choices.become or config.become,
        become_user=choices.become_user or config.become_user or "root",
        become_method=method,
        become_password=become_password(choices, config, login),
        become_flags=config.become_flags or "",
        become_exe=config.become_exe or "",
        task_timeout=float(config.task_timeout) if config.task_timeout else None,
        poll_interval=float(config.poll_interval),
        async_dir=config.async_dir,
        ask=answer,
        secrets=process.secrets,
    )


def limit(choices: Choices) -> str | None:
    """All ``--limit`` as one pattern; None when hosts are not limited."""
    if not choices.limit:
        return None
    return ("," if any("," in text for text in choices.limit) else ":").join(choices.limit)


def _fact_cache(config: Config) -> FactCache | None:
    """Where facts are kept between runs; raises ``UsageError`` for kinds of caches that are none of ours."""
    kind = (config.fact_caching or "memory").removeprefix("ansible.builtin.")
    if kind == "memory":
        return None
    if kind != "jsonfile":
        place = config.origin("fact_caching")
        raise UsageError(f"fact_caching {kind} is not supported ({place})", help="use jsonfile, or memory to keep nothing")
    if not config.fact_caching_connection:
        raise UsageError("fact_caching jsonfile needs a folder", help="set fact_caching_connection, e.g. ~/.cache/provision/facts")
    folder = Path(config.fact_caching_connection).expanduser()
    timeout = DAY if config.fact_caching_timeout is None else float(config.fact_caching_timeout)
    return FactCache(folder, config.fact_caching_prefix or "", timeout)


def _words(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


def _check(option: str, value: str, known: Mapping[str, Any] | tuple[str, ...]) -> None:
    if value not in known:
        names = sorted({str(known[name]) for name in known} if isinstance(known, Mapping) else known)
        raise UsageError(f"{option} {value} is not known", help=did_you_mean(value, known) or f"use one of {', '.join(names)}")


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"--private-key {name}: there is no such file")
    return str(path)
