"""Undoing differences from git: recorded, redone exactly, with a question about changes of others."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.app.git_review import GitReview
from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import CommittedFile, FileChange, Share
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from tests.harness import Ground, Open, with_lines_changed
from tests.trees import tree_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LINES = [f"line {number}\n" for number in range(60)]
text_with = partial(with_lines_changed, LINES)
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def edit(path: str, content: str) -> Call:
    return Call("create_file", {"path": path, "content": content, "if_exists": "overwrite"})


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ground")
    ground.write("a.txt", "".join(LINES))
    ground.write("notes.md", "one\n")
    git(ground, "init", "-q", "-b", "main")
    commit(ground)
    return ground


def git(ground: Ground, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ground.workspace, env=os.environ | WHO, text=True)


def commit(ground: Ground) -> None:
    git(ground, "add", "-A")
    git(ground, "commit", "-qm", "c", "--allow-empty")


def files(ground: Ground) -> dict[str, object]:
    return {path: what for path, what in tree_of(ground.workspace).items() if not path.startswith(".git")}


class Look:
    def __init__(self, ground: Ground) -> None:
        self.folder = str(ground.workspace)
        self.git = GitReview(Comparer())
        self.source = BlobDiffs(Blobs(ground.paths.blobs))

    async def changes(self) -> dict[str, FileChange]:
        return {change.path: change for change in await self.git.changes(self.folder, "")}

    async def committed(self, *paths: str) -> tuple[CommittedFile, ...]:
        found = await self.changes()
        return tuple([await self.git.committed(self.folder, found[path]) for path in paths or found])

    async def hunks(self, path: str) -> Sequence[str]:
        return all_keys(await self.git.diff(self.folder, (await self.changes())[path]))

    async def shares(self, s: Open, path: str, hunks: Sequence[str] = ()) -> dict[str, tuple[int, int]]:
        (file,) = await self.committed(path)
        found = await self.source.shares(self.folder, file, list(s.session.transcript.changes.values()), hunks)
        return {share.owner: (share.added, share.removed) for share in found}


async def undo(
    s: Open, files: Sequence[CommittedFile], hunks: Sequence[str] = (), *, includes_others: bool = False
) -> ev.ChangesUndone:
    s.submit(ops.UndoDifferences(files=tuple(files), hunks=tuple(hunks), includes_others=includes_others))
    return await s.rx.expect(ev.ChangesUndone)


async def redo(s: Open) -> ev.ChangesRedone:
    return await s.carry_out(ops.RedoSteps(), ev.ChangesRedone)


def states(event: ev.ChangesUndone | ev.ChangesRedone) -> dict[str, str]:
    return {outcome.path: outcome.state for outcome in event.outcomes}


MINE = text_with(line_50="fifty, by me\n")
BOTH = text_with(line_5="five\n", line_50="fifty, by me\n")
ONE_TURN: list[Reply] = [[edit("a.txt", BOTH)], [Say("one")]]


async def test_what_the_user_changed_is_left_alone_unless_the_undo_includes_it(ground: Ground) -> None:
    ground.write("notes.md", "one\ntwo, by me\n")
    ground.write("new.txt", "mine\n")
    before = files(ground)
    async with ground.session([], approval="never") as s:
        done = await undo(s, await Look(ground).committed())
        assert (states(done), files(ground)) == ({"new.txt": "conflict", "notes.md": "conflict"}, before)
        assert all("agent did not make" in outcome.reason for outcome in done.outcomes)
        assert not s.session.transcript.changed.steps


async def test_an_undo_of_what_only_the_user_changed_is_redone_exactly_in_a_session_without_turns_and_after_a_restart(
    ground: Ground,
) -> None:
    start = files(ground)
    ground.write("notes.md", b"one\r\ntwo\xff\r\n")
    ground.write("deep/new.bin", b"\0\1")
    (ground.workspace / "a.txt").unlink()
    (ground.workspace / "link").symlink_to("notes.md")
    before = files(ground)
    async with ground.session([], approval="never") as s:
        await undo(s, await Look(ground).committed(), includes_others=True)
        assert files(ground) == start
        await redo(s)
        assert files(ground) == before
        await undo(s, await Look(ground).committed(), includes_others=True)
        session = s.id
    async with ground.session([], resume=session) as s:
        assert files(ground) == start
        await redo(s)
        assert files(ground) == before
        assert not s.session.transcript.changed.steps


async def test_only_the_agents_part_of_a_file_goes_and_the_users_stays(ground: Ground) -> None:
    ground.write("a.txt", MINE)
    async with ground.session(ONE_TURN, approval="never") as s:
        await s.prompt()
        look = Look(ground)
        assert await look.shares(s, "a.txt") == {"agent": (1, 1), "person": (1, 1)}
        done = await undo(s, await look.committed("a.txt"))
        assert (states(done), ground.read("a.txt")) == ({"a.txt": "restored"}, MINE)
        await redo(s)
        assert ground.read("a.txt") == BOTH


async def test_all_of_a_file_that_both_changed_goes_back_to_the_commit_and_comes_again(ground: Ground) -> None:
    ground.write("a.txt", MINE)
    async with ground.session(ONE_TURN, approval="never") as s:
        await s.prompt()
        later = BOTH + "and after the agent, by me\n"
        ground.write("a.txt", later)
        await undo(s, await Look(ground).committed("a.txt"), includes_others=True)
        assert ground.read("a.txt") == "".join(LINES)
        await redo(s)
        assert ground.read("a.txt") == later
        await s.carry_out(ops.UndoChanges(selection=ops.ChangeSelection()), ev.ChangesUndone)
        assert ground.read("a.txt") == MINE + "and after the agent, by me\n"


async def test_what_came_before_the_first_change_goes_on_record_also_after_earlier_undos(ground: Ground) -> None:
    ground.write("a.txt", MINE)
    async with ground.session(ONE_TURN, approval="never") as s:
        await s.prompt()
        agents = ops.UndoChanges(selection=ops.ChangeSelection())
        for _ in range(2):
            s.submit(agents)
            await s.rx.expect(ev.ChangesUndone)
            await redo(s)
        await undo(s, await Look(ground).committed("a.txt"), includes_others=True)
        assert ground.read("a.txt") == "".join(LINES)
        await redo(s)
        assert ground.read("a.txt") == BOTH
        s.submit(agents)
        await s.rx.expect(ev.ChangesUndone)
        assert ground.read("a.txt") == MINE
        session = s.id
    async with ground.session([], resume=session) as s:
        await undo(s, await Look(ground).committed("a.txt"), includes_others=True)
        assert ground.read("a.txt") == "".join(LINES)
        await redo(s)
        assert ground.read("a.txt") == MINE
        await redo(s)
        assert ground.read("a.txt") == BOTH


async def test_what_was_committed_in_between_is_not_undone(ground: Ground) -> None:
    script: list[Reply] = [
        [edit("a.txt", text_with(line_5="five\n"))],
        [Say("one")],
        [edit("a.txt", text_with(line_5="five\n", line_30="thirty\n"))],
        [Say("two")],
    ]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        commit(ground)
        await s.prompt()
        look = Look(ground)
        assert await look.shares(s, "a.txt") == {"agent": (1, 1)}
        await undo(s, await look.committed("a.txt"))
        assert ground.read("a.txt") == text_with(line_5="five\n")
        await redo(s)
        assert ground.read("a.txt") == text_with(line_5="five\n", line_30="thirty\n")


async def test_of_a_change_of_which_a_hunk_was_committed_only_the_other_goes(ground: Ground) -> None:
    script: list[Reply] = [[edit("a.txt", text_with(line_5="five\n", line_50="fifty\n"))], [Say("one")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        ground.write("a.txt", text_with(line_5="five\n"))
        commit(ground)
        ground.write("a.txt", text_with(line_5="five\n", line_50="fifty\n"))
        look = Look(ground)
        assert await look.shares(s, "a.txt") == {"agent": (1, 1)}
        await undo(s, await look.committed("a.txt"))
        assert ground.read("a.txt") == text_with(line_5="five\n")
        await redo(s)
        assert ground.read("a.txt") == text_with(line_5="five\n", line_50="fifty\n")


async def test_a_hunk_of_the_agents_goes_alone_and_one_of_the_users_only_when_included(ground: Ground) -> None:
    ground.write("a.txt", MINE)
    async with ground.session(ONE_TURN, approval="never") as s:
        await s.prompt()
        look = Look(ground)
        agents, mine = await look.hunks("a.txt")
        assert await look.shares(s, "a.txt", [agents]) == {"agent": (1, 1)}
        assert await look.shares(s, "a.txt", [mine]) == {"person": (1, 1)}
        left = await undo(s, await look.committed("a.txt"), [mine])
        assert (states(left), ground.read("a.txt")) == ({"a.txt": "conflict"}, BOTH)
        await undo(s, await look.committed("a.txt"), [agents])
        assert ground.read("a.txt") == MINE
        await redo(s)
        assert ground.read("a.txt") == BOTH
        await undo(s, await look.committed("a.txt"), [mine], includes_others=True)
        assert ground.read("a.txt") == text_with(line_5="five\n")
        await redo(s)
        assert ground.read("a.txt") == BOTH


async def test_what_another_sessions_agent_left_is_told_as_such(ground: Ground) -> None:
    other: list[Reply] = [[edit("a.txt", text_with(line_9="nine\n")), edit("made.txt", "made\n")], [Say("there")]]
    async with ground.session(other, approval="never") as s:
        await s.prompt()
    ground.write("notes.md", "mine\n")
    catalog = SessionCatalog.of(ground.paths)
    async with ground.session([], approval="never") as s:
        source = BlobDiffs(Blobs(ground.paths.blobs), catalog)
        others = await source.left_by_others(str(ground.workspace), s.id)
        found = {
            file.path: await source.shares(str(ground.workspace), file, [], by_others=others.get(file.path, ()))
            for file in await Look(ground).committed()
        }
        assert {path: [share.owner for share in shares] for path, shares in found.items()} == {
            "a.txt": ["other_session"],
            "made.txt": ["other_session"],
            "notes.md": ["person"],
        }
        done = await undo(s, await Look(ground).committed())
        assert set(states(done).values()) == {"conflict"}, "it is not this session's agent's"


async def test_a_file_that_changed_since_it_was_looked_at_is_left_alone(ground: Ground) -> None:
    ground.write("notes.md", "two\n")
    seen = await Look(ground).committed()
    ground.write("notes.md", "three\n")
    async with ground.session([], approval="never") as s:
        done = await undo(s, seen, includes_others=True)
        assert (states(done), ground.read("notes.md")) == ({"notes.md": "conflict"}, "three\n")


async def test_a_change_of_the_users_that_is_named_needs_to_be_included(ground: Ground) -> None:
    async with ground.session(ONE_TURN, approval="never") as s:
        s.submit(ops.WriteFile(path="mine.txt", expected=None, content=b"mine\n"))
        written = await s.rx.expect(ev.ChangesRecorded)
        named = ops.ChangeSelection(change_ids=(written.changes[0].id,))
        s.submit(ops.UndoChanges(selection=named))
        assert states(await s.rx.expect(ev.ChangesUndone)) == {"mine.txt": "conflict"}
        assert ground.read("mine.txt") == "mine\n"
        s.submit(ops.UndoChanges(selection=named, includes_others=True))
        assert states(await s.rx.expect(ev.ChangesUndone)) == {"mine.txt": "restored"}
        await redo(s)
        assert ground.read("mine.txt") == "mine\n"


async def test_files_without_lines_are_whose_the_changes_are(ground: Ground) -> None:
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": "printf '\\000\\001' > made.bin"})], [Say("one")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        ground.write("mine.bin", b"\0\2")
        look = Look(ground)
        assert await look.shares(s, "made.bin") == {"agent": (0, 0)}
        assert await look.shares(s, "mine.bin") == {"person": (0, 0)}
        ground.write("made.bin", b"\0\3")
        assert await look.shares(s, "made.bin") == {"agent": (0, 0), "person": (0, 0)}
    assert Share("agent") == Share("agent", 0, 0)


BEFORE_KINDS = "mkdir d e; echo 1 > d/x; echo 2 > e/x; ln -s e l"
KINDS = {
    "a file became a folder, a link too, a folder a link": (
        "rm a.txt; mkdir a.txt; echo 1 > a.txt/x; echo 2 > a.txt/y; rm l; mkdir l; echo 1 > l/x; rm -r d; ln -s e d"
    ),
    "a folder became a file, a file a link, and new folders": (
        "rm -r d; echo 1 > d; rm notes.md; ln -s nowhere notes.md;"
        "mkdir -p new/deep/empty new/side; echo 1 > new/deep/x; echo 2 > new/y"
    ),
    "files were renamed": "mv a.txt b.txt; mkdir f; mv notes.md f",
    "a link leads elsewhere, permissions, no UTF-8": (
        "ln -sfn d l; chmod 700 notes.md; mv a.txt $'caf\\xe9.txt'; echo 2 > $'\\xff.md'"
    ),
}


def run(ground: Ground, line: str) -> None:
    subprocess.run(["bash", "-ec", line], cwd=ground.workspace, check=True)  # noqa: TID251 - a test's own folder


@pytest.mark.skipif(os.name == "nt", reason="links and permissions are another matter there")
@pytest.mark.parametrize("line", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("is_agents", [True, False], ids=["agent", "user"])
async def test_whatever_became_of_files_they_go_back_in_one_step_unasked_if_the_agent_did_it_and_come_again(
    ground: Ground, line: str, *, is_agents: bool
) -> None:
    run(ground, BEFORE_KINDS)
    commit(ground)
    start = files(ground)
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": line})], [Say("done")]] if is_agents else []
    async with ground.session(script, approval="never") as s:
        if is_agents:
            await s.prompt()
        else:
            run(ground, line)
        before, look = files(ground), Look(ground)
        owners = {owner for path in await look.changes() for owner in await look.shares(s, path)}
        assert owners == {"agent" if is_agents else "person"}
        done = await undo(s, await look.committed(), includes_others=not is_agents)
        assert set(states(done).values()) == {"restored"}
        assert not await look.changes()
        if is_agents:
            assert files(ground) == start
        session = s.id
    async with ground.session([], resume=session) as s:
        await redo(s)
        assert files(ground) == before


@pytest.mark.parametrize("forget", [["rm", "-q", "--cached", "a.txt"], ["mv", "a.txt", "b.txt"]], ids=["rm", "mv"])
async def test_a_file_that_only_the_index_has_no_more_is_as_committed_and_is_never_removed(
    ground: Ground, forget: Sequence[str]
) -> None:
    git(ground, *forget)
    ground.write("a.txt", "".join(LINES))
    async with ground.session([], approval="never") as s:
        look = Look(ground)
        assert "a.txt" not in await look.changes()
        ground.write("a.txt", MINE)
        change = (await look.changes())["a.txt"]
        assert (change.kind, change.added, change.removed) == ("modified", 1, 1)
        await undo(s, await look.committed(), includes_others=True)
        assert ground.read("a.txt") == "".join(LINES)
        assert not await look.changes()
        await redo(s)
        assert ground.read("a.txt") == MINE


async def test_lines_and_permissions_of_one_file_are_whose_they_are(ground: Ground) -> None:
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": "chmod +x a.txt"})], [Say("done")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        ground.write("a.txt", MINE)
        look = Look(ground)
        lines, mode = await look.hunks("a.txt")
        assert await look.shares(s, "a.txt") == {"agent": (0, 0), "person": (1, 1)}
        assert await look.shares(s, "a.txt", [lines]) == {"person": (1, 1)}
        assert await look.shares(s, "a.txt", [mode]) == {"agent": (0, 0)}
        assert set(states(await undo(s, await look.committed("a.txt"), [mode])).values()) <= {"restored", "merged"}
        assert (ground.read("a.txt"), os.access(ground.workspace / "a.txt", os.X_OK)) == (MINE, False)


async def test_line_endings_that_the_agent_changed_go_where_the_user_had_changed_a_line(ground: Ground) -> None:
    ground.write("a.txt", MINE)
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": "sed -i 's/$/\\r/' a.txt"})], [Say("done")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        assert "\r\n" in ground.read("a.txt")
        await undo(s, await Look(ground).committed("a.txt"))
        assert ground.read("a.txt") == MINE


AFTER_REDO: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "renamed": ("mv a.txt b.txt", "b.txt", lambda path: path.write_text(MINE)),
    "chmod": ("chmod +x a.txt", "a.txt", lambda path: path.write_text(MINE)),
    "edited": ("echo more >> a.txt", "a.txt", lambda path: path.chmod(0o755)),
    "edited elsewhere": ("echo more >> a.txt", "a.txt", lambda path: path.write_text(MINE + "more\n")),
}


@pytest.mark.skipif(os.name == "nt", reason="permissions are another matter there")
@pytest.mark.parametrize(("line", "path", "edit_it"), AFTER_REDO.values(), ids=AFTER_REDO)
async def test_what_the_user_changed_goes_with_all_of_it_also_after_an_undo_and_a_redo_that_carried_it_along(
    ground: Ground, line: str, path: str, edit_it: Callable[[Path], object]
) -> None:
    start = files(ground)
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": line})], [Say("done")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        edit_it(ground.workspace / path)
        before, look = files(ground), Look(ground)
        await undo(s, await look.committed())
        assert files(ground) != start, "the user's stays"
        await redo(s)
        assert files(ground) == before
        session = s.id
    async with ground.session([], resume=session) as s:
        await undo(s, await look.committed(), includes_others=True)
        assert files(ground) == start
        await redo(s)
        assert files(ground) == before
