"""The settings in force follow their file and are changed in it, all of them or not at all."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import SettingSource
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings, setting_values
from tests.file_dates import TO_COME_NS, put_date

MINE = '# mine\n[ui]\ntheme = "light"  # easier in the sun\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    return path


@pytest.fixture
def live(file: Path) -> LiveSettings:
    return LiveSettings.load(file, {})


@pytest.fixture
def told(live: LiveSettings) -> list[str]:
    heard: list[str] = []
    live.subscribe(lambda: heard.append(live.current.ui.theme))
    return heard


def write(file: Path, text: str) -> None:
    file.write_text(text)


def text_of(file: Path) -> str:
    return file.read_text()


def remove(file: Path) -> None:
    file.unlink()


def forbid(file: Path) -> None:
    file.chmod(0)


def put_a_folder_at(file: Path) -> None:
    file.unlink()
    file.mkdir()


async def test_a_change_is_written_with_comments_kept_and_holds_at_once(
    live: LiveSettings, file: Path, told: list[str]
) -> None:
    change = await live.change("ui.theme", "DARK")
    assert live.current.ui.theme == "dark"
    assert (change.before, change.after, change.was_set, change.is_set) == ("light", "dark", True, True)
    assert text_of(file) == MINE.replace('"light"', '"dark"')
    assert told == ["dark"]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("ui.theme", "pink", "system, light, dark"),
        ("nope", 1, "There is no setting"),
        ("ui.code_font_px", 3, "from 8 to 40"),
        ("ui.code_font_px", 10**400, "from 8 to 40"),
        ("compaction.auto", "yes", "true or false"),
        ("execution.allowed_paths", ["~nobody-has-this-name/x"], "cannot be a path"),
    ],
)
async def test_what_is_not_allowed_is_refused_and_changes_nothing(
    live: LiveSettings, file: Path, told: list[str], key: str, value: object, says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        await live.change(key, value)
    assert says in str(refused.value)
    assert (text_of(file), live.current.ui.theme, told) == (MINE, "light", [])


async def test_where_nothing_can_be_written_nothing_changes(live: LiveSettings, file: Path, told: list[str]) -> None:
    put_a_folder_at(file)
    with pytest.raises(StorageError):
        await live.change("ui.theme", "dark")
    assert (live.current.ui.theme, told) == ("light", [])


async def test_a_reset_takes_the_setting_out_of_the_file(live: LiveSettings, file: Path) -> None:
    change = await live.reset("ui.theme")
    assert (change.after, change.is_set) == ("system", False)
    assert text_of(file) == "# mine\n[ui]\n"
    await live.reset("model.name")
    assert text_of(file) == "# mine\n[ui]\n"


async def test_none_unsets_what_may_be_unset(live: LiveSettings, file: Path) -> None:
    await live.change("execution.timeout_seconds", 9)
    assert live.current.execution.timeout_seconds == 9.0
    await live.change("execution.timeout_seconds", None)
    assert live.current.execution.timeout_seconds is None
    assert "timeout" not in text_of(file)
    with pytest.raises(UsageError):
        await live.change("ui.theme", None)


NOT_KEYS = [setting.key for setting in declared_settings().values() if setting.about.holds != "keys"]


@pytest.mark.parametrize("key", [*NOT_KEYS, "keys.find"])
async def test_every_setting_can_be_changed_and_taken_back(live: LiveSettings, file: Path, key: str) -> None:
    setting, before = declared_settings()[key], setting_values(live.current)
    texts = {"model": "openai/gpt", "address": "https://models.example/v1"}
    values: dict[str, object] = {
        "choice": setting.choices[-1] if setting.choices else "",
        "switch": not setting.default,
        "whole": 12_345 if setting.about.most is None else setting.about.most - 1,
        "number": 9.5,
        "text": texts.get(setting.about.holds or "", str(file.parent / "x")),
        "texts": ("Ctrl+X",) if setting.about.holds == "keys" else (str(file.parent / "x"),),
    }
    change = await live.change(key, values[setting.kind])
    assert change.after == values[setting.kind]
    assert setting_values(live.current) == {**before, key: values[setting.kind]}
    await live.reset(key)
    assert setting_values(live.current)[key] == setting.default
    assert live.problems == ()


async def test_changes_at_the_same_time_are_all_kept(live: LiveSettings, file: Path) -> None:
    await asyncio.gather(*(live.change("execution.blocked_commands", [f"c{n}"]) for n in range(5)))
    await asyncio.gather(live.change("ui.theme", "dark"), live.change("model.name", "m"), live.reset("ui.theme"))
    assert LiveSettings.load(file, {}).current == live.current
    assert live.current.model.name == "m"


async def test_the_environment_goes_before_the_file_and_a_change_says_so(file: Path) -> None:
    live = LiveSettings.load(file, {"ANTHROPIC_MODEL": "of the shell"})
    change = await live.change("model.name", "of the file")
    assert live.current.model.name == "of the shell"
    assert change.overridden_by == SettingSource("environment", "ANTHROPIC_MODEL")
    assert LiveSettings.load(file, {}).current.model.name == "of the file"


async def test_without_a_file_a_change_holds_and_is_kept_nowhere() -> None:
    live = LiveSettings(Settings())
    await live.change("ui.theme", "dark")
    await live.refresh()
    assert live.current.ui.theme == "dark"


# --- following the file -------------------------------------------------------------------------------------------


async def test_an_edit_is_noticed_and_told_once(live: LiveSettings, file: Path, told: list[str]) -> None:
    await live.refresh()
    assert told == []
    write(file, '[ui]\ntheme = "dark"\n')
    await asyncio.gather(live.refresh(), live.refresh())
    await live.refresh()
    assert told == ["dark"]


@pytest.mark.parametrize(
    "broken",
    ["[ui\n", "[ui]\ntheme = \n", '[ui]\ntheme = "pink"\n', "ui = 3\n", "x = " + "[" * 9_000, "\x00"],
    ids=["header", "value", "choice", "section", "nested", "control"],
)
async def test_a_broken_file_keeps_the_last_good_values_and_is_named_once(
    live: LiveSettings, file: Path, told: list[str], broken: str
) -> None:
    write(file, broken)
    await live.refresh()
    await live.refresh()
    assert live.current.ui.theme == "light"
    assert len(live.problems) == 1
    assert str(live.problems[0]).startswith(str(file))
    assert told == ["light"]
    write(file, '[ui]\ntheme = "dark"\n')
    await live.refresh()
    assert (live.problems, told) == ((), ["light", "dark"])


async def test_a_bad_value_does_not_loosen_what_held(live: LiveSettings, file: Path) -> None:
    write(file, '[execution]\napproval = "always"\n')
    await live.refresh()
    write(file, '[execution]\napproval = "alwyas"\n')
    await live.refresh()
    assert live.current.execution.approval == "always"
    assert "using 'always'" in str(live.problems[0])


async def test_an_edit_within_one_tick_of_the_files_clock_is_noticed(live: LiveSettings, file: Path) -> None:
    """Same size, same file, same date: the only sign is that the date was too young to be relied on."""
    for line in ('theme = "dark" ', 'theme = "light"'):
        write(file, f"[ui]\n{line}\n")
        put_date(file, TO_COME_NS)
        await live.refresh()
    assert live.current.ui.theme == "light"


async def test_a_file_that_an_editor_is_just_writing_is_not_an_empty_one(live: LiveSettings, file: Path) -> None:
    write(file, "")
    await live.refresh()
    assert live.current.ui.theme == "light"
    write(file, '[ui]\ntheme = "dark"\n')
    await live.refresh()
    assert live.current.ui.theme == "dark"


async def test_a_file_that_is_gone_for_good_leaves_the_defaults(live: LiveSettings, file: Path) -> None:
    remove(file)
    await live.refresh()
    await live.refresh()
    assert live.current == Settings()


async def test_who_no_longer_listens_is_not_told(live: LiveSettings) -> None:
    heard: list[str] = []
    stop = live.subscribe(lambda: heard.append("changed"))
    stop()
    stop()
    await live.change("ui.theme", "dark")
    assert heard == []


def test_where_every_value_comes_from_is_known(file: Path) -> None:
    sources = LiveSettings.load(file, {"ANTHROPIC_MAX_TOKENS": "5"}).loaded.sources
    assert {key: str(source) for key, source in sources.items()} == {
        "ui.theme": f"{file}:3",
        "model.max_tokens": "ANTHROPIC_MAX_TOKENS",
    }


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="everything can be read here")
async def test_a_file_that_may_not_be_read_keeps_what_held(live: LiveSettings, file: Path) -> None:
    write(file, '[ui]\ntheme = "dark"\n')
    forbid(file)
    await live.refresh()
    assert live.current.ui.theme == "light"
