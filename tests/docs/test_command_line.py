"""The document of the command line names every command and option, exit code and tool."""

import argparse
import re
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.app.startup.arguments import parse_arguments
from desktop_agent.cli import COMMANDS, WITH_VALUE
from desktop_agent.cli.parser import build_parser
from desktop_agent.headless.result import EXIT_CODES
from tests.harness import BUILTIN_TOOLS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers that take no further command, below `parser` or itself."""
    actions = parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no public way to look inside
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage] - as above
            below = cast("dict[str, argparse.ArgumentParser]", action.choices)
            return [command for child in below.values() for command in commands(child)]
    return [parser]


def options_in(usage: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", usage))


def test_every_command_has_an_example() -> None:
    assert [command.prog for command in commands(build_parser()) if command.prog not in DOCUMENT] == []


def test_every_option_of_every_command_is_named() -> None:
    used = {option for command in commands(build_parser()) for option in options_in(command.format_usage())}
    assert sorted(option for option in used if f"`{option}" not in DOCUMENT) == []


def test_every_option_of_the_window_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    used = options_in(capsys.readouterr().out)
    section = DOCUMENT.partition("\n## The window\n")[2].partition("\n## ")[0]
    assert sorted(option for option in used if option not in section) == []


def test_the_help_of_the_window_and_of_commands_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Commands without a window: {', '.join(COMMANDS)}." in shown
    assert [name for name in COMMANDS if f"    {name}" not in build_parser().format_help()] == []
    assert [name for name in COMMANDS if f"[`{name}`](#{name})" not in DOCUMENT] == []


def test_every_option_of_the_window_that_takes_a_value_is_known_where_a_folder_is_looked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert tuple(re.findall(r"\[(--[a-z-]+) \[?[A-Z]+", usage)) == WITH_VALUE


def test_every_reason_stands_beside_its_exit_code() -> None:
    rows = {line.split(" | ")[0].strip("| "): line for line in DOCUMENT.splitlines() if line.startswith("| ")}
    reasons = {reason: code for reason, code in EXIT_CODES.items() if reason != "completed"}
    assert [reason for reason, code in reasons.items() if f"`{reason}`" not in rows[str(code)]] == []


def test_every_tool_is_listed_with_its_capabilities() -> None:
    wanted = [f"| `{tool.name}` | {', '.join(f'`{name}`' for name in tool.capabilities)} |" for tool in BUILTIN_TOOLS]
    assert [row for row in wanted if row not in DOCUMENT] == []
