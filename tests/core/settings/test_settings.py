"""A settings file is used as far as possible, with errors named; saving changes one setting only."""

import os
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tomlkit.items import AoT

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import LoadedSettings, load_settings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.settings_file import begin_settings_file, change_tables, remove_setting, save_setting
from desktop_agent.core.settings.table_file import TableList
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(file: Path, text: str | bytes, **environ: str) -> LoadedSettings:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_settings(file, environ)


def told(loaded: LoadedSettings) -> str:
    return "\n".join(str(problem) for problem in loaded.problems)


def test_without_a_file_the_defaults_hold(file: Path) -> None:
    assert load_settings(file, {}) == LoadedSettings(Settings(), ())


def test_an_edit_is_asked_about_unless_somebody_says_otherwise() -> None:
    assert Settings().execution.approval == "on_write"


def test_every_kind_of_value_is_read(file: Path) -> None:
    loaded = load(
        file,
        '[model]\nname = "m"\nmax_tokens = 5\n[execution]\napproval = "always"\ntimeout_seconds = 3\n'
        "[ui]\ncolour_blind_safe_diff = true\ndiff_font_px = 12.5\n",
    )
    settings = loaded.settings
    assert loaded.problems == ()
    assert (settings.model.name, settings.model.max_tokens, settings.execution.approval) == ("m", 5, "always")
    assert settings.execution.timeout_seconds == 3.0
    assert (settings.ui.colour_blind_safe_diff, settings.ui.diff_font_px) == (True, 12.5)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (
            '[ui]\ntheme = "pink"\n',
            "2: ui.theme",
            "'pink' is not one of system, light, dark, high-contrast-light, high-contrast-dark; using 'system'",
        ),
        ('[model]\nname = "m"\n\nnmae = "x"\n', "4: model.nmae", "[model] knows provider, name, base_url, max_tokens"),
        (
            "# mine\n[looks]\nx = 1\n",
            "2: looks",
            "are model, spending, subagents, context, compaction, execution, safety_copy, capture, tools, mcp, skills",
        ),
        ("model = 3\n", "1: model", "must be a section, written as [model]"),
        ('[model]\nmax_tokens = "many"\n', "2: model.max_tokens", "'many' is not a whole number; using 16000"),
        ("[model]\nmax_tokens = 1.5\n", "2: model.max_tokens", "1.5 is not a whole number"),
        ("[model]\nmax_tokens = true\n", "2: model.max_tokens", "True is not a whole number"),
        ("[model]\nname = []\n", "2: model.name", "[] is not text"),
        ('[model]\nbase_url = "http://exa mple/"\n', "2: model.base_url", "it contains a space"),
        ("[ui]\ncolour_blind_safe_diff = 1\n", "2: ui.colour_blind_safe_diff", "1 is not true or false"),
        ("[runner]\nmax_turns = 0\n", "2: runner.max_turns", "0 is not greater than 0"),
        ("[tools]\nlimits = 3\n", "2: tools.limits", "must be a section, written as [tools.limits]"),
        ("[tools.limits]\nmax_lines = 0\n", "2: tools.limits.max_lines", "0 is not greater than 0"),
        ("[tools.limits]\nmax_line = 1\n", "2: tools.limits.max_line", "[tools.limits] knows max_tool_tokens"),
        ("[execution]\nblocked_commands = 3\n", "2: execution.blocked_commands", "3 is not a list of texts"),
        ("[execution]\ntimeout_seconds = nan\n", "2: execution.timeout_seconds", "nan is not greater than 0"),
        ("[execution]\ntimeout_seconds = inf\n", "2: execution.timeout_seconds", "inf is not greater than 0"),
        ('ui.theme = "pink"\n', "1: ui.theme", "'pink' is not one of"),
        ('\nui = { theme = "pink" }\n', "2: ui.theme", "'pink' is not one of"),
        ('[ "ui" ]\n  "theme"="pink"\r\n', "2: ui.theme", "'pink' is not one of"),
        ('[model]\ntheme = "x"\n[ui]\ntheme = "pink"\n', "4: ui.theme", "'pink' is not one of"),
        ("[ui]\ntheme = dark\n", "2", "line 2"),
    ],
)
def test_what_cannot_be_used_is_named_with_file_line_and_what_would_be_right(
    file: Path, text: str, place: str, says: str
) -> None:
    problems = [str(problem) for problem in load(file, text).problems]
    assert [problem for problem in problems if problem.startswith(f"{file}:{place}: ") and says in problem], problems


