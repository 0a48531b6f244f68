"""Undo and redo of what a command did to files whose names are no text: bytes that are not UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from tests.harness import Ground, Open, check_conversation, left_alone
from tests.trees import tree_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")


def odd(folder: Path, name: bytes) -> Path:
    """The path of a name that is no text."""
    return folder / os.fsdecode(name)


@pytest.fixture(params=["plain", "git"])
def ground(ground: Ground, request: pytest.FixtureRequest) -> Ground:
    """A folder with such names: plain, or a repository in which half of it is committed."""
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


async def run(s: Open) -> ev.TurnEnded:
    ended = await s.prompt()
    check_conversation(s.last_request)
    return ended


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
async def test_an_undo_and_a_redo_are_exact_whatever_the_names(ground: Ground, command: str) -> None:
    before = tree_of(ground.workspace)
    async with ground.session(
        [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]], approval="never"
    ) as s:
        await run(s)
        after = tree_of(ground.workspace)
        assert after != before
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
        assert tree_of(ground.workspace) == before
        assert left_alone(await s.redo_step()) == []
        assert tree_of(ground.workspace) == after
        session = s.id
    async with ground.session([], resume=session) as s:
        await s.undo(ChangeSelection(turn=1))
        assert tree_of(ground.workspace) == before


async def test_a_file_with_such_a_name_is_captured_when_it_was_there_before_the_session(ground: Ground) -> None:
    """Also by a session of another process, which knows of the folder only what was written down."""
    for number in (1, 2):
        before = tree_of(ground.workspace)
        command = f"echo {number} >> ./caf*; rm ./d*/plain.txt"
        async with ground.session(
            [[Call("run_terminal_cmd", {"command": command})], [Say("Done.")]], approval="never"
        ) as s:
            await run(s)
            recorded = s.rx.all(ev.ChangesRecorded)[-1]
            assert recorded.uncaptured == ()
            assert len(recorded.changes) == 2
            await s.undo(ChangeSelection(turn=1))
        assert tree_of(ground.workspace) == before
