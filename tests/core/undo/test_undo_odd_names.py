"""Undo and redo of files with names that are no text, and of attributes and owners."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.harness import Ground, check_conversation, left_alone
from tests.trees import Node, tree_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")


def odd(folder: Path, name: bytes) -> Path:
    return folder / os.fsdecode(name)


@pytest.fixture(params=["plain", "git"])
def odd_names(ground: Ground, request: pytest.FixtureRequest) -> Ground:
    root = ground.workspace
    odd(root, b"\xff.x").write_bytes(b"one\ntwo\n")
    odd(root, b"caf\xe9.txt").write_bytes(b"latin\n")
    odd(root, b"link-\xfe").symlink_to(os.fsdecode(b"caf\xe9.txt"))
    odd(root, b"d\xf0/deep\x80").mkdir(parents=True)
    odd(root, b"d\xf0/plain.txt").write_bytes(b"in an odd folder\n")
    odd(root, b"d\xf0/deep\x80/\xc3\x28").write_bytes(b"\0binary\xff")
    (root / "plain.txt").write_bytes(b"plain\n")
    if request.param == "git":
        commit = "git -c user.name=a -c user.email=b commit -qm first"
        line = f"git init -q && git add plain.txt ./d* ./caf* && {commit}"
        subprocess.run(["sh", "-c", line], cwd=root, check=True)  # noqa: TID251 - git
    return ground


COMMANDS = {
    "deleted": "rm ./*.x",
    "edited": "sed -i s/two/2/ ./*.x; echo more >> ./caf*",
    "replaced": "rm ./*.x; mkdir ./$(printf '\\377').x; echo inner > ./$(printf '\\377').x/f",
    "moved": "mv ./*.x ./$(printf 'new\\376').y",
    "moved to a name that is text": "mv ./*.x text.y",
    "moved from a name that is text": "mv plain.txt ./$(printf 'p\\376')",
    "created": "echo made > ./$(printf 'made\\377'); ln -s x ./$(printf 'l\\377')",
    "a folder deleted": "rm -r ./d*",
    "a folder moved": "mv ./d* elsewhere",
    "in a folder": "rm ./d*/plain.txt; echo x > ./d*/new; rm -r ./d*/deep*",
    "mode": "chmod 755 ./*.x; chmod 700 ./d*",
    "a folder made": "mkdir -p ./$(printf 'a\\377/b\\376'); echo x > ./$(printf 'a\\377/b\\376/c\\375')",
    "a link": "rm ./link*; ln -s elsewhere ./$(printf 'link-\\376')",
    "everything": "rm -rf ./*",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.sampled(2, "odd_names", "command")
async def test_an_undo_and_a_redo_are_exact_whatever_the_names(odd_names: Ground, command: str) -> None:
    before = tree_of(odd_names.workspace)
    async with odd_names.after([Call("run_terminal_cmd", {"command": command})]) as s:
        check_conversation(s.last_request)
        after = tree_of(odd_names.workspace)
        assert after != before
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
        assert tree_of(odd_names.workspace) == before
        assert left_alone(await s.redo_step()) == []
        assert tree_of(odd_names.workspace) == after
        session = s.id
    async with odd_names.session([], resume=session) as s:
        await s.undo(ChangeSelection(turn=1))
        assert tree_of(odd_names.workspace) == before


async def test_a_file_with_such_a_name_is_captured_when_it_was_there_before_the_session(odd_names: Ground) -> None:
    """This also holds for another process's session, which knows the folder only from the cache."""
    for number in (1, 2):
        before = tree_of(odd_names.workspace)
        command = f"echo {number} >> ./caf*; rm ./d*/plain.txt"
        async with odd_names.after([Call("run_terminal_cmd", {"command": command})]) as s:
            check_conversation(s.last_request)
            recorded = s.rx.all(ev.ChangesRecorded)[-1]
            assert recorded.uncaptured == ()
            assert len(recorded.changes) == 2
            await s.undo(ChangeSelection(turn=1))
        assert tree_of(odd_names.workspace) == before


USER, GROUP = 4321, 8765
ACL = struct.pack(
    "<IHHIHHIHHIHHIHHI", 2, 1, 6, 2**32 - 1, 2, 4, USER, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1
)
"""`user::rw-`, `user:4321:r--`, `group::r--`, `mask::r--`, `other::---`."""
IS_ROOT = os.geteuid() == 0

Whole = dict[str, tuple[Node, tuple[int, int], dict[str, bytes]]]


def whole(root: Path) -> Whole:
    return {path: (node, *beside(root / path)) for path, node in tree_of(root).items()}


