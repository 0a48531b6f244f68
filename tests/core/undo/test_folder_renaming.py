"""Renaming a folder: it moves whole, comes back whole, and is refused if it could not."""

import asyncio
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.changes import folder_moves, workspace_files
from desktop_agent.core.changes.folder_moves import look_into
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system import staged_file
from desktop_agent.core.system.files import digest_of
from tests.faulty_os import in_place_of_os
from tests.harness import Ground, Open, left_alone
from tests.trees import tree_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it has no such files")

NOTHING = digest_of(b"")


def move(s: Open, path: str, to: str) -> None:
    s.submit(ops.MoveFile(path=path, to=to, expected=NOTHING, is_folder=True))


async def moved(s: Open, path: str, to: str) -> tuple[str, ...]:
    move(s, path, to)
    changes = (await s.rx.expect(ev.ChangesRecorded)).changes
    assert {change.author for change in changes} == {"person"}
    return tuple(change.id for change in changes)


def fill(ground: Ground) -> None:
    root = ground.workspace
    ground.write("src/a.txt", b"one\r\n\xff\0two")
    ground.write("src/run.sh", "#!/bin/sh\n").chmod(0o755)
    ground.write("src/.gitignore", "*.log\n")
    ground.write("src/x.log", "ignored\n")
    ground.write("src/deep/er/b.txt", "b\n")
    ground.write("src/deep/empty.txt", "")
    (root / "src/nothing/in it").mkdir(parents=True)
    (root / "src/nothing").chmod(0o700)
    (root / "src/link").symlink_to("../other/o")
    (root / "src/dangling").symlink_to("nowhere")
    (root / "src/self").symlink_to("deep")
    os.mkfifo(root / "src/pipe", 0o640)
    ground.write("other/o", "o\n")


@pytest.mark.parametrize("to", ["lib", "SRC", "other/src", "new/deep/lib"])
async def test_it_goes_and_comes_back_as_it_was(ground: Ground, to: str) -> None:
    fill(ground)
    before = tree_of(ground.workspace)
    async with ground.session([]) as s:
        ids = await moved(s, "src", to)
        after = tree_of(ground.workspace)
        names = {name: node for name, node in before.items() if name.split("/")[0] == "src"}
        assert {name: after[f"{to}{name.removeprefix('src')}"] for name in names} == names
        assert not (ground.workspace / "src").exists()
        for _ in range(2):
            assert left_alone(await s.undo(ChangeSelection(change_ids=ids))) == []
            assert tree_of(ground.workspace) == before
            assert left_alone(await s.redo_step()) == []
            assert tree_of(ground.workspace) == after


async def test_its_files_are_the_same_files(ground: Ground) -> None:
    """One rename moves all files, so that a program with an open file goes on writing to it."""
    fill(ground)
    inode = (ground.workspace / "src/a.txt").stat().st_ino
    async with ground.session([]) as s:
        await moved(s, "src", "lib")
    assert (ground.workspace / "lib/a.txt").stat().st_ino == inode


def linked(root: Path) -> None:
    os.link(root / "src/a.txt", root / "twin")


def repository(root: Path) -> None:
    (root / "src/deep/.git").mkdir()


def submodule(root: Path) -> None:
    (root / "src/deep/.git").write_text("gitdir: ../../.git/modules/deep\n")


def sealed(root: Path) -> None:
    (root / "src/deep").chmod(0o555)


def inner_link(root: Path) -> None:
    (root / "out").symlink_to(root.parent)


def nothing(_root: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("path", "to", "prepare", "said"),
    [
        ("src", "other", nothing, "There is already a other."),
        ("src", "other/o", nothing, "There is already a other/o."),
        ("src", "src/deep/src", nothing, "src cannot be moved into itself."),
        ("src", "../src", nothing, "../src is not in the folder of this conversation."),
        ("src", "out/src", inner_link, "out/src is not in the folder of this conversation."),
        ("src", "lib/", nothing, "lib/ is not in the folder of this conversation."),
        (".", "lib", nothing, ". is not in the folder of this conversation."),
        ("", "lib", nothing, " is not in the folder of this conversation."),
        ("gone", "lib", nothing, "gone was changed in the meantime."),
        ("src/deep/empty.txt", "lib", nothing, "src/deep/empty.txt has become a file."),
        (".git", "git", nothing, ".git belongs to git."),
        ("src", ".git/src", nothing, ".git/src belongs to git."),
        ("src", "other/o/src", nothing, "src was not renamed."),
        ("src", "lib", linked, "src/a.txt is hard-linked, and an undo would break the link."),
        ("src", "lib", repository, "src has a git repository in it: src/deep/.git."),
        ("src", "lib", submodule, "src has a git repository in it: src/deep/.git."),
        ("src", "lib", sealed, "src/deep is not writable, so an undo could not restore its contents."),
    ],
)
async def test_what_could_not_be_taken_back_is_refused_and_nothing_is_moved(
    ground: Ground, path: str, to: str, prepare: Callable[[Path], None], said: str
) -> None:
    fill(ground)
    (ground.workspace / ".git").mkdir(exist_ok=True)
    prepare(ground.workspace)
    before = tree_of(ground.workspace)
    async with ground.session([]) as s:
        move(s, path, to)
        notice = await s.rx.expect(ev.Notice)
        assert (notice.code, notice.title) == ("not_written", said)
        assert "Nothing was" in notice.hint or "Nothing was changed" in notice.hint
        assert s.session.transcript.changes == {}
    assert tree_of(ground.workspace) == before
    assert (ground.workspace / ".git").is_dir()


