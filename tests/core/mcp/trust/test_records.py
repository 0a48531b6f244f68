"""What is on record of servers' tools: for one server, whole or not at all, and followed when others write it."""

import stat
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_status import OfferedTool
from desktop_agent.core.mcp.trust import ToolTrust, TrustedTools
from tests.core.mcp.conftest import server

ECHO = OfferedTool(name="echo", description="Says it. \ud800", input_schema={"type": "object"}, only_reads=True)
WRITE = OfferedTool(name="write", description="Writes it.", annotations={"destructiveHint": True})
SERVER = server()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "config" / "tools"


def test_what_was_allowed_comes_back_as_it_was(folder: Path) -> None:
    ToolTrust(folder).trust(SERVER, [ECHO])
    ToolTrust(folder).trust(SERVER, [WRITE])

    assert ToolTrust(folder).read(SERVER) == TrustedTools({"echo": ECHO, "write": WRITE})
    assert stat.S_IMODE(ToolTrust(folder).path_for(SERVER).stat().st_mode) == 0o600


def test_the_last_definition_of_a_tool_counts(folder: Path) -> None:
    trust = ToolTrust(folder)
    trust.trust(SERVER, [ECHO])
    changed = replace(ECHO, description="Another.")
    trust.trust(SERVER, [changed])

    assert trust.read(SERVER).tools == {"echo": changed}


@pytest.mark.parametrize("other", [server(name="other"), server("tell")])
def test_another_server_has_nothing(folder: Path, other: ServerDefinition) -> None:
    ToolTrust(folder).trust(SERVER, [ECHO])

    assert ToolTrust(folder).read(other) == TrustedTools()


def test_a_record_under_the_name_of_another_counts_as_broken(folder: Path) -> None:
    trust, other = ToolTrust(folder), server(name="other")
    trust.trust(SERVER, [ECHO])
    trust.path_for(SERVER).rename(trust.path_for(other))

    assert trust.read(other) == TrustedTools(is_broken=True)


def test_a_record_that_ends_anywhere_too_early_allows_nothing(folder: Path) -> None:
    trust = ToolTrust(folder)
    trust.trust(SERVER, [ECHO, WRITE])
    whole = trust.path_for(SERVER).read_bytes()
    for length in range(len(whole)):
        trust.path_for(SERVER).write_bytes(whole[:length])
        assert ToolTrust(folder).read(SERVER) == TrustedTools(is_broken=True)


@pytest.mark.parametrize("content", [b"[]", b'{"tools": []}', b"\xff", b'{"server": 1}', b"[" * 100_000])
def test_what_is_no_record_allows_nothing_and_is_begun_anew(folder: Path, content: bytes) -> None:
    trust = ToolTrust(folder)
    folder.mkdir(parents=True)
    trust.path_for(SERVER).write_bytes(content)
    assert trust.read(SERVER) == TrustedTools(is_broken=True)

    trust.trust(SERVER, [ECHO])

    assert trust.read(SERVER).tools == {"echo": ECHO}


def test_a_record_is_one_object_until_it_says_something_else(folder: Path) -> None:
    trust = ToolTrust(folder)
    trust.trust(SERVER, [replace(ECHO, input_schema={"default": 1})])
    first = trust.read(SERVER)
    trust.trust(SERVER, [])
    assert trust.read(SERVER) is first
    trust.trust(SERVER, [replace(ECHO, input_schema={"default": True})])
    assert trust.read(SERVER).tools["echo"].input_schema["default"] is True


def test_what_another_process_writes_is_seen(folder: Path) -> None:
    mine, other = ToolTrust(folder), ToolTrust(folder)
    assert not mine.read(SERVER).tools
    other.trust(SERVER, [ECHO])
    assert mine.read(SERVER).tools == {"echo": ECHO}
    mine.path_for(SERVER).unlink()
    assert not mine.read(SERVER).tools


def test_processes_that_write_at_once_lose_nothing_of_each_other(folder: Path) -> None:
    def allow(number: int) -> None:
        ToolTrust(folder).trust(SERVER, [OfferedTool(name=f"tool{number}")])

    threads = [threading.Thread(target=allow, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(ToolTrust(folder).read(SERVER).tools) == {f"tool{number}" for number in range(8)}


def test_where_nothing_can_be_written_it_says_so(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")

    with pytest.raises(StorageError, match="could not be kept"):
        ToolTrust(folder).trust(SERVER, [ECHO])


def test_what_was_allowed_of_a_server_is_forgotten_and_of_no_other(folder: Path) -> None:
    trust, other = ToolTrust(folder), server(name="other")
    trust.trust(SERVER, [ECHO])
    trust.trust(other, [WRITE])
    trust.forget(SERVER)
    trust.forget(SERVER)
    assert trust.read(SERVER) == ToolTrust(folder).read(SERVER) == TrustedTools()
    assert set(trust.read(other).tools) == {"write"}
