"""The safety copy: what is copied, what is too much, what is reported afterwards, what is put back."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.safety import EndangeredPath, SafetyCopies, SafetyLimits, restore_outside
from desktop_agent.core.capture.scan import Known, KnownFolder, Scan, Signature, below, half_of, pieces_of_scan
from desktop_agent.core.protocol.model import FileImage, OutsideFile
from desktop_agent.core.system.files import FileState, read_state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()


def copies_of(root: Path, **more: int) -> SafetyCopies:
    ignored = frozenset({"node_modules", ".git", ".cache"})
    return SafetyCopies(
        root, root.parent / "safety", lambda: SafetyLimits(ignored_folders=ignored, max_captured_bytes=100, **more)
    )


def write(root: Path, path: str, content: str = "x") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def test_only_what_the_capture_does_not_watch_is_copied(root: Path) -> None:
    write(root, "src/a.py")
    write(root, "src/node_modules/b.js")
    write(root, "big.bin", "x" * 101)
    write(root.parent, "outside/c.txt")
    copy = copies_of(root).make([EndangeredPath(root), EndangeredPath(root.parent / "outside")])
    assert sorted(Path(file.path).name for file in copy.files) == ["b.js", "big.bin", "c.txt", "node_modules"]
    assert copy.gaps == ()


def test_what_was_named_in_an_unwatched_folder_is_all_that_is_copied_of_it(root: Path) -> None:
    write(root, "node_modules/a/x.js")
    write(root, "node_modules/b/y.js")
    copy = copies_of(root).make([EndangeredPath(root / "node_modules" / "a")])
    assert [Path(file.path).name for file in copy.files] == ["a", "x.js"]


def test_what_is_gone_different_or_new_is_told_and_nothing_else(root: Path) -> None:
    for name in ("gone", "changed", "touched", "same"):
        write(root, f"node_modules/{name}", name)
    link = root / "node_modules" / "link"
    link.symlink_to("same")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    (root / "node_modules/gone").unlink()
    (root / "node_modules/changed").write_text("now")
    (root / "node_modules/touched").write_text("touched")
    link.unlink()
    write(root, "node_modules/deep/er/new", "new")
    report = copies.compare(copy)
    told = {item.path.removeprefix("node_modules/"): (item.before, item.after) for item in report.inside}
    assert {name: before.content if before else None for name, (before, _) in told.items()} == {
        "gone": b"gone",
        "changed": b"changed",
        "link": b"same",
        "deep": None,
        "deep/er": None,
        "deep/er/new": None,
    }
    kinds = {name: after.kind for name, (before, after) in told.items() if before is None and after is not None}
    assert kinds == {"deep": "folder", "deep/er": "folder", "deep/er/new": "file"}
    assert told["link"][0] is not None
    assert told["link"][0].kind == "symlink"


def test_folders_are_told_too_with_their_permissions(root: Path) -> None:
    (root / "node_modules/empty").mkdir(parents=True, mode=0o700)
    (root / "node_modules/other").mkdir()
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    (root / "node_modules/empty").rmdir()
    (root / "node_modules/other").rmdir()
    write(root, "node_modules/other", "a file now")
    empty, other = copies.compare(copy).inside
    assert (empty.path, empty.before, empty.after) == (
        "node_modules/empty",
        FileState(content=b"", mode=0o700, kind="folder"),
        None,
    )
    assert (other.path, other.before and other.before.kind, other.after and other.after.content) == (
        "node_modules/other",
        "folder",
        b"a file now",
    )


def test_the_smallest_are_copied_first_and_what_does_not_fit_any_more_is_named(root: Path) -> None:
    for number in range(4):
        write(root, f"node_modules/{number}")
    write(root, ".cache/one")
    copy = copies_of(root, max_files=4).make([EndangeredPath(root / "node_modules"), EndangeredPath(root / ".cache")])
    assert [Path(unit).name for unit in copy.units] == [".cache"]
    assert [(gap.path, gap.reason) for gap in copy.gaps] == [
        ("node_modules", "It is more than a safety copy may hold: 4 files, 200 MiB.")
    ]


def test_size_counts_as_well(root: Path) -> None:
    write(root, "node_modules/a", "x" * 60)
    write(root, "node_modules/b", "x" * 60)
    copy = copies_of(root, max_bytes=100).make([EndangeredPath(root / "node_modules")])
    assert (copy.files, [gap.path for gap in copy.gaps]) == ((), ["node_modules"])


def test_a_guess_leaves_the_repository_alone_and_names_no_gaps(root: Path) -> None:
    write(root, ".git/config")
    write(root, "node_modules/a")
    write(root, "node_modules/b")
    guessed = copies_of(root, max_files=1).make([EndangeredPath(root, is_guess=True)])
    assert (guessed.units, guessed.gaps) == ((), ())
    named = copies_of(root).make([EndangeredPath(root)])
    assert sorted(Path(unit).name for unit in named.units) == [".git", "node_modules"]


def test_a_symlink_is_copied_as_a_link_and_what_it_leads_to_is_not(root: Path) -> None:
    write(root.parent, "outside/c.txt")
    (root / "link").symlink_to(root.parent / "outside")
    assert copies_of(root).make([EndangeredPath(root / "link")]).files == ()
    copy = copies_of(root).make([EndangeredPath(root / "link" / "c.txt")])
    assert [file.path for file in copy.files] == [str(root.parent / "outside" / "c.txt")]


def test_a_place_for_a_file_is_no_folder_and_a_missing_one_is_nothing(root: Path) -> None:
    write(root, "node_modules/a")
    copy = copies_of(root).make([EndangeredPath(root / "node_modules", is_file=True), EndangeredPath(root / "missing")])
    assert (copy.files, copy.gaps) == ((), ())


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_a_name_that_is_no_text_is_copied_like_any_other(root: Path) -> None:
    write(root, "node_modules/a")
    odd = root / "node_modules" / os.fsdecode(b"\xff")
    odd.write_text("x")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    odd.unlink()
    (lost,) = (item for item in copies.compare(copy).inside if item.after is None)
    assert (copy.gaps, lost.path, lost.before and lost.before.content) == ((), "node_modules/\udcff", b"x")


def test_git_s_own_files_are_told_as_outside(root: Path) -> None:
    write(root, ".git/index", "one")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / ".git/index")])
    (root / ".git/index").write_text("two")
    report = copies.compare(copy)
    assert report.inside == []
    assert [item.path for item in report.outside] == [str(root / ".git/index")]


def outside_file(path: Path, before: FileImage, after: FileImage | None) -> OutsideFile:
    return OutsideFile(path=str(path), before=before, after=after)


def test_an_outside_file_is_put_back_only_while_it_is_what_the_command_left(tmp_path: Path) -> None:
    file = write(tmp_path, "folder/a.txt", "before")
    file.chmod(0o600)
    state = read_state(file)
    assert state is not None
    contents = {state.digest: state.content}
    file.unlink()
    file.parent.rmdir()
    lost = outside_file(file, state.image(), None)
    for _ in range(2):  # once more changes nothing
        assert restore_outside([lost], contents.__getitem__) == ((lost,), ())
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("before", 0o600)
    file.write_text("mine")
    restored, [problem] = restore_outside([lost], contents.__getitem__)
    assert (restored, problem.state, file.read_text()) == ((), "conflict", "mine")


@pytest.mark.parametrize("is_back", [True, False], ids=["made anew", "written over"])
def test_what_somebody_writes_at_the_last_moment_is_not_overwritten_outside(tmp_path: Path, *, is_back: bool) -> None:
    file = write(tmp_path, "a.txt", "before")
    state = read_state(file)
    assert state is not None
    if is_back:
        file.unlink()
    else:
        file.write_text("by the command")
    left = read_state(file)
    lost = outside_file(file, state.image(), left.image() if left else None)

    def read_while_somebody_writes(digest: Digest) -> bytes:
        assert digest == state.digest
        file.write_text("mine, a moment ago")
        return state.content

    restored, [problem] = restore_outside([lost], read_while_somebody_writes)
    assert (restored, problem.state, file.read_text()) == ((), "conflict", "mine, a moment ago")


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=5), st.integers(0, 400)), max_size=40))
def test_a_half_is_never_more_than_half_and_no_folder_is_in_it_twice(
    folders: list[tuple[list[str], int]],
) -> None:
    known: Known = {"": KnownFolder(mode=0)}
    for parts, files in folders:
        for depth in range(1, len(parts) + 1):
            path, parent = "/".join(parts[:depth]), "/".join(parts[: depth - 1])
            if path not in known:
                known[path] = KnownFolder(mode=0)
                known[parent].folders += (parts[depth - 1],)
        known["/".join(parts)].files = dict.fromkeys(map(str, range(files)), (0, 0, 0, 0, 0))
    half = list(below(known, half_of(known)))
    assert len({path for path, _ in half}) == len(half)
    cost = sum(len(folder.files) + 5 for _, folder in half)
    whole = sum(len(folder.files) + 5 for folder in known.values())
    assert cost <= whole / 2
    left = [sum(len(below_it.files) + 5 for _, below_it in below(known, [name])) for name in known[""].folders]
    assert half or not left or min(left) > whole / 2


def test_a_result_in_pieces_is_the_same_result() -> None:
    signature: Signature = (1, 2, 3, 4, 33_188)
    files: dict[str, Signature] = {f"{number}.txt": signature for number in range(5000)}
    scan = Scan(
        7,
        changed={f"a/{name}": signature for name in files},
        gone=["b"],
        file_count=5000,
        folders_left=3,
        unread={"a/1.txt"},
    )
    scan.listed = {"a": KnownFolder(mode=0, files=files), "c": KnownFolder(mode=0)}
    first, *rest = pieces_of_scan(scan)
    assert len(rest) == 5
    for piece in rest:
        first.add(piece)
    assert first == scan
