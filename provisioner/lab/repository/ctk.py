#!/usr/bin/python3 -IS
"""SIMULATION of nvidia-ctk by provision lab: edits Docker's configuration as the real program does, and knows a little of CDI and its own.

A file of a package, not of this program: it runs on the node, with the node's Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = "@VERSION@"
CONFIG = "/etc/nvidia-container-runtime/config.toml"


def log(level: str, message: str) -> None:
    """A line in the manner of the real program's logger, on standard error."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f'time="{stamp}" level={level} msg={json.dumps(message)}\n')


def fail(message: str) -> None:
    """End with an error."""
    log("error", message)
    sys.exit(1)


def options(words: list[str], flags: tuple[str, ...], values: tuple[str, ...]) -> dict[str, str]:
    """``--name=value``, ``--name value`` and bare ``--flag`` words as a dict."""
    found: dict[str, str] = {}
    words = list(words)
    while words:
        name, equals, value = words.pop(0).lstrip("-").partition("=")
        if name in flags:
            found[name] = "" if equals and value.lower() in ("false", "0") else "true"
        elif name in values:
            if not equals and not words:
                fail(f"flag needs an argument: --{name}")
            found[name] = value if equals else words.pop(0)
        else:
            fail(f"Incorrect Usage: flag provided but not defined: -{name}")
    return found


def configure(words: list[str]) -> None:
    """``runtime configure --runtime=docker``: the whole file is read, changed and written again."""
    given = options(
        words,
        ("dry-run", "set-as-default", "nvidia-set-as-default", "cdi.enabled", "cdi.enable"),
        ("runtime", "config", "nvidia-runtime-name", "nvidia-runtime-path"),
    )
    engine = given.get("runtime", "docker")
    if engine != "docker":
        fail(f"SIMULATION by provision lab: only --runtime=docker is simulated, not {engine}")
    path = given.get("config", "/etc/docker/daemon.json")
    name = given.get("nvidia-runtime-name", "nvidia")
    config: dict[str, Any] = {}
    if os.path.exists(path):
        log("info", f"Loading config from {path}")
        with open(path, encoding="utf-8") as file:
            content = file.read()
        try:
            config = json.loads(content) if content.strip() else {}
        except ValueError as problem:
            fail(f"unable to load config for runtime docker: unable to load docker config from file {path}: {problem}")
    else:
        log("info", "Config file does not exist; using empty config")
    config.setdefault("runtimes", {})[name] = {"args": [], "path": given.get("nvidia-runtime-path", "nvidia-container-runtime")}
    if given.get("set-as-default") or given.get("nvidia-set-as-default"):
        config["default-runtime"] = name
    if given.get("cdi.enabled") or given.get("cdi.enable"):
        config.setdefault("features", {})["cdi"] = True
    text = json.dumps(config, indent=4, sort_keys=True)
    if given.get("dry-run"):
        sys.stdout.write(text + "\n")
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    log("info", f"Wrote updated config to {path}")
    log("info", "It is recommended that docker daemon be restarted.")


def devices() -> list[str]:
    """UUIDs of this machine's GPUs."""
    smi = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = smi.stdout.decode()
    if smi.returncode:
        fail(f"failed to generate CDI spec: failed to initialize NVML: {text.strip()}")
    return text.split()


def cdi(words: list[str]) -> None:
    """``cdi generate`` and ``cdi list``."""
    verb, rest = (words or [""])[0], words[1:]
    found = devices()
    names = [str(index) for index in range(len(found))] + found + ["all"]
    if verb == "list":
        log("info", f"Found {len(names)} CDI devices")
        for name in names:
            sys.stdout.write(f"nvidia.com/gpu={name}\n")
    elif verb == "generate":
        output = options(rest, ("debug",), ("output", "mode", "device-name-strategy", "format")).get("output")
        text = "# SIMULATION by provision lab\n---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n"
        for name in names:
            nodes = range(len(found)) if name == "all" else [found.index(name) if name in found else int(name)]
            text += f'- name: "{name}"\n  containerEdits:\n    deviceNodes:\n'
            text += "".join(f"    - path: /dev/nvidia{node}\n" for node in nodes)
        if not output:
            sys.stdout.write(text)
            return
        os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
        log("info", "Generated CDI spec with version 0.5.0")
    else:
        fail(f"No help topic for 'cdi {verb}'")


def settings(words: list[str]) -> None:
    """``config --set KEY=VALUE --in-place``: a key of the toolkit's own configuration."""
    pairs: list[str] = []
    place = False
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--set" and words:
            pairs.append(words.pop(0))
        elif word.startswith("--set="):
            pairs.append(word.partition("=")[2])
        elif word in ("--in-place", "-i"):
            place = True
        else:
            fail(f"Incorrect Usage: flag provided but not defined: {word}")
    with open(CONFIG, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for pair in pairs:
        key, _, value = pair.partition("=")
        section, _, name = key.rpartition(".")
        lines = change(lines, section, name, value if value in ("true", "false") or value.isdigit() else json.dumps(value))
    text = "\n".join(lines) + "\n"
    if place:
        with open(CONFIG, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


def change(lines: list[str], section: str, name: str, value: str) -> list[str]:
    """``lines`` with one setting changed, uncommented or added to its section."""
    here = ""
    at: int | None = None
    for number, line in enumerate(lines):
        plain = line.lstrip("#").strip()
        if line.startswith("["):
            here = line.strip("[]")
        if here == section and plain.partition("=")[0].strip() == name:
            return [*lines[:number], f"{name} = {value}", *lines[number + 1 :]]
        if here == section:
            at = number
    if at is None:
        return [*lines, f"[{section}]", f"{name} = {value}"]
    return [*lines[: at + 1], f"{name} = {value}", *lines[at + 1 :]]


def main() -> None:
    """The command line."""
    words = [word for word in sys.argv[1:] if word not in ("--debug", "-d", "--quiet", "-q")]
    if words[:1] in (["--version"], ["-v"]):
        sys.stdout.write(f"NVIDIA Container Toolkit CLI version {VERSION}\nSIMULATION: provision lab\n")
    elif words[:2] == ["runtime", "configure"]:
        configure(words[2:])
    elif words[:1] == ["cdi"]:
        cdi(words[1:])
    elif words[:1] == ["config"]:
        settings(words[1:])
    else:
        fail(f"No help topic for '{' '.join(words)}'")


if __name__ == "__main__":
    main()