# --- what else was changed in it ----------------------------------------------------------------------------------


EDIT = Call("edit_file", {"path": "src/a.py", "old_str": "x = 1", "new_str": "x = 2"})


async def test_what_the_agent_changed_in_it_is_reviewed_and_undone_where_it_is_now(ground: Ground) -> None:
    ground.write("src/a.py", "x = 1\r\n")
    ground.write("src/b.py", "b\n")
    async with ground.after([EDIT]) as s:
        ids = await moved(s, "src", "lib")
        rows = net_changes(list(s.session.transcript.changes.values()))
        assert [(row.path, row.authors) for row in rows] == [
            *(("src/a.py", ("agent",)), ("lib", ("person",)), ("lib/b.py", ("person",)), ("src", ("person",)))
        ]
        undone = await s.undo(ChangeSelection(turn=1, call_id=s.session.transcript.changes["1.1"].call_id))
        assert [(one.path, one.state) for one in undone.outcomes] == [("lib/a.py", "restored")]
        assert ground.read("lib/a.py") == "x = 1\r\n"
        await s.redo_step()
        await s.undo(ChangeSelection(change_ids=ids))
        assert (ground.read("src/a.py"), ground.read("src/b.py")) == ("x = 2\r\n", "b\n")
        assert not (ground.workspace / "lib").exists()


async def test_a_file_that_the_agent_made_in_it_says_where_it_is_and_goes_when_the_renaming_is_undone(
    ground: Ground,
) -> None:
    ground.write("src/a.py", "x = 1\r\n")
    before = tree_of(ground.workspace)
    made = Call("create_file", {"path": "src/sub/new.py", "content": "new\n"})
    async with ground.after([EDIT, made]) as s:
        ids = await moved(s, "src", "lib")
        undone = await s.undo()
        (left,) = left_alone(undone)
        assert (left.path, left.state) == ("src/sub/new.py", "conflict")
        assert left.reason == "It was renamed to lib/sub/new.py since. Undo that first."
        assert ground.read("lib/sub/new.py") == "new\n"
        await s.undo(ChangeSelection(change_ids=ids))
        await s.undo()
        assert tree_of(ground.workspace) == before


