"""A project may only tighten, and only what the user saw and trusted holds."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import parse_file
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings, setting_values, with_setting
from desktop_agent.core.settings.workspace_settings import (
    ProjectProposal,
    ProjectTrust,
    WorkspaceSettings,
    proposal_of,
    read_project,
)

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
    """The settings as a new process finds them."""
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
