"""A settings file is used as far as it can be, and whatever cannot be used is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.settings.loading import LoadedSettings, load_settings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting


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
            "are model, spending, compaction, execution, safety_copy, capture, tools, mcp, ui, keys, runner",
        ),
        ("model = 3\n", "1: model", "must be a section, written as [model]"),
        ('[model]\nmax_tokens = "many"\n', "2: model.max_tokens", "'many' is not a whole number; using 16000"),
        ("[model]\nmax_tokens = 1.5\n", "2: model.max_tokens", "1.5 is not a whole number"),
        ("[model]\nmax_tokens = true\n", "2: model.max_tokens", "True is not a whole number"),
        ("[model]\nname = []\n", "2: model.name", "[] is not text"),
        ('[model]\nbase_url = "http://exa mple/"\n', "2: model.base_url", "it has a space in it"),
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


def test_the_environment_replaces_what_the_file_says(file: Path) -> None:
    text = '[model]\nname = "of the file"\nmax_tokens = 7\n'
    loaded = load(file, text, ANTHROPIC_MODEL="of the shell", ANTHROPIC_MAX_TOKENS="9", ANTHROPIC_BASE_URL="http://x")
    model = loaded.settings.model
    assert (model.name, model.max_tokens, model.base_url) == ("of the shell", 9, "http://x")


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


@pytest.mark.parametrize("key", ["", "ui", "ui.", ".theme", "nope.theme", "ui.nope", "ui.theme.x", "tools.limits"])
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(key: str) -> None:
    with pytest.raises(UsageError, match="no setting") as refused:
        with_setting(Settings(), key, "dark")
    assert "ui.theme" in refused.value.hint


def test_folders_of_the_file_are_relative_to_it(file: Path) -> None:
    """G-08"""
    loaded = load(file, '[execution]\nallowed_paths = ["notes", "~/x", "/y/../z"]\n')
    assert loaded.settings.execution.allowed_paths == (
        str(file.parent.resolve() / "notes"),
        str(Path("~/x").expanduser().resolve()),
        str(Path("/z").resolve()),
    )


@pytest.mark.parametrize("written", ['"rm -rf, shutdown ,"', '["rm -rf", "shutdown"]'])
def test_a_list_may_be_written_as_one_text(file: Path, written: str) -> None:
    """G-09"""
    loaded = load(file, f"[execution]\nblocked_commands = {written}\n")
    assert (loaded.settings.execution.blocked_commands, loaded.problems) == (("rm -rf", "shutdown"), ())
