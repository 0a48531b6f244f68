"""Undo and redo of what a file has beside its content: extended attributes, ACLs, owner, other names."""

import os
import struct
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.harness import Ground
from tests.trees import Node, tree_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="attributes are read on Linux")

USER, GROUP = 4321, 8765
ACL = struct.pack(
    "<IHHIHHIHHIHHIHHI", 2, 1, 6, 2**32 - 1, 2, 4, USER, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1
)
"""`user::rw-`, `user:4321:r--`, `group::r--`, `mask::r--`, `other::---`."""
IS_ROOT = os.geteuid() == 0

Whole = dict[str, tuple[Node, tuple[int, int], dict[str, bytes]]]


def whole(root: Path) -> Whole:
    """Everything in a folder, with owners and attributes."""
    return {path: (node, *beside(root / path)) for path, node in tree_of(root).items()}


def beside(path: Path) -> tuple[tuple[int, int], dict[str, bytes]]:
    status = path.lstat()
    names = os.listxattr(path, follow_symlinks=False)
    values = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return (status.st_uid, status.st_gid), values


@pytest.fixture
def ground(ground: Ground) -> Ground:
    root = ground.workspace
    ground.write("a", "one\ntwo\n")
    ground.write("b", "one\ntwo\n")
    ground.write("d/f", "f\n")
    (root / "link").symlink_to("a")
    try:
        os.setxattr(root / "a", "user.origin", b"https://example.invalid/\0\xff")
        os.setxattr(root / "d", "user.folder", b"")
        os.setxattr(root / "d/f", "system.posix_acl_access", ACL)
        os.setxattr(root / "d", "system.posix_acl_default", ACL)
    except OSError:
        pytest.skip("this file system has no attributes")
    if IS_ROOT:
        os.chown(root / "b", USER, GROUP)
        (root / "b").chmod(0o4755)
        os.chown(root / "d", USER, GROUP)
        os.lchown(root / "link", USER, GROUP)
    return ground


XATTR = "python3 -c 'import os; {}'"
COMMANDS = {
    "deleted": "rm a b link",
    "a folder deleted": "rm -r d",
    "edited by another file": "sed 's/two/2/' a > t; mv t a; cp b t; echo more >> t; mv t b",
    "replaced by a link": "rm a; ln -s b a",
    "replaced by a folder": "rm a; mkdir a; echo > a/x",
    "replaced by a pipe": "rm b; mkfifo b",
    "moved": "mv a c; mv d e",
    "moved and edited": "mv a c; echo more >> c",
    "everything": "rm -rf ./*",
}
BESIDE = {
    "an attribute set": XATTR.format('os.setxattr("b", "user.new", b"1")'),
    "an attribute changed": XATTR.format('os.setxattr("a", "user.origin", b"1")'),
    "an attribute removed": XATTR.format('os.removexattr("a", "user.origin")'),
    "an attribute of a folder": XATTR.format('os.setxattr("d", "user.folder", b"2")'),
    "an attribute and the content": XATTR.format('os.setxattr("a", "user.origin", b"1")') + "; echo more >> a",
    "an ACL removed": XATTR.format('os.removexattr("d/f", "system.posix_acl_access")'),
    "owners": "chown 7:8 a; chown 7:8 d; chown -h 7:8 link; chown 7:8 b",
}


@pytest.mark.parametrize("command", [*COMMANDS.values(), *BESIDE.values()], ids=[*COMMANDS, *BESIDE])
async def test_an_undo_and_a_redo_bring_all_of_it_back(ground: Ground, command: str) -> None:
    if not IS_ROOT and "chown" in command:
        pytest.skip("only root gives files away")
    before = whole(ground.workspace)
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]]
    async with ground.session(script, sandbox="none") as s:  # the sandbox keeps commands from some of it
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        await s.rx.expect(ev.TurnEnded)
        after = whole(ground.workspace)
        assert after != before
        assert s.rx.all(ev.ChangesRecorded)[-1].uncaptured == ()
        for _ in range(2):
            undone = await s.undo(ChangeSelection(turn=1))
            assert [(one.is_done, one.reason) for one in undone.outcomes if not one.is_done or one.reason] == []
            assert whole(ground.workspace) == before
            redone = await s.redo_step()
            assert [(one.is_done, one.reason) for one in redone.outcomes if not one.is_done or one.reason] == []
            assert whole(ground.workspace) == after


async def test_an_edit_tool_and_its_undo_leave_it_as_it_is(ground: Ground) -> None:
    before = whole(ground.workspace)
    edit = Call("edit_file", {"path": "a", "old_str": "two", "new_str": "2"})
    async with ground.after([edit, Call("delete_file", {"path": "b"})]) as s:
        assert beside(ground.workspace / "a") == before["a"][1:]
        await s.undo(ChangeSelection(turn=1))
    assert whole(ground.workspace) == before


async def test_what_the_user_gave_a_file_since_stays(ground: Ground) -> None:
    command = "sed s/two/2/ a > t; mv t a; echo more >> d/f"
    async with ground.after([Call("run_terminal_cmd", {"command": command})]) as s:
        for path in ("a", "d/f"):
            os.setxattr(ground.workspace / path, "user.mine", b"1")
        outcomes = {one.path: one for one in (await s.undo(ChangeSelection(turn=1))).outcomes}
    assert {path: ("left alone" in one.reason, one.is_done) for path, one in outcomes.items()} == {
        "a": (True, True),
        "d/f": (False, True),
    }
    assert (ground.read("a"), ground.read("d/f")) == ("one\ntwo\n", "f\n")
    assert beside(ground.workspace / "a")[1] == {"user.mine": b"1"}
    assert beside(ground.workspace / "d/f")[1] == {"user.mine": b"1", "system.posix_acl_access": ACL}


async def test_what_the_system_does_not_give_back_is_named(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    async with ground.after([Call("run_terminal_cmd", {"command": "rm a b"})]) as s:
        monkeypatch.setattr(os, "lchown", refused)
        monkeypatch.setattr(os, "setxattr", refused)
        outcomes = {one.path: one for one in (await s.undo(ChangeSelection(turn=1))).outcomes}
    assert "the attribute user.origin" in outcomes["a"].reason
    assert outcomes["a"].is_done
    assert not IS_ROOT or f"its owner ({USER}:{GROUP})" in outcomes["b"].reason


async def test_an_undo_that_breaks_a_link_to_a_file_elsewhere_says_so(ground: Ground, tmp_path: Path) -> None:
    os.link(ground.write("one", "same\n"), tmp_path / "elsewhere")
    async with ground.after([Call("run_terminal_cmd", {"command": "echo more >> one"})]) as s:
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert (outcome.state, "hard link" in outcome.reason) == ("restored", True)
    assert ground.read("one") == "same\n"
    assert (tmp_path / "elsewhere").read_text() == "same\nmore\n"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("rm one", ["one"]),
        ("sed -i s/same/other/ one", ["one"]),
        ("mv one three", ["one", "three"]),
        ("ln one three", ["three"]),
        ("echo more >> one", []),
    ],
)
async def test_other_names_that_no_undo_brings_back_are_named(ground: Ground, command: str, paths: list[str]) -> None:
    os.link(ground.write("one", "same\n"), ground.workspace / "two")
    async with ground.after([Call("run_terminal_cmd", {"command": command})]) as s:
        (recorded,) = s.rx.all(ev.ChangesRecorded)
        await s.undo(ChangeSelection(turn=1))
    assert sorted(item.path for item in recorded.uncaptured) == paths
    assert all("hard link" in item.reason for item in recorded.uncaptured)
    assert ground.read("one") == ground.read("two") == "same\n"
