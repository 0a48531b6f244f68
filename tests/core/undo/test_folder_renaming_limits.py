"""Renaming folders with failing disks and other programs; renamings and undos in any order."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import AgentError, ToolError
from desktop_agent.core.changes import workspace_files
from desktop_agent.core.changes.folder_moves import look_into
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import digest_of
from tests.faulty_os import in_place_of_os
from tests.harness import Ground, Open
from tests.trees import tree_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it has no such files")

NOTHING = digest_of(b"")


async def move(s: Open, path: str, to: str) -> ev.ChangesRecorded | ev.Notice:
    op = ops.MoveFile(path=path, to=to, expected=NOTHING, is_folder=True)
    said = await s.carry_out(op, (ev.ChangesRecorded, ev.Notice))
    is_failed = isinstance(said, ev.ChangesRecorded) and not said.changes
    return await s.rx.expect(ev.Notice) if is_failed else said


# --- what is against it -------------------------------------------------------------------------------------------

LOOK = """
import subprocess, sys
from pathlib import Path
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.changes.folder_moves import look_into
root = Path(sys.argv[1])
subprocess.run(["mount", *sys.argv[2:], str(root / "src/a disk")], check=True)
try:
    look_into(root, "src")
except AgentError as error:
    print(error.title)
"""
"""Runs in a mount namespace, whose mounts end with it."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets everybody mount something")
@pytest.mark.parametrize("mount", [["--bind", "{}/other"], ["-t", "tmpfs", "none"]])
def test_a_folder_in_which_something_is_mounted_is_not_renamed(ground: Ground, mount: list[str]) -> None:
    """An undo would make folders of the disk's, and empty the disk."""
    ground.write("src/a.txt", "a\n")
    ground.write("other/b.txt", "b\n")
    (ground.workspace / "src/a disk").mkdir()
    command = ["unshare", "--map-root-user", "--mount"]
    tried = subprocess.run(  # noqa: TID251 - the namespace is the point
        [*command, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip("nothing can be mounted here")
    options = [option.format(ground.workspace) for option in mount]
    looked = [*command, sys.executable, "-c", LOOK, str(ground.workspace), *options]
    done = subprocess.run(looked, capture_output=True, text=True, check=True)  # noqa: TID251 - likewise
    assert done.stdout == "src has another disk or folder mounted in it: src/a disk.\n"


async def test_a_folder_is_not_renamed_to_where_what_is_in_it_could_not_be_opened(ground: Ground) -> None:
    folder = ground.workspace / "src"
    while len(os.fsencode(folder)) < os.pathconf("/", "PC_PATH_MAX") - 300:
        folder /= "d" * 100
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    before = tree_of(ground.workspace)
    async with ground.session([]) as s:
        said = await move(s, "src", "long" * 60 + "/" + "long" * 60)
        assert isinstance(said, ev.Notice)
        assert said.title.endswith("is too long: files in src could not be opened at that path.")
    assert tree_of(ground.workspace) == before


async def test_a_name_that_is_too_long_is_said_to_be(ground: Ground) -> None:
    ground.write("src/a.txt", "a\n")
    async with ground.session([]) as s:
        said = await move(s, "src", "n" * 300)
        assert isinstance(said, ev.Notice)
        assert said.title == f"{'n' * 300} is too long a name."


@contextmanager
def as_user(uid: int) -> Generator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("foreign", ["src/deep", "src/deep/a.txt"])
def test_what_belongs_to_another_user_is_not_renamed(foreign: str) -> None:
    """An undo could not remove the file there, or could not restore its owner."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "src/deep").mkdir(parents=True)
        (root / "src/deep/a.txt").write_text("a\n")
        for path in (root, *root.rglob("*")):
            os.chown(path, 12_345, 12_345)
        os.chown(root / foreign, 0, 0)
        with as_user(12_345), pytest.raises(AgentError, match=f"{foreign} belongs to another user"):
            look_into(root, "src")


class Exchanging:
    """The `os` module, with another program that acts right after the first opening of the folder `name`."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = [act]

    def __getattr__(self, name: str) -> object:
        return self._opened if name == "open" else getattr(os, name)

    def _opened(self, path: str, flags: int, *, dir_fd: int | None = None) -> int:
        handle = os.open(path, flags, dir_fd=dir_fd)
        if path == self._name and self._act:
            self._act.pop()()
        return handle


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere folders are not held by a handle")
def test_what_is_moved_is_what_was_looked_at_also_when_the_folder_on_the_way_is_exchanged(ground: Ground) -> None:
    root = ground.workspace
    ground.write("in/src/a.txt", "a\n")
    ledger = Ledger(root, Blobs(ground.paths.blobs))
    contents = look_into(root, "in/src")

    def exchange() -> None:
        (root / "in").rename(root / "out")
        (root / "in").mkdir()
        (root / "out/src").rename(root / "in/src")
        ground.write("out/src/b.txt", "another\n")

    with (
        in_place_of_os(Exchanging("in", exchange), workspace_files),
        pytest.raises(ToolError, match="could not be moved"),
    ):
        ledger.move_folder(contents, "lib")
    assert (ground.read("in/src/a.txt"), ground.read("out/src/b.txt")) == ("a\n", "another\n")


# --- anything ------------------------------------------------------------------------------------------------------

FOLDERS = st.sampled_from(["src", "lib", "pkg", "src/deep", "lib/deep", "pkg/deep", "new/src", "pkg/lib"])
FILES = st.sampled_from(["a.txt", "deep/b.txt", "c.txt", "deep/d.txt"])
STEPS = st.one_of(
    st.tuples(st.just("move"), FOLDERS, FOLDERS),
    st.tuples(st.just("write"), FOLDERS, FILES),
    st.tuples(st.sampled_from(["undo", "redo"]), st.integers(0, 4), st.none()),
    st.tuples(st.sampled_from(["undo all", "redo step"]), st.none(), st.none()),
)
CONCLUDED = (ev.ChangesUndone, ev.ChangesRedone, ev.Notice)


@given(steps=st.lists(STEPS, min_size=2, max_size=12))
def test_nothing_is_lost_whatever_is_renamed_written_and_taken_back(steps: list[tuple[str, object, object]]) -> None:
    async def run(ground: Ground) -> None:
        root = ground.workspace
        for name in ("a.txt", "deep/b.txt"):
            ground.write(f"src/{name}", "".join(f"{name} {number}\n" for number in range(12)))
        before = tree_of(root)
        moves: list[tuple[str, ...]] = []
        written: list[bytes] = [node.content for node in before.values() if node.kind == "file"]
        is_only_moved = True
        async with ground.session([]) as s:
            for number, (what, one, two) in enumerate(steps):
                every = tuple(change_id for ids in moves for change_id in ids)
                if what == "move":
                    said = await move(s, str(one), str(two))
                    if isinstance(said, ev.ChangesRecorded):
                        moves.append(tuple(change.id for change in said.changes))
                elif what == "write":
                    path = root / str(one) / str(two)
                    if path.parent.is_dir():
                        path.write_text((path.read_text() if path.exists() else "") + f"line of step {number}\n")
                        written.append(f"line of step {number}\n".encode())
                        is_only_moved = False
                elif what == "redo step":
                    await s.carry_out(ops.RedoSteps(), CONCLUDED)
                elif every:
                    ids = every if what == "undo all" else moves[int(str(one)) % len(moves)]
                    selection = ChangeSelection(change_ids=ids)
                    undo = ops.UndoChanges(selection=selection, includes_others=True)
                    await s.carry_out(ops.RedoChanges(selection=selection) if what == "redo" else undo, CONCLUDED)
                now = b"".join(node.content for node in tree_of(root).values() if node.kind == "file")
                assert [line for line in written if line not in now] == []
            if is_only_moved and moves:
                every = tuple(change_id for ids in moves for change_id in ids)
                undo = ops.UndoChanges(selection=ChangeSelection(change_ids=every), includes_others=True)
                await s.carry_out(undo, CONCLUDED)
                left = tree_of(root)
                assert {name: left.get(name) for name in before} == before
                assert {left[name].kind for name in left.keys() - before.keys()} <= {"folder"}

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        runner.run(run(Ground(Path(folder))))
