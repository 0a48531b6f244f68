"""Only their owner can read the application's files, whatever the umask; the workspace keeps its modes."""

import json
import os
import stat
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.app.startup.serving import WindowLog
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.system.files import new_file_mode
from desktop_agent.core.system.private_files import close_to_others, make_private_folder
from tests.command_line import main
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")

KEY = "sk-ant-test-000000000000"


@pytest.fixture(autouse=True)
def generous_umask() -> Generator[None]:
    before = os.umask(0)
    new_file_mode.cache_clear()
    yield
    os.umask(before)
    new_file_mode.cache_clear()


def open_to_others(root: Path) -> list[str]:
    found = (root, *root.rglob("*"))
    return [
        f"{stat.filemode(path.lstat().st_mode)} {path.relative_to(root.parent)}"
        for path in found
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


def test_everything_a_run_leaves_is_its_owners_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "app"
    workspace.mkdir()
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    calls = (
        tool_use("create_file", path="new.txt", content="x" * 9_000),
        tool_use("run_terminal_cmd", command="rm -f other.txt; seq 200000; echo y > made.txt"),
        tool_use("codebase_search", query="x"),
    )
    (workspace / "other.txt").write_text("gone\n")
    with serve(reply(*calls), reply(text("Done."))) as server:
        code = main(f"run --prompt go --workspace {workspace} --base-url {server.url} --approval never --json".split())
    session = json.loads(capsys.readouterr().out)["session_id"]
    assert code == 0
    assert main(["sessions", "search", "Done", "--json"]) == 0
    assert main(["sessions", "fork", session]) == 0
    assert main(["config", "set", "model.name", "other"]) == 0
    assert open_to_others(home) == []
    assert stat.S_IMODE((workspace / "new.txt").stat().st_mode) == 0o666, "the user's umask holds in the workspace"
    assert stat.S_IMODE((workspace / "made.txt").stat().st_mode) == 0o664, "a command leaves nothing that all can write"


def test_what_an_earlier_version_left_readable_is_closed_when_a_command_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.txt").write_text("x")
    paths = AppPaths.from_environment()
    for root in paths.roots:
        (root / "deep" / "er").mkdir(parents=True)
        (root / "deep" / "er" / "file").write_text("a secret")
        (root / "deep" / "program").touch(0o755)
        (root / "link").symlink_to(outside)
        (root / "link to a file").symlink_to(outside / "theirs.txt")
    assert main(["sessions", "list"]) == 0
    for root in paths.roots:
        assert open_to_others(root) == []
        assert stat.S_IMODE((root / "deep" / "program").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in (outside, outside / "theirs.txt")] == [0o777, 0o666]


def test_a_folder_that_the_user_moved_to_another_disk_is_closed_there(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "file").write_text("a secret")
    (tmp_path / "data").symlink_to(disk)
    close_to_others([tmp_path / "data", tmp_path / "missing"])
    assert open_to_others(disk) == []


def test_the_log_of_the_window_is_its_owners_only(tmp_path: Path) -> None:
    log = WindowLog(tmp_path / "home" / "logs")
    log.close()
    assert [path.name for path in (tmp_path / "home" / "logs").iterdir()] == ["desktop-agent.log"]
    assert open_to_others(tmp_path / "home") == []


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    make_private_folder(tmp_path / "shared" / "ours" / "inner")
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o777
    assert open_to_others(tmp_path / "shared" / "ours") == []
