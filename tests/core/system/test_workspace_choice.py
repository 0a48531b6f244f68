"""Which folders may be workspaces: one function decides, and every way to open a folder asks it."""

import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent import Agent, Say, ScriptedProvider, in_order
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.workspace import HeldWorkspace, NamedBy, usable_workspace, why_no_workspace
from desktop_agent.headless.batch.copies import copy_of
from tests.rest.serving import NEW, serving

NEVER = (
    "/", "/etc", "/etc/cron.d", "/usr", "/usr/bin", "/usr/local/bin", "/bin", "/sbin", "/boot", "/lib", "/dev", "/proc",
    "/proc/self", "/sys", "/run", "/run/user/1000", "/var", "/var/lib", "/var/spool/cron", "/tmp", "/var/tmp", "/home",
    "/usr/src", "/run/media", "/root", "/root/bin", "/root/.ssh", "/home/other", "/home/other/bin", "/home/other/.ssh",
    "~/..", "~/bin", "~/bin/tools", "~/.local/bin", "~/snap", "~/snap/app/current", "~/.ssh", "~/.ssh/keys", "~/.gnupg",
    "~/.aws", "~/.config", "~/.local", "~/.local/share", "~/.cache", "~/.config/autostart", "~/.config/systemd/user",
    "~/.kde/Autostart", "~/.xinitrc.d", "~/.bash_completion.d", "~/.vscode/extensions/x", "~/.nvm/versions",
    "~/.rustup",
    "~/.config/environment.d", "~/.local/share/applications", "~/.cargo/bin", "~/Library/LaunchAgents",
    "~/Library/LaunchDaemons", "~/Library/Preferences", "~/Library/Application Support/x", "~/AppData/Roaming/x",
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
    "~/desktop-agent/data/demo/x/pagination", "~/desktop-agent/cache/batch/x/proj",
)  # fmt: skip


@pytest.fixture
def home(isolated_home: Path) -> Path:
    """A home with repositories, and links that lead elsewhere."""
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


def test_roots_home_is_its_own_for_root_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "another user" in why("/root", home, "user")
    monkeypatch.setenv("HOME", "/root")
    assert why("/root", home, "user") == ""
    assert why("/root/proj", home, "file") == ""
    assert "is the home folder" in why("/root", home, "file")


def test_the_system_stays_the_systems_where_the_whole_disk_is_a_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/")
    assert why("/etc", home, "user")
    assert why("/", home, "user")
    assert why("/srv/app", home, "user") == ""


def test_a_home_of_a_service_among_the_systems_folders_has_projects(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/var/lib/builder")
    assert why("/var/lib/builder/workspace/proj", home, "file") == ""
    assert why("/var/lib/other", home, "user")


REFUSED = ("~/proj/.git/hooks", "~/bin", "~/links/hooks", "~/bare.git", "/")


@pytest.mark.parametrize("folder", REFUSED)
async def test_every_way_in_refuses_it_in_words(home: Path, tmp_path: Path, folder: str) -> None:
    path = Path(folder.replace("~", str(home), 1))

    with pytest.raises(WorkspaceError, match="cannot be worked in") as caught:
        usable_workspace(path)
    assert "project" in caught.value.hint
    with pytest.raises(WorkspaceError, match="cannot be worked in"):
        async with Agent(path, provider=ScriptedProvider(in_order([[Say("x")]])), home=tmp_path / "agent"):
            pass
    if path.suffix != ".git":  # which a batch clones
        with pytest.raises(WorkspaceError, match="cannot be worked in"), copy_of(str(path), tmp_path / "scratch"):
            pass
    async with serving(tmp_path) as served:
        bodies: dict[str, JsonObject] = {
            "/v1/sessions": {**NEW, "workspace": str(path)},
            "/v1/tools/list_files/execute": {"arguments": {}, "workspace": str(path)},
        }
        for asked, body in bodies.items():
            answer = await served.post(asked, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "workspace"), answer.text
            assert "cannot be worked in" in answer.text


@pytest.mark.parametrize("folder", REFUSED[:2])
def test_the_command_line_refuses_it_in_words(home: Path, tmp_path: Path, folder: str) -> None:
    path = folder.replace("~", str(home), 1)
    for arguments in (
        ("run", "--prompt", "x", "--provider", "demo"),
        ("tools", "call", "list_files", "{}"),
        ("serve",),
    ):
        command = [sys.executable, "-m", "desktop_agent", *arguments, "--workspace", path]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: TID251
        assert (ran.returncode, "cannot be worked in" in ran.stderr) == (2, True), (arguments, ran.stderr)


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
        with pytest.raises(WorkspaceError, match="cannot be read"):
            usable_workspace(tmp_path / name)
