"""`desktop-agent config`: the settings in force, where they come from, and changing them."""

import argparse
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import cast

import tomlkit

from desktop_agent.commands.console import Console
from desktop_agent.core.errors import UsageError
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.settings import Settings, load_settings, setting_values, with_setting
from desktop_agent.core.settings_file import save_setting


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    path = AppPaths.from_environment().settings_file()
    if args.action == "path":
        console.result({"path": str(path)}, str(path))
        return 0
    loaded = load_settings(path)
    if args.action == "set":
        return _change(path, loaded.settings, args, console)
    for problem in loaded.problems:
        console.say(f"warning: {problem}")
    values = setting_values(loaded.settings)
    if args.action == "get":
        if args.key not in values:
            raise UsageError(f"There is no setting {args.key!r}.", hint=f"Known settings: {', '.join(values)}.")
        console.result({"key": args.key, "value": values[args.key]}, _plain(values[args.key]))
        return 0
    text = "\n".join(
        f"{key} = {_shown(value)}" if value is not None else f"# {key}: not set" for key, value in values.items()
    )
    console.result({"path": str(path), "settings": asdict(loaded.settings)}, f"# {path}\n{text}")
    return 0


def _change(path: Path, settings: Settings, args: argparse.Namespace, console: Console) -> int:
    value = _read_value(args.value)
    changed = with_setting(settings, args.key, value)
    value = setting_values(changed)[args.key]  # as it is understood: `1` is `1.0` where a number is wanted
    save_setting(path, args.key, value)
    console.result({"key": args.key, "value": value, "path": str(path)}, f"{args.key} = {_shown(value)} in {path}")
    return 0


def _shown(value: object) -> str:
    """Return a value as the settings file has it."""
    return tomlkit.item(list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value).as_string()


def _plain(value: object) -> str:
    """Return a value for scripts: text without quotes, nothing for what is not set."""
    return "" if value is None else value if isinstance(value, str) else _shown(value)


def _read_value(text: str) -> object:
    """Return the value as TOML reads it; what is no TOML value is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
