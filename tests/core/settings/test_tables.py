"""Lists of tables in settings files, on real files."""

from pathlib import Path

import pytest

from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import load_settings
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings

TWO = """
[mcp]
enable = false

[[mcp.definitions]]
name = "time"

[[ mcp.definitions ]]  # with blanks
name = "git"
"""


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_tables_are_handed_on_with_their_lines_beside_the_settings(tmp_path: Path) -> None:
    loaded = load_settings(settings_file(tmp_path, TWO), {})

    assert [(table.value, table.line) for table in loaded.tables] == [({"name": "time"}, 5), ({"name": "git"}, 8)]
    assert loaded.settings.mcp.enable is False
    assert not loaded.problems


def test_tables_in_one_line_have_no_line(tmp_path: Path) -> None:
    loaded = load_settings(settings_file(tmp_path, 'mcp = {definitions = [{name = "time"}, 3]}'), {})

    assert [(table.value, table.line) for table in loaded.tables] == [({"name": "time"}, None), (3, None)]


@pytest.mark.parametrize("text", ['[mcp]\ndefinitions = "time"', '[mcp.definitions]\nname = "time"'])
def test_what_is_no_list_is_named_with_how_it_is_written(tmp_path: Path, text: str) -> None:
    (problem,) = load_settings(settings_file(tmp_path, text), {}).problems

    assert problem.key == "mcp.definitions"
    assert problem.message == "entries must be tables, written as [[mcp.definitions]]"
    assert not problem.is_fault


async def test_a_file_that_breaks_keeps_the_tables_that_were_in_it(tmp_path: Path) -> None:
    path = settings_file(tmp_path, TWO)
    live = LiveSettings.load(path, {})
    path.write_text("[mcp")

    await live.refresh()

    assert [table.number for table in live.loaded.tables] == [1, 2]


async def test_tables_of_a_project_count_once_the_user_trusts_it(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".desktop-agent").mkdir(parents=True)
    settings_file(root / ".desktop-agent", '[[mcp.definitions]]\nname = "theirs"\n')
    live = LiveSettings.load(settings_file(tmp_path, TWO), {})
    settings = WorkspaceSettings(live, root, ProjectTrust(tmp_path / "trust"))

    await settings.refresh()
    before = [table.value for table in settings.loaded.tables]
    assert settings.is_waiting
    assert settings.proposal is not None
    settings.remember("trusted", settings.proposal.text)

    assert before == [{"name": "time"}, {"name": "git"}]
    assert [(table.value, table.is_project) for table in settings.loaded.tables][2:] == [({"name": "theirs"}, True)]