def test_a_bad_value_costs_only_itself(file: Path) -> None:
    loaded = load(file, '[model]\nprovider = "skynet"\nname = "m"\n[ui]\ntheme = "dark"\nsize = 3\n')
    assert len(loaded.problems) == 2
    assert (loaded.settings.model.provider, loaded.settings.model.name) == ("anthropic", "m")
    assert loaded.settings.ui.theme == "dark"


@pytest.mark.parametrize("content", [b"[model\n", b"name = \n", b"\xff\xfe[\x00", b"[ui]\n[ui]\n", b"= 1", b"\x00"])
def test_a_broken_file_is_named_and_the_defaults_hold(file: Path, content: bytes) -> None:
    loaded = load(file, content)
    assert loaded.settings == Settings()
    assert [str(problem).startswith(f"{file}:") for problem in loaded.problems] == [True]


def test_a_folder_in_the_place_of_the_file_is_named(file: Path) -> None:
    file.mkdir()
    loaded = load_settings(file, {})
    assert loaded.settings == Settings()
    assert f"{file}: cannot be read" in told(loaded)


def test_a_byte_order_mark_is_no_mistake(file: Path) -> None:
    loaded = load(file, b'\xef\xbb\xbf[ui]\ntheme = "dark"\n')
    assert loaded.problems == ()
    assert loaded.settings.ui.theme == "dark"


@given(content=st.binary(max_size=200) | st.text(alphabet="[]=\"'.{}\nuimodel 0", max_size=60).map(str.encode))
def test_no_content_stops_the_application(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    loaded = load(tmp_path_factory.getbasetemp() / "any.toml", content)
    assert isinstance(loaded.settings, Settings)
    assert "" not in told(loaded).split("\n") or not loaded.problems


# --- the environment ----------------------------------------------------------------------------------------------


def test_a_variable_of_one_provider_says_nothing_of_another(file: Path) -> None:
    loaded = load(file, '[model]\nprovider = "demo"\n', ANTHROPIC_MODEL="m", ANTHROPIC_BASE_URL="http://x")
    assert (loaded.settings.model.name, loaded.settings.model.base_url) == (Settings().model.name, "")


def test_a_bad_variable_is_named_and_the_file_holds(file: Path) -> None:
    loaded = load(file, "[model]\nmax_tokens = 7\n", ANTHROPIC_MAX_TOKENS="plenty")
    assert loaded.settings.model.max_tokens == 7
    assert "ANTHROPIC_MAX_TOKENS" in told(loaded)
    assert "'plenty'" in told(loaded)


def test_an_empty_variable_says_nothing(file: Path) -> None:
    assert load(file, '[model]\nname = "m"\n', ANTHROPIC_MODEL="").settings.model.name == "m"


# --- one setting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ('[model]\nname = """\nbase_url = "x"\n[ui]\ntheme = "dark"\n"""\n[ui]\ntheme = "light"\n', "ui.theme", 8),
        ("[model]\nname = '''\n[ui]\ntheme = 1'''\n[ui]\ntheme = \"light\"\n", "ui.theme", 6),
        ('[model]\nname = "\\"\\"\\""  # """\n[ui]\ntheme = "light"\n', "ui.theme", 4),
        (
            '[execution]\nallowed_paths = [\n  "approval = 1", # approval = [\n]\napproval = "always"\n',
            "execution.approval",
            5,
        ),
        ('[ui]\n# theme = "dark"\n"theme" = "light"\n', "ui.theme", 3),
        ('ui = { theme = "light" }\n', "ui.theme", 1),
        ('\nui."theme" = "light"\n', "ui.theme", 2),
    ],
)
def test_a_value_comes_from_the_line_on_which_its_key_really_stands(file: Path, text: str, key: str, line: int) -> None:
    loaded = load(file, text)
    assert loaded.problems == ()
    assert loaded.sources[key].line == line


