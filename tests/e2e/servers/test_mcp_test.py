"""`desktop-agent mcp test` shows the protocol of servers of both eras."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import main
from tests.e2e.servers.conftest import pypi_server
from tests.npm.programs import npm_program


def what_a_test_says_of(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["mcp", "add", "it", "--", *words]) == 0
    capsys.readouterr()
    assert main(["mcp", "test", "it"]) == 0
    return capsys.readouterr().out


def test_a_server_of_today_is_spoken_to_without_a_handshake(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = what_a_test_says_of([pypi_server("mcp-server-time"), "--local-timezone", "UTC"], capsys)

    assert said.startswith("it works: mcp-time ")
    assert "protocol 2026-07-28 (without a handshake)." in said
    assert "convert_time" in said


def test_a_server_of_before_is_spoken_to_with_a_handshake(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = what_a_test_says_of(npm_program("mcp-server-everything"), capsys)

    assert said.startswith("it works: mcp-servers/everything ")
    assert "protocol 2025-11-25 (with a handshake)." in said
    assert "trigger-long-running-operation" in said
    assert "Not used: " in said
    assert "simulate-research-query" in said
    assert "Not usable. It runs only as a task" in said