async def test_a_command_that_runs_next_is_not_held_for_the_renaming(ground: Ground) -> None:
    fill(ground)
    first = Call("run_terminal_cmd", {"command": "echo more >> src/a.txt"})
    second = Call("run_terminal_cmd", {"command": "echo more >> lib/deep/er/b.txt"})
    script = [[first], [Say("Done.")], [second], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        await moved(s, "src", "lib")
        await s.prompt()
        by_shell = [record.change.path for record in s.session.transcript.changes.values() if record.change.is_by_agent]
        assert by_shell == ["src/a.txt", "lib/deep/er/b.txt"]
        await s.undo()
        assert ground.read("lib/deep/er/b.txt") == "b\n"
        assert (ground.workspace / "lib/a.txt").read_bytes() == b"one\r\n\xff\0two"


async def test_what_is_written_at_the_new_place_since_goes_back_with_it_or_is_kept_there(ground: Ground) -> None:
    ground.write("src/a.txt", "".join(f"line {number}\n" for number in range(20)))
    ground.write("src/b.txt", "b\n")
    async with ground.session([]) as s:
        ids = await moved(s, "src", "lib")
        ground.write("lib/a.txt", ground.read("lib/a.txt") + "mine\n")
        ground.write("lib/new.txt", "new\n")
        undone = await s.undo(ChangeSelection(change_ids=ids))
        assert ground.read("src/a.txt").endswith("line 19\nmine\n")
        assert ground.read("src/b.txt") == "b\n"
        assert tree_of(ground.workspace).keys() == {"src", "src/a.txt", "src/b.txt", "lib", "lib/new.txt"}
        assert [(one.path, one.state) for one in left_alone(undone)] == [("lib", "conflict")]


async def test_a_renaming_of_a_folder_that_was_renamed_again_is_undone_after_that_one_and_leaves_nothing(
    ground: Ground,
) -> None:
    fill(ground)
    before = tree_of(ground.workspace)
    async with ground.session([]) as s:
        first = await moved(s, "src", "lib")
        second = await moved(s, "lib", "pkg")
        renamed = tree_of(ground.workspace)
        undone = await s.undo(ChangeSelection(change_ids=first))
        assert {one.state for one in undone.outcomes} == {"conflict"}
        assert tree_of(ground.workspace) == renamed
        for ids in (second, first):
            assert left_alone(await s.undo(ChangeSelection(change_ids=ids))) == []
        assert tree_of(ground.workspace) == before


async def test_a_folder_that_comes_into_its_old_place_since_is_left_alone(ground: Ground) -> None:
    ground.write("src/a.txt", "a\n")
    async with ground.session([]) as s:
        ids = await moved(s, "src", "lib")
        ground.write("src/a.txt", "another\n")
        undone = await s.undo(ChangeSelection(change_ids=ids))
        assert {one.path for one in undone.outcomes if not one.is_done} >= {"src/a.txt", "lib/a.txt"}
        assert (ground.read("src/a.txt"), ground.read("lib/a.txt")) == ("another\n", "a\n")


# --- what comes in between ----------------------------------------------------------------------------------------


def written(root: Path) -> None:
    (root / "src/a.txt").write_text("another\n")


def added(root: Path) -> None:
    (root / "src/deep/new").write_text("")


def gone(root: Path) -> None:
    (root / "src/x.log").unlink()


def closed(root: Path) -> None:
    (root / "src/nothing").chmod(0o755)


def taken(root: Path) -> None:
    (root / "new/lib").mkdir(parents=True)


def exchanged(root: Path) -> None:
    (root / "src").rename(root / "old")
    (root / "src").symlink_to("old")


@pytest.mark.parametrize("change", [written, added, gone, closed, taken, exchanged])
def test_what_is_not_as_it_was_looked_at_is_not_moved(ground: Ground, change: Callable[[Path], None]) -> None:
    fill(ground)
    ledger = Ledger(ground.workspace, Blobs(ground.paths.blobs))
    contents = look_into(ground.workspace, "src")
    change(ground.workspace)
    before = tree_of(ground.workspace)
    with pytest.raises(ToolError, match="src could not be moved"):
        ledger.move_folder(contents, "new/lib")
    assert tree_of(ground.workspace) == before


class FailingOs:
    """The `os` module, whose n-th call on a folder fails."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        return self._counted(real) if name in ("open", "fstat", "mkdir", "lstat", "scandir", "fsync") else real

    def _counted(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*args, **kwargs)

        return call


def test_whatever_fails_it_is_whole_at_one_place(ground: Ground) -> None:
    fill(ground)
    ledger = Ledger(ground.workspace, Blobs(ground.paths.blobs))
    before = tree_of(ground.workspace)
    for nth in range(1, 1_000):
        failing = FailingOs(nth)
        contents = look_into(ground.workspace, "src")
        try:
            with in_place_of_os(failing, folder_moves, workspace_files, staged_file):
                ledger.move_folder(contents, "new/lib")
        except ToolError:
            assert tree_of(ground.workspace) == before
            continue
        (ground.workspace / "new/lib").rename(ground.workspace / "src")
        (ground.workspace / "new").rmdir()
        assert tree_of(ground.workspace) == before
        if failing.left > 0:
            assert nth > 20
            return
    pytest.fail("it never comes to its end")


@pytest.mark.parametrize("is_moved", [False, True])
async def test_a_kill_before_the_record_leaves_it_whole_and_on_record_if_it_was_moved(
    ground: Ground, is_moved: bool
) -> None:
    fill(ground)
    before = tree_of(ground.workspace)
    async with ground.session([]) as s:
        await moved(s, "src", "new/lib")
        session_id = s.id
    if not is_moved:  # its new parent had been made
        (ground.workspace / "new/lib").rename(ground.workspace / "src")
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if b"changes_prepared" in line)
    journal.write_bytes(b"".join(lines[: cut + 1]))
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.prompt()
        assert bool(s.session.transcript.changes) == is_moved
        if is_moved:
            await s.undo(ChangeSelection(change_ids=tuple(s.session.transcript.changes)))
        assert tree_of(ground.workspace) == before


# --- anything ------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "é", "e\u0301", ".c", "d d", "\udcff"])
LEAVES = st.one_of(
    st.tuples(st.binary(max_size=40), st.sampled_from([0o644, 0o600, 0o755, 0o444])),
    st.sampled_from(["a", "../x", "/nowhere"]),
)
TREES = st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12)


def build(path: Path, what: object) -> None:
    match what:
        case dict():
            path.mkdir()
            for name, inner in cast("dict[str, object]", what).items():
                build(path / name, inner)
        case (bytes() as content, int() as mode):
            path.write_bytes(content)
            path.chmod(mode)
        case _:
            path.symlink_to(str(what))


@given(inside=st.dictionaries(NAMES, TREES, max_size=4), to=st.sampled_from(["z", "y/src", "y/x/z"]))
def test_any_folder_comes_back_as_it_was(inside: dict[str, object], to: str) -> None:
    async def there_and_back(ground: Ground) -> None:
        build(ground.workspace / "src", inside)
        before = tree_of(ground.workspace)
        async with ground.session([]) as s:
            ids = await moved(s, "src", to)
            after = tree_of(ground.workspace)
            assert {name.removeprefix(to) for name in after if name.startswith(to)} == {
                name.removeprefix("src") for name in before
            }
            assert left_alone(await s.undo(ChangeSelection(change_ids=ids))) == []
            assert tree_of(ground.workspace) == before
            await s.redo_step()
            assert tree_of(ground.workspace) == after

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        runner.run(there_and_back(Ground(Path(folder))))