def test_an_unknown_section_is_named_where_it_begins(file: Path) -> None:
    [problem] = load(file, "[execution]\ntimeout_seconds = 3\nmodel.x = 3\n").problems
    assert (problem.key, problem.line) == ("execution.model", 3)


def test_folders_of_the_file_are_relative_to_it(file: Path) -> None:  # G-08
    loaded = load(file, '[execution]\nallowed_paths = ["notes", "~/x", "/y/../z"]\n')
    assert loaded.settings.execution.allowed_paths == (
        str(file.parent.resolve() / "notes"),
        str(Path("~/x").expanduser().resolve()),
        str(Path("/z").resolve()),
    )


@pytest.mark.parametrize("written", ['"rm -rf, shutdown ,"', '["rm -rf", "shutdown"]'])
def test_a_list_may_be_written_as_one_text(file: Path, written: str) -> None:  # G-09
    loaded = load(file, f"[execution]\nblocked_commands = {written}\n")
    assert (loaded.settings.execution.blocked_commands, loaded.problems) == (("rm -rf", "shutdown"), ())


ANNOTATED = """\
# My settings, since 2024.

[ui]   # how it looks
theme = "light"  # easier in the sun
future_key = [1, 2]   # from a newer version

# The model of the month:
[model]
name = 'm'
"""


def test_a_file_is_begun_where_there_is_none_and_left_alone_where_there_is_one(file: Path) -> None:
    begin_settings_file(file)
    begun = file.read_text()
    assert begun.startswith("# The settings of Desktop Agent.")
    assert file.stat().st_mode & 0o777 == 0o600 or sys.platform == "win32"
    file.write_text(ANNOTATED)
    begin_settings_file(file)
    assert file.read_text() == ANNOTATED
    file.write_text("")
    begin_settings_file(file)
    assert file.read_text() == begun


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["pipe", "link_to_a_pipe", "folder", "dangling_link"])
def test_nothing_is_begun_or_waited_for_where_something_else_than_a_file_is(file: Path, kind: str) -> None:
    """Opening a pipe without a reader would block a writer."""
    other = file.with_name("other")
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "link_to_a_pipe":
            os.mkfifo(other)
            file.symlink_to(other)
        case "folder":
            file.mkdir()
        case _:
            file.symlink_to(other)
    with pytest.raises(StorageError, match="could not be made"):
        begin_settings_file(file)


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        (ANNOTATED, "ui.theme", "dark", ANNOTATED.replace('"light"', '"dark"')),
        (ANNOTATED, "model.max_tokens", 5, f"{ANNOTATED}max_tokens = 5\n"),
        *(
            (text, "ui.theme", "dark", text.replace("light", "dark"))
            for text in (
                'ui.theme = "light"\n',
                'ui = { theme = "light" } # short\n',
                '["ui"]\ntheme="light"\n',
                '\ufeff# mine\r\n[ui]\r\ntheme = "light"\r\n',
            )
        ),
    ],
)
def test_saving_changes_one_setting_and_keeps_all_else_as_it_is_written(
    file: Path, before: str, key: str, value: object, after: str
) -> None:
    file.write_bytes(before.encode())
    save_setting(file, key, value)
    assert file.read_bytes() == after.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_begins_a_line_where_the_last_one_had_no_end(file: Path, end: str) -> None:
    file.write_bytes(f"[ui]{end}[[mcp.definitions]]{end}name = 'old'{end}env = {{ A = '' }}".encode())
    change_tables(file, "mcp.definitions", add_new)
    written = file.read_bytes().decode()
    assert [each["name"] for each in tomllib.loads(written)["mcp"]["definitions"]] == ["old", "new"]
    assert f"A = '' }}{end}" in written


