"""What a command changes is found, whatever it did and in any folder."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.changes.baseline import Baseline
from desktop_agent.core.changes.capture import Capture, CaptureLimits, WorkspaceCapture
from desktop_agent.core.files import FileTransition


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"a\n")
    (root / "src" / "b.py").write_bytes(b"b\r\n")
    (root / "data.bin").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def baseline(tmp_path: Path) -> Baseline:
    return Baseline(tmp_path / "cache" / "baseline.sqlite3")


Run = Callable[[Callable[[], object]], tuple[dict[str, FileTransition], Capture]]


@pytest.fixture
def run(root: Path, baseline: Baseline) -> Run:
    """Capture what a function does to the folder."""
    capture = WorkspaceCapture(root, baseline, CaptureLimits(max_file_bytes=1000, max_total_bytes=10_000))

    def run(command: Callable[[], object]) -> tuple[dict[str, FileTransition], Capture]:
        capture.refresh()
        command()
        found: list[FileTransition] = []
        result = capture.collect(found.append)
        return {item.path: item for item in found}, result

    return run


def content(transition: FileTransition) -> tuple[bytes | None, bytes | None]:
    before, after = transition.before, transition.after
    return before.content if before else None, after.content if after else None


def test_a_command_that_changes_nothing_has_no_changes(run: Run) -> None:
    assert run(lambda: None) == ({}, Capture((), ()))


def test_edited_created_and_deleted_files_are_found_with_both_contents(run: Run, root: Path) -> None:
    def command() -> None:
        (root / "src" / "a.py").write_bytes(b"changed\n")
        (root / "new" / "deep").mkdir(parents=True)
        (root / "new" / "deep" / "c").write_bytes(b"c")
        (root / "data.bin").unlink()

    found, _ = run(command)
    assert {path: content(item) for path, item in found.items()} == {
        "data.bin": (bytes(range(256)), None),
        "new/deep/c": (None, b"c"),
        "src/a.py": (b"a\n", b"changed\n"),
    }
    assert found["new/deep/c"].new_folders == ("new", "new/deep")


def test_a_change_that_keeps_size_and_modification_time_is_found(run: Run, root: Path) -> None:
    path = root / "src" / "a.py"
    status = path.stat()

    def command() -> None:
        path.write_bytes(b"z\n")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    found, _ = run(command)
    assert content(found["src/a.py"]) == (b"a\n", b"z\n")


def test_two_changes_in_quick_succession_are_both_found(run: Run, root: Path) -> None:
    for text in (b"1", b"2", b"3", b"4"):
        found, _ = run(lambda text=text: (root / "src" / "a.py").write_bytes(text))
        assert content(found["src/a.py"])[1] == text


def test_a_file_that_was_only_touched_is_not_a_change(run: Run, root: Path) -> None:
    found, _ = run((root / "src" / "a.py").touch)
    assert found == {}


def test_modes_links_and_renames_are_found(run: Run, root: Path) -> None:
    def command() -> None:
        (root / "src" / "a.py").chmod(0o755)
        (root / "src" / "b.py").rename(root / "src" / "c.py")
        (root / "link").symlink_to("src/a.py")

    found, _ = run(command)
    assert sorted(found) == ["link", "src/a.py", "src/b.py", "src/c.py"]
    mode_before, mode_after = found["src/a.py"].before, found["src/a.py"].after
    assert mode_before is not None
    assert mode_after is not None
    assert (mode_before.mode & 0o111, mode_after.mode) == (0, 0o755)
    link = found["link"].after
    assert link is not None
    assert (link.kind, link.content) == ("symlink", b"src/a.py")


def test_a_file_too_large_to_keep_is_named_instead(run: Run, root: Path) -> None:
    found, capture = run(lambda: (root / "big").write_bytes(b"x" * 2000))
    assert found == {}
    assert [item.path for item in capture.lost] == ["big"]


def test_a_large_file_that_is_gone_is_named(run: Run, root: Path) -> None:
    (root / "big").write_bytes(b"x" * 2000)
    found, capture = run((root / "big").unlink)
    assert found == {}
    assert [item.path for item in capture.lost] == ["big"]


def test_files_beyond_the_budget_of_the_whole_folder_are_named(run: Run, root: Path) -> None:
    for number in range(12):
        (root / f"f{number:02}").write_bytes(bytes([number]) * 900)
    found, capture = run(lambda: [(root / f"f{number:02}").write_bytes(b"!") for number in range(12)])
    assert len(found) + len(capture.lost) == 12
    assert capture.lost
    assert all("copies are kept" in item.reason for item in capture.lost)


def test_folders_that_tools_make_anew_are_left_out(run: Run, root: Path) -> None:
    def command() -> None:
        for name in ("node_modules", "__pycache__", ".git"):
            (root / name).mkdir()
            (root / name / "x").write_bytes(b"x")

    assert run(command)[0] == {}


def test_special_files_and_unreadable_names_do_no_harm(run: Run, root: Path) -> None:
    def command() -> None:
        os.mkfifo(root / "pipe")
        (Path(os.fsdecode(os.fsencode(root) + b"/bad-\xff"))).write_bytes(b"x")

    found, capture = run(command)
    assert found == {}
    assert "not valid Unicode" in capture.out_of_reach[0].reason


def test_until_the_next_refresh_the_same_is_reported_again_so_that_nothing_is_missed(
    root: Path, baseline: Baseline
) -> None:
    """A report that did not reach the journal, because the process died or the disk was full, can be made again."""
    capture = WorkspaceCapture(root, baseline)
    capture.refresh()
    (root / "src" / "a.py").write_bytes(b"changed")

    def refuse(_transition: FileTransition) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        capture.collect(refuse)
    reports: list[list[FileTransition]] = [[], []]
    for report in reports:
        capture.collect(report.append)
    assert [item.path for item in reports[0]] == ["src/a.py"]
    assert reports[0] == reports[1]


def test_the_baseline_outlives_the_process_that_took_it(root: Path, tmp_path: Path) -> None:
    database = tmp_path / "cache" / "baseline.sqlite3"
    WorkspaceCapture(root, Baseline(database)).refresh()
    (root / "src" / "a.py").write_bytes(b"changed")
    found: list[FileTransition] = []
    WorkspaceCapture(root, Baseline(database)).collect(found.append)
    assert [content(item) for item in found] == [(b"a\n", b"changed")]


def test_a_baseline_of_another_format_is_made_anew(root: Path, tmp_path: Path) -> None:
    database = tmp_path / "cache" / "baseline.sqlite3"
    database.parent.mkdir()
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE entry (old TEXT)")
    connection.close()
    capture = WorkspaceCapture(root, Baseline(database))
    capture.refresh()
    (root / "src" / "a.py").unlink()
    found: list[FileTransition] = []
    capture.collect(found.append)
    assert [item.path for item in found] == ["src/a.py"]
