"""Reading a folder: order, links, unreadable entries, and marks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent import Agent, Say, ScriptedProvider, in_order
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.git.repository import FileState, FileStatus
from desktop_agent.core.system.workspace import (
    FolderListing,
    HeldWorkspace,
    NamedBy,
    check_workspace,
    entries_below,
    natural_key,
    roll_up,
    scan_directory,
    usable_workspace,
    walk_files,
    why_no_workspace,
)
from desktop_agent.headless.batch.local_workers import copy_of
from tests.command_line import CommandLine
from tests.rest.serving import NEW, serving

needs_permissions = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the administrator may read everything"
)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text("x", encoding="utf-8")


def names(listing: FolderListing) -> list[str]:
    return [*listing.folders, *listing.files]


# --- scanning -----------------------------------------------------------------------------------------------------


def test_folders_come_first_and_numbers_count(tmp_path: Path) -> None:
    fill(tmp_path, "page10.md", "page9.md", "Page2.md", "src/", "Docs/", "b007", "b7", "b08")
    assert names(scan_directory(tmp_path)) == [
        "Docs", "src", "b007", "b7", "b08", "Page2.md", "page9.md", "page10.md",
    ]  # fmt: skip


def test_the_folders_of_version_control_are_not_listed(tmp_path: Path) -> None:
    fill(tmp_path, ".git/HEAD", ".gitignore", ".github/x")
    assert names(scan_directory(tmp_path)) == [".github", ".gitignore"]


def test_what_the_sandbox_covers_a_missing_folder_with_is_not_listed(tmp_path: Path) -> None:
    own = tmp_path / ".desktop-agent"
    own.mkdir()
    assert scan_directory(tmp_path).folders == []
    (own / "notes.md").touch()
    assert scan_directory(tmp_path).folders == [".desktop-agent"]


def test_links_are_marked_and_a_link_to_a_folder_can_be_opened(tmp_path: Path) -> None:
    fill(tmp_path, "folder/", "file")
    (tmp_path / "to folder").symlink_to("folder")
    (tmp_path / "to file").symlink_to("file")
    (tmp_path / "to nothing").symlink_to("nothing")
    (tmp_path / "to itself").symlink_to("to itself")
    assert scan_directory(tmp_path) == FolderListing(
        ["folder", "to folder"],
        ["file", "to file", "to itself", "to nothing"],
        frozenset({"to file", "to folder", "to itself", "to nothing"}),
    )


def test_a_folder_that_is_gone_is_a_listing_with_a_problem(tmp_path: Path) -> None:
    assert scan_directory(tmp_path / "gone") == FolderListing([], [], problem="No such file or directory")


@needs_permissions
def test_a_folder_that_may_not_be_read_is_a_listing_with_a_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        assert scan_directory(tmp_path) == FolderListing([], [], problem="Permission denied")
    finally:
        tmp_path.chmod(0o700)


def test_the_pieces_of_a_large_folder_are_put_together_in_order(tmp_path: Path) -> None:
    expected = [f"file{number}" for number in range(5000)]
    fill(tmp_path, *reversed(expected))
    assert names(scan_directory(tmp_path)) == expected


@given(st.lists(st.text(alphabet="aA01é\x00/9", min_size=1, max_size=6), min_size=2, max_size=6, unique=True))
def test_every_two_names_have_an_order(some_names: list[str]) -> None:
    keys = {natural_key(name) for name in some_names}
    assert len(keys) == len(some_names)


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_numbers_in_names_sort_by_value(one: int, other: int) -> None:
    if one < other:
        assert natural_key(f"v{one}.txt") < natural_key(f"v{other}.txt")


# --- walking ------------------------------------------------------------------------------------------------------


def test_walking_finds_every_file_and_follows_no_link(tmp_path: Path) -> None:
    fill(tmp_path, "a", "src/b", "src/deep/c", ".git/HEAD")
    (tmp_path / "src" / "up").symlink_to("..")
    assert walk_files(tmp_path) == (["a", "src/b", "src/deep/c"], True)


def test_a_limit_cuts_off_what_lies_deepest(tmp_path: Path) -> None:
    fill(tmp_path, "z", "y/x", "y/w/v")
    assert walk_files(tmp_path, limit=2) == (["z", "y/x"], False)


# --- marks --------------------------------------------------------------------------------------------------------


def of(**states: FileState) -> dict[str, FileStatus]:
    return {path.replace("__", "/"): FileStatus(state=state) for path, state in states.items()}


def test_a_folder_carries_the_strongest_mark_of_what_is_below_it() -> None:
    files = of(
        src__new="untracked",
        src__deep__changed="modified",
        tests__new="added",
        lib__both="conflicted",
        top="added",
        build__out="ignored",
    )
    assert roll_up(files) == {"src": "modified", "src/deep": "modified", "tests": "added", "lib": "conflicted"}


def test_the_order_of_changes_does_not_matter() -> None:
    files = of(
        a__b__one="added", a__b__two="modified", a__c__three="conflicted", a__d__four="deleted", a__e__five="renamed"
    )
    marks = roll_up(files)
    assert roll_up(dict(reversed(files.items()))) == marks
    assert marks["a"] == "conflicted"
    assert marks["a/b"] == "modified"


# --- checking -----------------------------------------------------------------------------------------------------


def test_a_missing_folder_and_a_file_are_refused_in_words(tmp_path: Path) -> None:
    fill(tmp_path, "file")
    with pytest.raises(WorkspaceError, match="does not exist"):
        check_workspace(tmp_path / "gone")
    with pytest.raises(WorkspaceError, match="is a file, not a folder"):
        check_workspace(tmp_path / "file")


@needs_permissions
def test_an_unreadable_folder_is_refused_in_words(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        with pytest.raises(WorkspaceError, match="cannot be read"):
            check_workspace(tmp_path)
    finally:
        tmp_path.chmod(0o700)


NEVER = (
    "/", "/etc", "/etc/cron.d", "/usr", "/usr/bin", "/usr/local/bin", "/bin", "/sbin", "/boot", "/lib", "/dev", "/proc",
    "/proc/self", "/sys", "/run", "/run/user/1000", "/var", "/var/lib", "/var/spool/cron", "/tmp", "/var/tmp", "/home",
    "/usr/src", "/run/media", "/root", "/root/bin", "/root/.ssh", "/home/other", "/home/other/bin", "/home/other/.ssh",
    "~/..", "~/bin", "~/bin/tools", "~/.local/bin", "~/snap", "~/snap/app/current", "~/.ssh", "~/.ssh/keys", "~/.gnupg",
    "~/.aws", "~/.config", "~/.local", "~/.local/share", "~/.cache", "~/.config/autostart", "~/.config/systemd/user",
    "~/.kde/Autostart", "~/.xinitrc.d", "~/.bash_completion.d", "~/.vscode/extensions/x", "~/.nvm/versions",
    "~/.rustup",
    "~/.config/environment.d", "~/.local/share/applications", "~/.cargo/bin", "~/Library/LaunchAgents",
    "~/Library/LaunchDaemons", "~/Library/Preferences", "~/Library/Application Support/x",
    "~/AppData/Roaming/x", "~/AppData/Local/Temp",
    "~/proj/.git", "~/proj/.git/hooks", "~/proj/.git/modules/x", "~/proj/.GIT/hooks", "~/proj/.hg", "~/proj/.svn/x",
    "~/proj/.desktop-agent", "~/bare.git", "~/bare.git/hooks", "~/links/hooks", "~/links/bin",
    "~/desktop-agent/config", "~/desktop-agent/data/sessions/x", "~/desktop-agent/data/blobs", "~/desktop-agent/logs",
)  # fmt: skip
ONLY_THE_USER = ("~",)
NO_FILE = (
    "~/.dotfiles", "~/.config/nvim", "~/.emacs.d", "/opt", "/srv", "/mnt", "/media", "/home/other/proj",
    "/usr/src/app", "/usr/local/src/app", "/run/media/me/disk/proj", "/dev/shm/proj",
)  # fmt: skip
ALWAYS = (
    "~/proj", "~/proj/src", "~/code/bin/proj", "~/proj/bin", "~/proj/.github", "~/gitlab", "~/Library and more",
    "~/library/proj", "~/go", "~/Documents", "~/links/proj", "/opt/app", "/srv/app", "/mnt/disk/proj", "/tmp/x",
    "/var/tmp/x", "/var/www/html", "/workspace", "~/Library/Mobile Documents/proj",
    "~/AppData/Local/Temp/proj",
    "~/desktop-agent/data/demo/x/pagination", "~/desktop-agent/cache/batch/x/proj",
)  # fmt: skip


@pytest.fixture
def home(isolated_home: Path) -> Path:
    (isolated_home / "links").mkdir()
    for folder in (isolated_home / "proj", isolated_home / "proj" / ".git" / "hooks", isolated_home / "bin"):
        folder.mkdir(parents=True)
    subprocess.check_call(["git", "init", "-q", "--bare", str(isolated_home / "bare.git")])
    for name, target in (("hooks", "../proj/.git/hooks"), ("bin", "../bin"), ("proj", "../proj")):
        (isolated_home / "links" / name).symlink_to(target)
    return isolated_home


def why(folder: str, home: Path, named_by: NamedBy) -> str:
    return why_no_workspace(Path(folder.replace("~", str(home), 1)).resolve(), named_by)


@pytest.mark.skipif(sys.platform == "win32", reason="these are the places of Unix")
def test_one_table_says_which_folders_may_be_worked_in(home: Path) -> None:
    expected: dict[NamedBy, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "user": (NEVER, (*ONLY_THE_USER, *NO_FILE, *ALWAYS)),
        "client": ((*NEVER, *ONLY_THE_USER), (*NO_FILE, *ALWAYS)),
        "file": ((*NEVER, *ONLY_THE_USER, *NO_FILE), ALWAYS),
    }
    for named_by, (refused, taken) in expected.items():
        assert [name for name in refused if not why(name, home, named_by)] == [], named_by
        assert [(name, why(name, home, named_by)) for name in taken if why(name, home, named_by)] == [], named_by


@pytest.mark.parametrize(
    ("own", "folder", "named_by", "says"),
    [
        # root's home belongs to root only
        ("", "/root", "user", "another user"),
        ("/root", "/root", "user", ""),
        ("/root", "/root/proj", "file", ""),
        ("/root", "/root", "file", "is the home folder"),
        # system folders stay system folders even if the whole disk is a home
        ("/", "/etc", "user", "system"),
        ("/", "/", "user", "system"),
        ("/", "/srv/app", "user", ""),
        # a service's projects are among the system's folders
        ("/var/lib/builder", "/var/lib/builder/workspace/proj", "file", ""),
        ("/var/lib/builder", "/var/lib/other", "user", "system"),
    ],
)
def test_what_a_home_is_depends_on_whose_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch, own: str, folder: str, named_by: NamedBy, says: str
) -> None:
    if own:
        monkeypatch.setenv("HOME", own)
    said = why(folder, home, named_by)
    assert (bool(said), says in said) == (bool(says), True), said


REFUSED = ("~/proj/.git/hooks", "~/bin", "~/links/hooks", "~/bare.git", "/")


@pytest.mark.parametrize("folder", REFUSED)
async def test_every_way_in_refuses_it_in_words(home: Path, tmp_path: Path, folder: str) -> None:
    path = Path(folder.replace("~", str(home), 1))

    with pytest.raises(WorkspaceError, match="cannot be a workspace") as caught:
        usable_workspace(path)
    assert "project" in caught.value.hint
    with pytest.raises(WorkspaceError, match="cannot be a workspace"):
        async with Agent(path, provider=ScriptedProvider(in_order([[Say("x")]])), home=tmp_path / "agent"):
            pass
    if path.suffix != ".git":  # which a batch clones
        with pytest.raises(WorkspaceError, match="cannot be a workspace"), copy_of(str(path), tmp_path / "scratch"):
            pass
    async with serving(tmp_path) as served:
        bodies: dict[str, JsonObject] = {
            "/v1/sessions": {**NEW, "workspace": str(path)},
            "/v1/tools/list_files/execute": {"arguments": {}, "workspace": str(path)},
        }
        for asked, body in bodies.items():
            answer = await served.post(asked, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "workspace"), answer.text
            assert "cannot be a workspace" in answer.text


@pytest.mark.parametrize("folder", REFUSED[:2])
def test_the_command_line_refuses_it_in_words(home: Path, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder.replace("~", str(home), 1)
    for arguments in (
        ("run", "--prompt", "x", "--provider", "demo"),
        ("tools", "call", "list_files", "{}"),
        ("serve",),
    ):
        ran = CommandLine(capsys)(*arguments, "--workspace", path)
        assert (ran.code, "cannot be a workspace" in ran.err) == (2, True), (arguments, ran.err)


async def test_a_client_does_not_open_the_home_and_the_user_may(home: Path, tmp_path: Path) -> None:
    assert usable_workspace(home) == home
    async with serving(tmp_path) as served:
        answer = await served.post("/v1/sessions", {**NEW, "workspace": str(home)})
    assert "is the home folder" in answer.text


def test_nothing_is_done_where_a_session_of_before_was_opened_in_such_a_folder(home: Path) -> None:
    held = HeldWorkspace(home / "proj" / ".git" / "hooks")
    for _ in range(2):
        with pytest.raises(WorkspaceError, match="version control"):
            held.check()
    held.close()


@pytest.mark.skipif(sys.platform == "win32", reason="making a link needs a right of its own")
def test_a_link_that_leads_to_itself_is_refused_in_words(tmp_path: Path) -> None:
    for name, leads_to in (("loop", "loop"), ("one", "two"), ("two", "one")):
        (tmp_path / name).symlink_to(tmp_path / leads_to)
    for name in ("loop", "one"):
        with pytest.raises(WorkspaceError, match="cannot be read") as caught:
            usable_workspace(tmp_path / name)
        assert "symbolic links" in caught.value.detail


def paths(root: Path, **options: object) -> list[str]:
    return [path for _, path, _ in entries_below((root,), **options)]  # pyright: ignore[reportArgumentType]


def test_the_upper_levels_come_first_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = paths(tmp_path)
    assert sorted(found[:2]) == ["a", "loop"]
    assert found[2:] == ["a/deep", "a/deep/file"]
    assert paths(tmp_path, skipped={"deep"}) == [*found[:2], "a/deep"]


def test_a_folder_that_was_begun_is_gone_through_to_its_end_and_no_other_begun(tmp_path: Path) -> None:
    """The search for secrets and other files must not depend on the order in large folders."""
    for number in range(20):
        (tmp_path / f"file-{number}").touch()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").touch()
    assert len(paths(tmp_path, most=5)) == 21
    assert "below/file" not in paths(tmp_path, most=21)
    assert "below/file" in paths(tmp_path, most=22)