def beside(path: Path) -> tuple[tuple[int, int], dict[str, bytes]]:
    status = path.lstat()
    names = os.listxattr(path, follow_symlinks=False)
    values = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return (status.st_uid, status.st_gid), values


@pytest.fixture
def beside_content(ground: Ground) -> Ground:
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
REPLACING = {
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


@pytest.mark.parametrize("command", [*REPLACING.values(), *BESIDE.values()], ids=[*REPLACING, *BESIDE])
async def test_an_undo_and_a_redo_bring_all_of_it_back(beside_content: Ground, command: str) -> None:
    if not IS_ROOT and "chown" in command:
        pytest.skip("only root gives files away")
    before = whole(beside_content.workspace)
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]]
    async with beside_content.session(script, sandbox="none") as s:  # the sandbox keeps commands from some of it
        await s.turn()
        after = whole(beside_content.workspace)
        assert after != before
        assert s.rx.all(ev.ChangesRecorded)[-1].uncaptured == ()
        for _ in range(2):
            assert remarks(await s.undo(ChangeSelection(turn=1))) == []
            assert whole(beside_content.workspace) == before
            assert remarks(await s.redo_step()) == []
            assert whole(beside_content.workspace) == after


def remarks(event: ev.ChangesUndone | ev.ChangesRedone) -> list[FileOutcome]:
    return [outcome for outcome in event.outcomes if not outcome.is_done or outcome.reason]


async def test_an_edit_tool_and_its_undo_leave_it_as_it_is(beside_content: Ground) -> None:
    before = whole(beside_content.workspace)
    edit = Call("edit_file", {"path": "a", "old_str": "two", "new_str": "2"})
    async with beside_content.after([edit, Call("delete_file", {"path": "b"})]) as s:
        assert beside(beside_content.workspace / "a") == before["a"][1:]
        await s.undo(ChangeSelection(turn=1))
    assert whole(beside_content.workspace) == before


async def test_what_the_user_gave_a_file_since_stays(beside_content: Ground) -> None:
    command = "sed s/two/2/ a > t; mv t a; echo more >> d/f"
    async with beside_content.after([Call("run_terminal_cmd", {"command": command})]) as s:
        for path in ("a", "d/f"):
            os.setxattr(beside_content.workspace / path, "user.mine", b"1")
        outcomes = {one.path: one for one in (await s.undo(ChangeSelection(turn=1))).outcomes}
    assert {path: ("left alone" in one.reason, one.is_done) for path, one in outcomes.items()} == {
        "a": (True, True),
        "d/f": (False, True),
    }
    assert (beside_content.read("a"), beside_content.read("d/f")) == ("one\ntwo\n", "f\n")
    assert beside(beside_content.workspace / "a")[1] == {"user.mine": b"1"}
    assert beside(beside_content.workspace / "d/f")[1] == {"user.mine": b"1", "system.posix_acl_access": ACL}


async def test_what_the_system_does_not_give_back_is_named(
    beside_content: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    async with beside_content.after([Call("run_terminal_cmd", {"command": "rm a b"})]) as s:
        monkeypatch.setattr(os, "lchown", refused)
        monkeypatch.setattr(os, "setxattr", refused)
        outcomes = {one.path: one for one in (await s.undo(ChangeSelection(turn=1))).outcomes}
    assert "the attribute user.origin" in outcomes["a"].reason
    assert outcomes["a"].is_done
    assert not IS_ROOT or f"its owner ({USER}:{GROUP})" in outcomes["b"].reason


async def test_an_undo_that_breaks_a_link_to_a_file_elsewhere_says_so(beside_content: Ground, tmp_path: Path) -> None:
    os.link(beside_content.write("one", "same\n"), tmp_path / "elsewhere")
    async with beside_content.after([Call("run_terminal_cmd", {"command": "echo more >> one"})]) as s:
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert (outcome.state, "hard link" in outcome.reason) == ("restored", True)
    assert beside_content.read("one") == "same\n"
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
async def test_other_names_that_no_undo_brings_back_are_named(
    beside_content: Ground, command: str, paths: list[str]
) -> None:
    os.link(beside_content.write("one", "same\n"), beside_content.workspace / "two")
    async with beside_content.after([Call("run_terminal_cmd", {"command": command})]) as s:
        (recorded,) = s.rx.all(ev.ChangesRecorded)
        await s.undo(ChangeSelection(turn=1))
    assert sorted(item.path for item in recorded.uncaptured) == paths
    assert all("hard link" in item.reason for item in recorded.uncaptured)
    assert beside_content.read("one") == beside_content.read("two") == "same\n"
