"""Destructive commands through the whole tool path, and the recovery of files, refs and stash."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.sandbox.find import SandboxReport, SandboxSearch
from desktop_agent.core.settings.sections import SafetyCopySettings, Settings
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.execution.safeguard import Findings, PlannedCommand, Safeguard
from tests.harness import Ground, Open

Git = Callable[..., str]
NO_SANDBOX = SandboxSearch(sandbox=None, reports=(SandboxReport(name="bubblewrap", is_available=False),))


def run(command: str) -> Call:
    return Call("run_terminal_cmd", {"command": command})


@pytest.fixture
def git(ground: Ground) -> Git:
    def call(*arguments: str) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.check_output(
            ["git", *identity, *arguments], cwd=ground.workspace, text=True, stderr=subprocess.DEVNULL
        )

    ground.probe = SandboxProbe({}, lambda _: NO_SANDBOX)
    call("init", "-q", "-b", "main")
    call("config", "user.name", "Ada")
    call("config", "user.email", "ada@example.org")
    ground.write(".gitignore", "node_modules/\n*.log\n")
    ground.write("a.txt", "one\n")
    ground.write("src/b.txt", "b\n")
    call("add", "-A")
    call("commit", "-qm", "one")
    call("branch", "topic")
    ground.write("a.txt", "two\n")
    call("commit", "-qam", "two")
    call("tag", "v1", "HEAD~1")
    call("tag", "-am", "annotated", "v2")
    for text in ("first", "second"):
        ground.write("a.txt", text)
        call("stash", "push", "-qm", text)
    ground.write("a.txt", "staged\n")
    call("add", "a.txt")
    ground.write("a.txt", "not committed\n")
    ground.write("new.txt", "unknown to git\n")
    ground.write("debug.log", "ignored\n")
    ground.write("node_modules/x/index.js", "module\n")
    ground.write("node_modules/x/bin", b"\0\1\2").chmod(0o755)
    return call


def picture(folder: Path, git: Git) -> dict[str, object]:
    files = {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
    refs = git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
    head = git("rev-parse", "HEAD") + git("symbolic-ref", "-q", "HEAD")
    return {
        "files": files,
        "refs": refs,
        "head": head,
        "stash": git("stash", "list", "--format=%H %gs"),
        "status": git("--no-optional-locks", "status", "--porcelain"),
        "worktrees": git("worktree", "list"),
    }


async def recover(s: Open, call_id: str) -> ev.ChangesUndone:
    s.submit(ops.UndoChanges(selection=ChangeSelection(call_id=call_id), is_recovery=True))
    return await s.rx.expect(ev.ChangesUndone)


async def run_and_recover(ground: Ground, command: str) -> tuple[ev.ChangesRecorded, ev.ChangesUndone]:
    async with ground.session([[run(command)], [Say("ok")]]) as s:
        await s.begin()
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.state == "completed", finished.result.content
        await s.rx.expect(ev.TurnEnded)
        [recorded] = [event for event in s.rx.all(ev.ChangesRecorded) if event.call_id]
        undone = await recover(s, recorded.call_id)
        return recorded, undone


@pytest.mark.parametrize(
    "command",
    [
        "git reset --hard",
        "git reset --hard HEAD~1",
        "git checkout -- .",
        "git checkout -f topic",
        "git checkout a.txt",
        "git restore --staged --worktree a.txt",
        "git switch --discard-changes topic",
        "git clean -fd",
        "git clean -fdx",
        "git stash drop",
        "git stash clear",
        "git reset --hard && git stash pop",
        "git branch -D topic",
        "git branch -f topic main",
        "git reset -q --hard && git checkout -q topic && git branch -D main",
        "git checkout -qf --detach && git branch -D main topic && git stash clear && git tag -d v1 v2",
        "git tag -d v1 v2",
        "git update-ref -d refs/heads/topic",
        "git commit --amend -qm other",
        "git reset -q --hard && git rebase -q --root --exec 'git commit -q --amend -m rebased'",
        "git stash clear && git branch -D topic && git reflog expire --expire=now --all && git gc -q --prune=now",
        "rm -rf src node_modules",
        "rm -rf node_modules && mkdir -p node_modules/y && echo other > node_modules/y/z",
        "rm a.txt new.txt",
        "find . -name '*.txt' -delete",
        "find node_modules -type f -delete",
        "bash -c 'cd src && rm -rf b.txt'",
        "ls node_modules/x/* | xargs rm",
        "mv node_modules nm_old",
        "echo x > node_modules/x/index.js",
    ],
)
async def test_recovery_gives_back_files_refs_and_stash(ground: Ground, git: Git, command: str) -> None:
    before = picture(ground.workspace, git)
    recorded, undone = await run_and_recover(ground, command)
    problems = [outcome for outcome in undone.outcomes if not outcome.is_done]
    assert problems == []
    assert picture(ground.workspace, git) == before
    is_plain = command.startswith(("mv", "echo"))
    assert recorded.is_recoverable is not is_plain


async def test_a_removed_worktree_is_recovered_with_what_git_knows_of_it(ground: Ground, git: Git) -> None:
    tree = ground.workspace.parent / "tree"
    git("worktree", "add", "-q", str(tree), "topic")
    (tree / "work.txt").write_text("not committed\n")
    (tree / "a.txt").write_text("changed\n")
    before = picture(ground.workspace, git)
    recorded, undone = await run_and_recover(ground, "git worktree remove --force ../tree")
    assert recorded.is_recoverable
    assert recorded.changes == ()
    assert [outcome for outcome in undone.outcomes if not outcome.is_done] == []
    assert (tree / "work.txt").read_text() == "not committed\n"
    assert (tree / "a.txt").read_text() == "changed\n"
    assert picture(ground.workspace, git) == before
    status = git("-C", str(tree), "status", "--porcelain")
    assert status == " M a.txt\n?? work.txt\n"


async def test_files_deleted_outside_the_workspace_come_back(ground: Ground, git: Git) -> None:
    folder = ground.workspace.parent / "elsewhere"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    recorded, _ = await run_and_recover(ground, "rm -rf ../elsewhere")
    assert [Path(file.path) for file in recorded.outside] == [folder / "notes.txt"]
    assert (folder / "notes.txt").read_text() == "mine\n"


async def test_the_repository_itself_comes_back(ground: Ground, git: Git) -> None:
    before = picture(ground.workspace, git)
    await run_and_recover(ground, "rm -rf .git")
    assert picture(ground.workspace, git) == before


async def test_a_folder_without_git_is_looked_after_as_well(ground: Ground) -> None:
    ground.probe = SandboxProbe({}, lambda _: NO_SANDBOX)
    ground.write("node_modules/x.js", "x\n")
    ground.write("big.bin", b"x" * (9 * 2**20))
    recorded, undone = await run_and_recover(ground, "rm -rf node_modules big.bin")
    assert {change.path for change in recorded.changes} == {"node_modules", "node_modules/x.js", "big.bin"}
    assert recorded.uncaptured == ()
    assert [outcome.state for outcome in undone.outcomes] == ["restored"] * 3
    assert ground.read("node_modules/x.js") == "x\n"
    assert len(ground.read("big.bin")) == 9 * 2**20


async def test_what_is_too_much_is_said_before_and_on_the_card(ground: Ground) -> None:
    ground.probe = SandboxProbe({}, lambda _: NO_SANDBOX)
    ground.settings = Settings(safety_copy=SafetyCopySettings(max_files=2))
    for number in range(3):
        ground.write(f"node_modules/{number}.js", "x\n")
    ground.write(".cache/one", "kept\n")
    async with ground.session([[run("rm -rf node_modules .cache")], [Say("ok")]]) as s:
        asked = await s.begin()
        assert asked.request.safety == (
            "A safety copy is made first: the files of this folder, .cache.",
            "Not in the safety copy: node_modules. It is more than a safety copy may hold: 2 files, 200 MiB.",
        )
        await s.rx.expect(ev.TurnEnded)
        [recorded] = s.rx.all(ev.ChangesRecorded)
        assert [gap.path for gap in recorded.uncaptured] == ["node_modules"]
        assert [change.path for change in recorded.changes] == [".cache", ".cache/one"]


async def test_a_command_that_destroys_nothing_makes_no_copy_and_says_nothing(ground: Ground, git: Git) -> None:
    async with ground.session([[run("echo x > c.txt")], [Say("ok")]]) as s:
        assert (await s.turn()).request.safety == ()
        [recorded] = s.rx.all(ev.ChangesRecorded)
        assert (recorded.refs, recorded.is_recoverable) == ((), False)


async def test_what_a_script_does_to_refs_is_recorded_though_its_words_do_not_say_so(ground: Ground, git: Git) -> None:
    ground.write("tidy.sh", "git branch -D topic\n")
    async with ground.session([[run("sh tidy.sh")], [Say("ok")]]) as s:
        await s.prompt("go", answers=1)
        [recorded] = s.rx.all(ev.ChangesRecorded)
        assert [change.name for change in recorded.refs] == ["refs/heads/topic"]


async def test_what_the_person_did_since_is_left_alone_and_named(ground: Ground, git: Git) -> None:
    async with ground.session([[run("git branch -D topic && rm -rf ../elsewhere")], [Say("ok")]]) as s:
        folder = ground.workspace.parent / "elsewhere"
        folder.mkdir()
        (folder / "notes.txt").write_text("old\n")
        await s.prompt("go", answers=1)
        [recorded] = s.rx.all(ev.ChangesRecorded)
        git("branch", "topic", "main")
        folder.mkdir()
        (folder / "notes.txt").write_text("newer\n")
        undone = await recover(s, recorded.call_id)
        assert {outcome.path: outcome.state for outcome in undone.outcomes} == {
            "refs/heads/topic": "conflict",
            str(folder / "notes.txt"): "conflict",
        }
        assert (folder / "notes.txt").read_text() == "newer\n"


async def test_the_transcript_knows_when_everything_is_back(ground: Ground, git: Git) -> None:
    async with ground.session([[run("git stash clear && rm a.txt")], [Say("ok")]]) as s:
        await s.prompt("go", answers=1)
        [recorded] = s.rx.all(ev.ChangesRecorded)
        entry = s.session.transcript.paged.tool_entry(recorded.call_id)
        assert entry is not None
        assert (entry.is_recoverable, entry.is_recovered) == (True, False)
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(call_id=recorded.call_id)), ev.ChangesUndone)
        assert not entry.is_recovered, "an ordinary undo brings no stash entry back"
        await recover(s, recorded.call_id)
        assert entry.is_recovered
        assert len(git("stash", "list").splitlines()) == 2


def safeguard_of(ground: Ground, folder: Path) -> Safeguard:
    limits = SafetyLimits(ignored_folders=frozenset({"node_modules", ".git"}), max_captured_bytes=2**20)
    return Safeguard(ground.workspace, SafetyCopies(ground.workspace, folder, lambda: limits), folder)


async def test_what_was_copied_is_found_again_after_a_crash(ground: Ground, git: Git, tmp_path: Path) -> None:
    folder = tmp_path / "safety"
    line = "rm -rf node_modules && git stash clear"
    await safeguard_of(ground, folder).prepare("c1", PlannedCommand(line, str(ground.workspace), is_confined=False))
    shutil.rmtree(ground.workspace / "node_modules")
    git("stash", "clear")
    found = await safeguard_of(ground, folder).finish("c1")
    assert [transition.path for transition in found.report.inside] == [
        "node_modules",
        "node_modules/x",
        "node_modules/x/bin",
        "node_modules/x/index.js",
    ]
    assert len([change for change in found.refs if change.is_loss]) == 2
    assert found.is_destructive
    assert await safeguard_of(ground, folder).finish("another call") == Findings()
    await safeguard_of(ground, folder).forget()
    assert await safeguard_of(ground, folder).finish("c1") == Findings()
    assert list(folder.iterdir()) == []


async def test_refs_that_were_remembered_for_one_command_count_for_no_other(
    ground: Ground, git: Git, tmp_path: Path
) -> None:
    folder = tmp_path / "safety"
    safeguard = safeguard_of(ground, folder)
    outside, inside = (PlannedCommand("", str(ground.workspace), is_confined=each) for each in (False, True))
    await safeguard.prepare("c1", outside)
    assert await safeguard.finish("c1") == Findings()
    await safeguard.forget()
    git("branch", "-D", "topic")
    for call_id, run_of in (("c2", outside), ("c3", inside), ("c4", inside)):
        await safeguard.prepare(call_id, run_of)
        assert await safeguard.finish(call_id) == Findings()
        assert await safeguard_of(ground, folder).finish(call_id) == Findings()
        await safeguard.forget()
    assert list(folder.iterdir()) == []


async def test_refs_that_stayed_are_on_disk_for_the_next_command_without_being_written_again(
    ground: Ground, git: Git, tmp_path: Path
) -> None:
    folder = tmp_path / "safety"
    safeguard = safeguard_of(ground, folder)
    run_of = PlannedCommand("", str(ground.workspace), is_confined=False)
    await safeguard.prepare("c1", run_of)
    await safeguard.forget()
    [written] = folder.iterdir()
    inode = written.stat().st_ino
    await safeguard.prepare("c2", run_of)
    assert written.stat().st_ino == inode
    git("branch", "-D", "topic")  # and then the process is killed
    found = await safeguard_of(ground, folder).finish("c2")
    assert [change.name for change in found.refs] == ["refs/heads/topic"]


async def test_a_command_whose_safety_copy_cannot_be_written_does_not_run(ground: Ground, tmp_path: Path) -> None:
    ground.write("node_modules/x.js", "x\n")
    folder = tmp_path / "safety"
    folder.write_text("a file where the folder should be")
    run_of = PlannedCommand("rm -rf node_modules", str(ground.workspace), is_confined=False)
    with pytest.raises(ToolError, match="so the command was not run"):
        await safeguard_of(ground, folder).prepare("c1", run_of)


@pytest.mark.parametrize(("is_confined", "units"), [(True, 1), (False, 3)])
async def test_a_confined_command_can_destroy_only_what_it_may_write(
    ground: Ground, tmp_path: Path, is_confined: bool, units: int
) -> None:
    ground.write("node_modules/x.js", "x\n")
    ground.write(".git/HEAD", "ref: refs/heads/main\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a").write_text("a")
    folder = tmp_path / "safety"
    run_of = PlannedCommand(f"rm -rf node_modules .git {elsewhere}", str(ground.workspace), is_confined=is_confined)
    await safeguard_of(ground, folder).prepare("c1", run_of)
    before = json.loads((folder / "before.json").read_text())
    assert len(before["copy"]["units"]) == units
