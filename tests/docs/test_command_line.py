"""The command line's document names every command, option, exit code and tool."""

import argparse
import io
import json
import re
import sys
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.app.startup.arguments import parse_arguments
from desktop_agent.cli import COMMANDS, WITH_VALUE
from desktop_agent.cli.parser import build_parser
from desktop_agent.headless.runner import EXIT_CODES
from tests.command_line import CommandLine
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.run.agent import BEFORE, script
from tests.harness import BUILTIN_TOOLS
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.servers.threaded import serve

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = (DOCS / "command-line.md").read_text(encoding="utf-8")


def commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
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


_FREE = {"metadata", "arguments", "input", "input_schema", "events", "messages", "output", "plan"}
"""Objects with foreign keys: tools, schemas, the journal (docs/session-format.md)."""


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return set(fields) | {key for name, inner in fields.items() if name not in _FREE for key in keys_of(inner)}
    return (
        {key for inner in cast("list[object]", value) for key in keys_of(inner)} if isinstance(value, list) else set()
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: CommandLine) -> str:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    use_keyring(monkeypatch, MemoryKeyring())
    workspace = tmp_path / "app"
    workspace.mkdir()
    (workspace / "a.py").write_bytes(BEFORE)
    monkeypatch.chdir(workspace)
    with serve(*script()) as server:
        ran = run("run", "--prompt", "make it two", "--base-url", server.url, "--approval", "never", "--json")
    assert ran.code == 0, ran.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("sk-ant-other-000000000000\n"))
    run.done("mcp", "add", "mine", "--", sys.executable, "-S", PROGRAM)
    (workspace / "result.json").write_text(ran.out)
    return str(ran.json["session_id"])


def test_every_key_of_every_json_document_is_named(worked: str, run: CommandLine, tmp_path: Path) -> None:
    export = tmp_path / "s.jsonl"
    told = {"run": json.loads(Path("result.json").read_text())}
    for line in f"""
        sessions list|sessions show {worked}|sessions search two|sessions verify|sessions fork {worked}
        sessions rename {worked} New|sessions pin {worked}|sessions archive {worked}
        sessions export {worked} --format jsonl --output {export}|sessions import {export}
        changes list {worked} --hunks|changes diff {worked}|changes undo {worked}|changes redo {worked} --steps
        changes redo {worked}|changes undo nothing|costs|costs --by model|costs --by tool|storage
        storage collect --dry-run|config trust . --dry-run|doctor
        tools list|tools describe grep|tools call grep {{"pattern":"x"}}|models list
        auth status|auth set anthropic|auth delete anthropic
        mcp list|mcp catalogue|mcp test mine|mcp logs mine|mcp disable mine|mcp enable mine|mcp remove mine
        config path|config show model|config get model.name|config set model.name x|config reset model.name
        sessions delete {worked} --yes
    """.replace("\n", "|").split("|"):
        words = line.split()
        if words:
            told[line.strip()] = run(*words, "--json").json
    of_all = DOCUMENT.partition("\n## For every command\n")[2].partition("\n## ")[0]
    usage = DOCUMENT.partition("\n### run --json\n")[2].partition("\n### ")[0]  # which others refer to
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    missing: list[str] = []
    for command, document in told.items():
        group = command.partition(" ")[0]
        section = DOCUMENT.partition(f"\n## {group}\n")[2].partition("\n## ")[0] + of_all + usage
        section += settings if group == "config" else ""
        named = {key for key in keys_of(document) if re.search(rf"[`\"]\[?{re.escape(key)}\]?[`\"]", section)}
        missing += [f"{command}: {key}" for key in keys_of(document) - named]
    assert not missing, "\n".join(sorted(missing))
