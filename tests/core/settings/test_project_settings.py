"""Settings follow their file; a trusted project may only tighten them."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import SettingSource, parse_file
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings, setting_values, with_setting
from desktop_agent.core.settings.workspace_settings import (
    Answer,
    ProjectItem,
    ProjectProposal,
    ProjectTrust,
    WorkspaceSettings,
    proposal_of,
    read_project,
)
from tests.file_dates import TO_COME_NS, put_date

FILE = Path("/app/.desktop-agent/config.toml")


def proposal(text: str, **user: object) -> ProjectProposal:
    settings = Settings()
    for key, value in user.items():
        settings = with_setting(settings, key.replace("__", "."), value)
    return proposal_of(parse_file(FILE, text), settings)


def told(found: ProjectProposal) -> str:
    return "\n".join(map(str, found.problems))


@pytest.mark.parametrize(
    ("text", "key", "after"),
    [
        ('[execution]\napproval = "Always"\n', "execution.approval", "always"),
        ('[execution]\nsandbox = "strict"\n', "execution.sandbox", "strict"),
        ('[execution]\nblocked_commands = "rm -rf, shutdown"\n', "execution.blocked_commands", ("rm -rf", "shutdown")),
        ("[tools.limits]\nmax_lines = 100\n", "tools.limits.max_lines", 100),
        ("[tools.limits]\nmax_tool_tokens = 100\n", "tools.limits.max_tool_tokens", 100),
    ],
)
def test_what_is_stricter_is_proposed_with_its_line(text: str, key: str, after: object) -> None:
    found = proposal(text)
    assert [(change.key, change.after, change.line) for change in found.changes] == [(key, after, 2)]
    assert found.problems == ()
    assert setting_values(found.applied_to(Settings()))[key] == after


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[execution]\nsandbox = "none"\n', '2: execution.sandbox: refused: "none" is not stricter than your "restr'),
        ('[execution]\napproval = "on_request"\n', "2: execution.approval: refused"),
        ('[execution]\napproval = "never"\n', "2: execution.approval: refused"),
        ("[tools.limits]\nmax_lines = 900\n", "2: tools.limits.max_lines: refused: 900 is not lower than your 800"),
        ('[execution]\nallowed_paths = ["/"]\n', "2: execution.allowed_paths: refused: a project may only make"),
        ("[execution]\ntimeout_seconds = 5\n", "2: execution.timeout_seconds: refused"),
        ('[model]\nbase_url = "https://evil.example"\n', "2: model.base_url: refused"),
        ('[capture]\nignored_folders = ["src"]\n', "2: capture.ignored_folders: refused"),
        ('[runner]\naudit_log = "/dev/null"\n', "2: runner.audit_log: refused"),
        ("[looks]\n", "1: looks: unknown section"),
        ('[execution]\nsandbox = "soft"\n', "2: execution.sandbox: 'soft' is not one of"),
        ("[execution\n", "is not valid TOML"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "1" * 100_000, "is not valid TOML"),
    ],
)
def test_everything_else_is_refused_by_name_with_file_and_line(text: str, says: str) -> None:
    found = proposal(text)
    assert found.changes == ()
    assert f"{FILE}:{says}" in told(found) or (f"{FILE}" in told(found) and says in told(found))
    assert found.applied_to(Settings()) == Settings()


def test_commands_that_the_person_blocks_stay_blocked() -> None:
    found = proposal('[execution]\nblocked_commands = ["b"]\n', execution__blocked_commands=["a"])
    assert found.changes[0].after == ("a", "b")


def test_what_holds_already_is_neither_a_change_nor_a_problem() -> None:
    found = proposal('[execution]\napproval = "on_write"\n[tools.limits]\nmax_lines = 800\n')
    assert (found.changes, found.problems) == ((), ())


APPROVALS = ["always", "on_write", "on_request", "never"]


@given(
    user=st.sampled_from(APPROVALS),
    project=st.sampled_from(APPROVALS),
    box=st.sampled_from(["restricted", "strict", "none"]),
    wish=st.sampled_from(["restricted", "strict", "none"]),
    lines=st.integers(1, 2_000),
)
def test_no_file_loosens_anything(user: str, project: str, box: str, wish: str, lines: int) -> None:
    text = f'[execution]\napproval = "{project}"\nsandbox = "{wish}"\n[tools.limits]\nmax_lines = {lines}\n'
    settings = with_setting(with_setting(Settings(), "execution.approval", user), "execution.sandbox", box)
    after = proposal_of(parse_file(FILE, text), settings).applied_to(settings)
    order = ["none", "restricted", "strict"]
    assert order.index(after.execution.sandbox) >= order.index(box)
    assert after.tools.limits.max_lines <= 800
    if after.execution.approval != user:
        assert (user, after.execution.approval) in {
            ("on_request", "on_write"),
            ("on_request", "always"),
            ("on_request", "never"),
            ("on_write", "always"),
        }


@given(
    mine=st.none() | st.floats(0.01, 100), wish=st.floats(0.01, 100), key=st.sampled_from(["session_usd", "day_usd"])
)
def test_a_project_can_limit_what_is_spent_and_never_raise_it(mine: float | None, wish: float, key: str) -> None:
    settings = with_setting(Settings(), f"spending.{key}", mine)
    proposal = proposal_of(parse_file(FILE, f"[spending]\n{key} = {wish!r}\n"), settings)
    after = getattr(proposal.applied_to(settings).spending, key)
    assert after == (wish if mine is None else min(mine, wish))
    assert bool(proposal.problems) == (mine is not None and wish > mine)


def test_a_project_may_only_take_the_search_away_from_the_provider() -> None:
    there = with_setting(Settings(), "model.web_search", "provider")
    wished = proposal_of(parse_file(FILE, '[model]\nweb_search = "local"\n'), there)
    assert wished.applied_to(there).model.web_search == "local"
    refused = proposal_of(parse_file(FILE, '[model]\nweb_search = "provider"\n'), Settings())
    assert refused.applied_to(Settings()).model.web_search == "local"
    assert refused.problems


def test_only_what_makes_safety_stricter_is_a_projects_business() -> None:
    assert [key for key, setting in declared_settings().items() if setting.about.tightening] == [
        "model.web_search",
        "spending.session_usd",
        "spending.day_usd",
        "execution.approval",
        "execution.sandbox",
        "execution.blocked_commands",
        "execution.worktree_setup",
        "execution.max_processes",
        "execution.max_open_files",
        "tools.limits.max_tool_tokens",
        "tools.limits.max_stdout_bytes",
        "tools.limits.max_lines",
    ]


# --- reading a file that another user chose -----------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app" / ".desktop-agent").mkdir(parents=True)
    return tmp_path / "app"


def put(root: Path, text: str | bytes) -> None:
    (root / ".desktop-agent" / "config.toml").write_bytes(text.encode() if isinstance(text, str) else text)


def test_a_project_without_a_file_says_nothing(tmp_path: Path) -> None:
    assert read_project(tmp_path) is None
    (tmp_path / ".desktop-agent").write_text("a file in its place")
    assert read_project(tmp_path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize("kind", ["link", "folder link", "pipe", "large", "latin-1"])
def test_what_is_no_plain_file_of_reasonable_size_is_refused_and_nothing_waits_for_it(
    root: Path, tmp_path: Path, kind: str
) -> None:
    file = root / ".desktop-agent" / "config.toml"
    secret = tmp_path / "secret.toml"
    secret.write_text('[execution]\napproval = "always"\n')
    match kind:
        case "link":
            file.symlink_to(secret)
        case "folder link":
            file.parent.rmdir()
            file.parent.symlink_to(tmp_path)
            (tmp_path / "config.toml").write_text(secret.read_text())
        case "pipe":
            os.mkfifo(file)
        case "large":
            put(root, b"#" * 100_000)
        case _:
            put(root, 'x = "é"'.encode("latin-1"))
    found = read_project(root)
    assert found is not None
    assert found.problem is not None
    assert proposal_of(found, Settings()).changes == ()


# --- trust --------------------------------------------------------------------------------------------------------


STRICT = '[execution]\napproval = "always"\n'


@pytest.fixture
def here(root: Path, tmp_path: Path) -> WorkspaceSettings:
    return again(root, tmp_path)


def again(root: Path, tmp_path: Path) -> WorkspaceSettings:
    settings = WorkspaceSettings(LiveSettings(Settings()), root, ProjectTrust(tmp_path / "config" / "projects"))
    settings.look()
    return settings


def test_nothing_holds_before_the_answer_and_all_of_it_afterwards(
    root: Path, here: WorkspaceSettings, tmp_path: Path
) -> None:
    put(root, STRICT)
    here.look()
    assert (here.is_waiting, here.current.execution.approval) == (True, "on_write")
    here.remember("trusted", STRICT)
    assert (here.is_waiting, here.answer, here.current.execution.approval) == (False, "trusted", "always")
    later = again(root, tmp_path)
    assert (later.answer, later.current.execution.approval) == ("trusted", "always")
    source = later.loaded.sources["execution.approval"]
    assert (source.kind, source.line) == ("project", 2)


def test_an_ignored_file_is_not_asked_about_again_and_does_not_hold(
    root: Path, here: WorkspaceSettings, tmp_path: Path
) -> None:
    put(root, STRICT)
    here.remember("ignored", STRICT)
    later = again(root, tmp_path)
    assert (later.is_waiting, later.current.execution.approval) == (False, "on_write")


def test_a_changed_file_is_asked_about_again_and_loosens_nothing_meanwhile(
    root: Path, here: WorkspaceSettings, tmp_path: Path
) -> None:
    put(root, STRICT)
    here.remember("trusted", STRICT)
    put(root, '[execution]\nblocked_commands = ["x"]\n')
    for settings in (here, again(root, tmp_path)):
        settings.look()
        assert settings.is_waiting
        assert settings.current.execution.approval == "always", "what was trusted holds until the user has looked"
        assert settings.current.execution.blocked_commands == ()
    here.remember("ignored", '[execution]\nblocked_commands = ["x"]\n')
    assert here.current == Settings()


def test_an_answer_is_about_what_was_seen_and_not_about_what_the_file_became(
    root: Path, here: WorkspaceSettings
) -> None:
    put(root, '[execution]\nsandbox = "strict"\n')
    here.remember("trusted", STRICT)
    assert here.is_waiting
    assert (here.current.execution.approval, here.current.execution.sandbox) == ("always", "restricted")


def test_a_project_that_has_no_file_any_more_has_nothing_to_say(root: Path, here: WorkspaceSettings) -> None:
    put(root, STRICT)
    here.remember("trusted", STRICT)
    (root / ".desktop-agent" / "config.toml").unlink()
    here.look()
    assert (here.proposal, here.current) == (None, Settings())


def test_the_answer_about_one_project_is_not_one_about_another(tmp_path: Path) -> None:
    trust = ProjectTrust(tmp_path / "config")
    trust.remember(tmp_path / "one", STRICT, "trusted")
    assert trust.read(tmp_path / "one").answer_to(STRICT) == "trusted"
    assert trust.read(tmp_path / "two").answer_to(STRICT) is None
    assert trust.read(tmp_path / "one").answer_to(f"{STRICT} ") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"answer": "trusted"}', b"[" * 100_000, b"\xff"])
def test_a_damaged_answer_is_none(tmp_path: Path, content: bytes) -> None:
    trust = ProjectTrust(tmp_path / "config")
    trust.remember(tmp_path, STRICT, "trusted")
    trust.path_for(tmp_path).write_bytes(content)
    assert trust.read(tmp_path).answer is None


def test_an_answer_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="could not be kept"):
        ProjectTrust(tmp_path / "config").remember(tmp_path, STRICT, "trusted")


async def test_the_persons_change_and_the_projects_wish_are_combined_anew(root: Path, here: WorkspaceSettings) -> None:
    put(root, '[execution]\nblocked_commands = ["b"]\n')
    here.remember("trusted", '[execution]\nblocked_commands = ["b"]\n')
    await here.live.change("execution.blocked_commands", ["a"])
    assert here.current.execution.blocked_commands == ("a", "b")


# --- what a project brings beside its settings --------------------------------------------------------------------

SKILL = ProjectItem(kind="skill", name="review", path=Path("/app/.agents/skills/review/SKILL.md"), detail="Reviews")
OTHER = ProjectItem(kind="agent", name="tester", path=Path("/app/.claude/agents/tester.md"), detail="Tests")
HOOK = ProjectItem(kind="hook", name="Stop", path=Path("/app/.claude/settings.json"), detail="make lint", digest="a1")
CHANGED = ProjectItem(kind="hook", name="Stop", path=HOOK.path, detail="make lint; curl evil.example", digest="b2")


class Brought:
    """A project that brings `items`, which a test changes."""

    def __init__(self, root: Path, config: Path, *items: ProjectItem) -> None:
        self.root, self.trust, self.items = root, ProjectTrust(config), items

    def again(self) -> WorkspaceSettings:
        settings = WorkspaceSettings(LiveSettings(Settings()), self.root, self.trust, lambda _root: self.items)
        settings.look()
        return settings

    def answer(self, answer: Answer) -> None:
        settings = self.again()
        assert settings.proposal is not None
        settings.remember(answer, settings.proposal.text, settings.proposal.items)


@pytest.fixture
def brought(root: Path, tmp_path: Path) -> Brought:
    return Brought(root, tmp_path / "config", SKILL, HOOK)


def test_a_project_without_settings_is_asked_about_for_what_else_it_brings(brought: Brought) -> None:
    first = brought.again()
    assert first.proposal is not None
    assert (first.proposal.path, first.proposal.brings) == (brought.root, ("skills", "hooks"))
    assert (first.is_waiting, first.trusts_texts, first.answer_about(HOOK)) == (True, False, None)
    brought.answer("trusted")
    later = brought.again()
    assert (later.is_waiting, later.trusts_texts, later.answer_about(HOOK)) == (False, True, "trusted")
    assert later.answer_to_all == "trusted"


def test_texts_hold_also_when_they_change_and_a_changed_hook_waits(brought: Brought) -> None:
    brought.answer("trusted")
    brought.items = (SKILL, OTHER, CHANGED)
    later = brought.again()
    assert (later.is_waiting, later.answer_about(OTHER), later.answer_about(CHANGED)) == (True, "trusted", None)
    assert later.changed == {CHANGED.key}
    later.remember_items("trusted", [CHANGED])
    assert (later.is_waiting, later.answer_about(CHANGED)) == (False, "trusted")
    assert not later.changed
    brought.items = (CHANGED, HOOK)
    assert not brought.again().changed, "it was answered about before"
    brought.items = (CHANGED, replace(HOOK, digest="c3"))
    assert not brought.again().changed, "it is new beside the one that was answered about"


def test_the_first_text_of_a_project_is_asked_about_though_its_settings_are_trusted(brought: Brought) -> None:
    put(brought.root, STRICT)
    brought.items = ()
    brought.answer("trusted")
    brought.items = (SKILL,)
    later = brought.again()
    assert (later.is_waiting, later.trusts_texts, later.answer) == (True, False, "trusted")
    assert later.current.execution.approval == "always"


def test_an_ignored_project_gets_nothing_and_asks_for_nothing_of_the_kind(brought: Brought) -> None:
    brought.answer("trusted")
    brought.answer("ignored")
    brought.items = (SKILL, OTHER, HOOK)
    later = brought.again()
    assert [later.answer_about(item) for item in brought.items] == ["ignored"] * 3
    assert (later.is_waiting, later.trusts_texts) == (False, False)


def test_an_answer_of_an_earlier_version_is_about_the_settings_alone(brought: Brought) -> None:
    put(brought.root, STRICT)
    brought.answer("trusted")
    path = brought.trust.path_for(brought.root)
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({name: stored[name] for name in ("folder", "digest", "answer", "text")}))
    later = brought.again()
    assert (later.answer, later.answer_about(SKILL), later.answer_about(HOOK)) == ("trusted", None, None)
    assert later.current.execution.approval == "always"


def test_an_answer_that_cannot_be_read_trusts_nothing_and_is_asked_for_again(brought: Brought) -> None:
    brought.answer("trusted")
    brought.trust.path_for(brought.root).write_bytes(b'{"answer": "trusted"')
    later = brought.again()
    assert (later.is_waiting, later.trusts_texts, later.answer_about(HOOK)) == (True, False, None)
    brought.answer("trusted")
    assert brought.again().trusts_texts


@pytest.mark.parametrize("is_same", [True, False])
def test_the_answer_is_carried_over_to_a_copy_of_the_project(brought: Brought, tmp_path: Path, is_same: bool) -> None:
    put(brought.root, STRICT)
    brought.answer("trusted")
    copy = tmp_path / "copy"
    (copy / ".desktop-agent").mkdir(parents=True)
    put(copy, STRICT if is_same else '[execution]\nsandbox = "strict"\n')
    brought.trust.carry_over(brought.root, copy)
    there = WorkspaceSettings(LiveSettings(Settings()), copy, brought.trust, lambda _root: (SKILL, HOOK))
    there.look()
    assert there.answer == ("trusted" if is_same else None)
    assert (there.trusts_texts, there.answer_about(HOOK)) == (True, "trusted")


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
def heard_themes(live: LiveSettings) -> list[str]:
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
    live: LiveSettings, file: Path, heard_themes: list[str]
) -> None:
    change = await live.change("ui.theme", "DARK")
    assert live.current.ui.theme == "dark"
    assert (change.before, change.after, change.was_set, change.is_set) == ("light", "dark", True, True)
    assert text_of(file) == MINE.replace('"light"', '"dark"')
    assert heard_themes == ["dark"]


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
    live: LiveSettings, file: Path, heard_themes: list[str], key: str, value: object, says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        await live.change(key, value)
    assert says in str(refused.value)
    assert (text_of(file), live.current.ui.theme, heard_themes) == (MINE, "light", [])


async def test_where_nothing_can_be_written_nothing_changes(
    live: LiveSettings, file: Path, heard_themes: list[str]
) -> None:
    put_a_folder_at(file)
    with pytest.raises(StorageError):
        await live.change("ui.theme", "dark")
    assert (live.current.ui.theme, heard_themes) == ("light", [])


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
    await live.reset(key)  # there is nothing left to take out
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


async def test_an_edit_is_noticed_and_told_once(live: LiveSettings, file: Path, heard_themes: list[str]) -> None:
    await live.refresh()
    assert heard_themes == []
    write(file, '[ui]\ntheme = "dark"\n')
    await asyncio.gather(live.refresh(), live.refresh())
    await live.refresh()
    assert heard_themes == ["dark"]


@pytest.mark.parametrize(
    "broken",
    ["[ui\n", "[ui]\ntheme = \n", '[ui]\ntheme = "pink"\n', "ui = 3\n", "x = " + "[" * 9_000, "\x00"],
    ids=["header", "value", "choice", "section", "nested", "control"],
)
async def test_a_broken_file_keeps_the_last_good_values_and_is_named_once(
    live: LiveSettings, file: Path, heard_themes: list[str], broken: str
) -> None:
    write(file, broken)
    await live.refresh()
    await live.refresh()
    assert live.current.ui.theme == "light"
    assert len(live.problems) == 1
    assert str(live.problems[0]).startswith(str(file))
    assert heard_themes == ["light"]
    write(file, '[ui]\ntheme = "dark"\n')
    await live.refresh()
    assert (live.problems, heard_themes) == ((), ["light", "dark"])


async def test_a_bad_value_does_not_loosen_what_held(live: LiveSettings, file: Path) -> None:
    write(file, '[execution]\napproval = "always"\n')
    await live.refresh()
    write(file, '[execution]\napproval = "alwyas"\n')
    await live.refresh()
    assert live.current.execution.approval == "always"
    assert "using 'always'" in str(live.problems[0])


async def test_an_edit_within_one_tick_of_the_files_clock_is_noticed(live: LiveSettings, file: Path) -> None:
    """The file has the same size, inode and date; the date is too young to be trusted."""
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


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="everything can be read here")
async def test_a_file_that_may_not_be_read_keeps_what_held(live: LiveSettings, file: Path) -> None:
    write(file, '[ui]\ntheme = "dark"\n')
    forbid(file)
    await live.refresh()
    assert live.current.ui.theme == "light"
