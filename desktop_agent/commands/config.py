"""`desktop-agent config`: the settings in force, and where they come from."""

import argparse
from dataclasses import asdict

from desktop_agent.commands.console import Console
from desktop_agent.core.errors import UsageError
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.settings import load_settings


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    path = AppPaths.from_environment().settings_file()
    if args.action == "path":
        console.result({"path": str(path)}, str(path))
        return 0
    loaded = load_settings(path)
    for problem in loaded.problems:
        console.say(f"warning: {problem}")
    values = {
        f"{section}.{key}": value for section, keys in asdict(loaded.settings).items() for key, value in keys.items()
    }
    if args.action == "get":
        if args.key not in values:
            raise UsageError(f"There is no setting {args.key!r}.", hint=f"Known settings: {', '.join(values)}.")
        console.result({"key": args.key, "value": values[args.key]}, str(values[args.key]))
        return 0
    text = "\n".join(f"{key} = {value!r}" for key, value in values.items())
    console.result({"path": str(path), "settings": asdict(loaded.settings)}, f"# {path}\n{text}")
    return 0