@pytest.mark.parametrize(
    "text", ["mcp = { a = 1 }\n", "[[mcp.definitions]]\nname = 'a'\n[ui]\n[[mcp.definitions]]\nname = 'b'\n"]
)
def test_a_table_that_cannot_be_added_to_what_is_written_is_refused_and_changes_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match="nothing was saved"):
        change_tables(file, "mcp.definitions", add_new)
    assert file.read_text() == text


def add_new(tables: AoT) -> None:
    TableList(tables).append({"name": "new"})


@pytest.mark.parametrize("content", [b"[model\n", b"ui = 3\n", b"[ui]\n[ui]\n", b"\xff\xfe", b"ui = [1]\n"])
def test_a_broken_file_is_left_as_it_is(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises((UsageError, StorageError)) as refused:
        save_setting(file, "ui.theme", "dark")
    assert str(file) in f"{refused.value.hint} {refused.value.detail}"
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_file_that_is_a_link_stays_one(file: Path) -> None:
    kept_elsewhere = file.with_name("dotfiles.toml")
    kept_elsewhere.write_text(ANNOTATED)
    file.symlink_to(kept_elsewhere)
    save_setting(file, "ui.theme", "dark")
    assert file.is_symlink()
    assert 'theme = "dark"' in kept_elsewhere.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes there")
def test_who_may_read_the_file_stays(file: Path) -> None:
    file.write_text(ANNOTATED)
    file.chmod(0o640)
    save_setting(file, "ui.theme", "dark")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"could not be saved|cannot be read"):
        save_setting(tmp_path / "config" / "config.toml", "ui.theme", "dark")


@pytest.mark.parametrize(
    "text",
    [
        "[tools]\n# mine\n[ui]\ntheme = 'dark'\n[tools.limits]\nmax_lines = 3\n",
        "[tools.limits]\nmax_lines = 3\n[ui]\ntheme = 'dark'\n[tools.web]\nx = 3\n",
        "[tools]\nlimits.max_lines = 3\nlimits.max_bytes = 3\n",
        "tools.limits.max_lines = 3\nui.theme = 'dark'\ntools.limits.max_bytes = 3\n",
        "[tools.web]\n[ui]\n[tools]\n",
    ],
)
def test_a_section_in_several_places_of_the_file_is_a_section(file: Path, text: str) -> None:
    before = tomllib.loads(text)
    file.write_text(text)
    save_setting(file, "tools.limits.max_lines", 7)
    before["tools"].setdefault("limits", {})["max_lines"] = 7
    assert tomllib.loads(file.read_text()) == before
    remove_setting(file, "tools.limits.max_lines")
    del before["tools"]["limits"]["max_lines"]
    found = tomllib.loads(file.read_text())
    assert found.get("ui") == before.get("ui")
    assert "max_lines" not in found.get("tools", {}).get("limits", {})


def test_what_a_section_in_braces_does_not_have_is_not_taken_out_of_it(file: Path) -> None:
    file.write_text("tools = { x = 1 }\n")
    remove_setting(file, "tools.limits.max_lines")
    assert file.read_text() == "tools = { x = 1 }\n"


def test_a_value_that_no_file_can_hold_is_refused_and_changes_nothing(file: Path) -> None:
    file.write_text(ANNOTATED)
    with pytest.raises(UsageError, match="nothing was saved"):
        save_setting(file, "model.name", "m\udcff")
    assert file.read_text() == ANNOTATED


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


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        ("[execution]\nzzz = 1", True),
        ("[tools.limits]\nzzz = 1", True),
        ("[spending]\nzzz = 1", True),
        ("[model]\nzzz = 1", False),
        ("[zzz]\nzzz = 1", False),
    ],
)
def test_an_unknown_setting_stops_everything_where_all_of_its_section_is_for_safety(
    tmp_path: Path, text: str, *, is_fault: bool
) -> None:
    (problem,) = load_settings(settings_file(tmp_path, text), {}).problems
    assert "unknown s" in problem.message
    assert problem.is_fault is is_fault
