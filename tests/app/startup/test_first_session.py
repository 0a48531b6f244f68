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


@pytest.mark.parametrize(
    ("folders", "argv", "expected"),
    [
        pytest.param({}, [], None, id="there is none"),
        pytest.param({OLD: "here", NEW: "gone"}, [], OLD, id="the last whose folder is still there"),
        pytest.param({OLD: "here", NEW: "here"}, ["--resume", OLD], OLD, id="the one that is asked for"),
        pytest.param({OLD: "project", NEW: "here"}, ["{root}/project", "--resume"], OLD, id="the newest of a folder"),
        pytest.param({OLD: "here"}, ["--demo"], None, id="the demo begins with none"),
        pytest.param({OLD: "here"}, ["/"], None, id="a folder begins with none"),
    ],
)
def test_the_window_begins_with(
    catalog: SessionCatalog, tmp_path: Path, folders: dict[SessionId, str], argv: list[str], expected: SessionId | None
) -> None:
    for name in ("here", "project"):
        (tmp_path / name).mkdir()
    for session_id, folder in folders.items():
        keep(session_id, tmp_path / folder)
    arguments = parse_arguments([argument.format(root=tmp_path) for argument in argv])
    assert first_session(catalog, arguments) == expected


def test_one_that_is_not_there_is_an_error(catalog: SessionCatalog) -> None:
    with pytest.raises(AgentError):
        first_session(catalog, parse_arguments(["--resume", "20200101-000000-000000"]))
