"""Which session the window begins with."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.app.startup.arguments import parse_arguments
from desktop_agent.app.startup.first_sight import first_session
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from tests.journals import opened, turn, write_journal

OLD = "20261120-100000-aaaaaa"
NEW = "20261122-100000-bbbbbb"


@pytest.fixture
def catalog() -> SessionCatalog:
    paths = AppPaths.from_environment(os.environ)
    return SessionCatalog(paths.sessions, Blobs(paths.blobs), paths.cache)


def keep(session_id: SessionId, workspace: Path) -> None:
    paths = AppPaths.from_environment(os.environ)
    path = paths.sessions / session_id / "journal.jsonl"
    first = replace(opened(str(workspace)), session_id=session_id)
    write_journal(path, Blobs(paths.blobs), [first, *turn(1, calls=0)])
    at = int(session_id[6:8])
    os.utime(path, (at, at))


def test_without_any_session_there_is_none(catalog: SessionCatalog) -> None:
    assert first_session(catalog, parse_arguments([])) is None


def test_it_is_the_last_whose_folder_is_still_there(catalog: SessionCatalog, tmp_path: Path) -> None:
    keep(OLD, tmp_path)
    keep(NEW, tmp_path / "gone")
    assert first_session(catalog, parse_arguments([])) == OLD


def test_it_is_the_one_that_is_asked_for(catalog: SessionCatalog, tmp_path: Path) -> None:
    keep(OLD, tmp_path)
    keep(NEW, tmp_path)
    assert first_session(catalog, parse_arguments(["--resume", OLD])) == OLD


def test_the_newest_of_a_folder_can_be_asked_for(catalog: SessionCatalog, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    keep(OLD, folder)
    keep(NEW, tmp_path)
    assert first_session(catalog, parse_arguments([str(folder), "--resume"])) == OLD


def test_one_that_is_not_there_is_an_error(catalog: SessionCatalog) -> None:
    with pytest.raises(AgentError):
        first_session(catalog, parse_arguments(["--resume", "20200101-000000-000000"]))


@pytest.mark.parametrize("arguments", [["--demo"], ["/"]])
def test_who_asks_for_something_else_gets_no_session(
    catalog: SessionCatalog, tmp_path: Path, arguments: list[str]
) -> None:
    keep(OLD, tmp_path)
    assert first_session(catalog, parse_arguments(arguments)) is None
