"""Z-83: all changes of a command are in the review and the patch, and are undone and redone exactly.

Sessions with a real shell, real git and this machine's sandbox. A scene has the command, and the expected rows of the
review; the rest follows from the folder before and after.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from desktop_agent.cli import main
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, FileImage, FileOutcome
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.review.changed_files import group_by_file
from tests.harness import Ground, Open
from tests.trees import NOTHING, Node, Tree, tree_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")

Where = Literal["plain folder", "repository"]
TEXT = "".join(f"line {number}\n" for number in range(1, 21))

PYTHON = shlex.quote(sys.executable)
FORMATTER = f"""{PYTHON} - <<'END'
from pathlib import Path
for path in Path("pages").iterdir():
    path.write_bytes(b"".join(line.rstrip() + b"\\n" for line in path.read_bytes().splitlines()))
END"""
"""Rewrites thirty files; a third has Windows line endings, and a third no final newline."""
RUFF = f"{PYTHON} -m ruff format --no-cache --quiet src/deep"


MINE = b"the user's\n"


@dataclass(frozen=True)
class Scene:
    command: str
    rows: Mapping[str, str] = field(default_factory=dict[str, str])
    """`kind`, or `renamed from PATH`."""

    def __str__(self) -> str:
        return self.command.splitlines()[0].replace(PYTHON, "python")


GONE_SRC = dict.fromkeys(["src", "src/deep", "src/app.py", "src/deep/core.py"], "deleted")
GONE_MODULES = dict.fromkeys(
    ["node_modules", "node_modules/pkg", "node_modules/pkg/index.js", "node_modules/pkg/run", "node_modules/pkg/none"],
    "deleted",
)
SCENES = [
    Scene("sed -i 's/line 3/LINE 3/' notes.txt src/app.py", {"notes.txt": "modified", "src/app.py": "modified"}),
    Scene("mv notes.txt docs.txt", {"docs.txt": "renamed from notes.txt"}),
    Scene("mv notes.txt docs.txt && echo more >> docs.txt", {"docs.txt": "renamed from notes.txt"}),
    Scene("mv notes.txt src/app.py", {"notes.txt": "deleted", "src/app.py": "modified"}),
    Scene("mv data.bin src/deep/data.bin", {"src/deep/data.bin": "renamed from data.bin"}),
    Scene("mv link elsewhere", {"elsewhere": "renamed from link"}),
    Scene(
        "mv src lib",
        {
            "src": "deleted",
            "src/deep": "deleted",
            "lib": "created",
            "lib/deep": "created",
            "lib/app.py": "renamed from src/app.py",
            "lib/deep/core.py": "renamed from src/deep/core.py",
        },
    ),
    Scene(
        "mv notes.txt third && mv src/app.py notes.txt && mv third src/app.py",
        {"notes.txt": "modified", "src/app.py": "modified"},
    ),
    Scene("rm -r src", GONE_SRC),
    Scene("rm -rf node_modules", GONE_MODULES),
    Scene("rmdir empty", {"empty": "deleted"}),
    Scene("mkdir -p new/deeper", {"new": "created", "new/deeper": "created"}),
    Scene("mkdir new && echo x > new/file", {"new": "created", "new/file": "created"}),
    Scene("chmod 600 notes.txt", {"notes.txt": "mode_changed"}),
    Scene("chmod +x notes.txt; chmod 600 tool.sh", {"notes.txt": "mode_changed", "tool.sh": "mode_changed"}),
    Scene("chmod 700 empty", {"empty": "mode_changed"}),
    Scene("ln -s notes.txt shortcut", {"shortcut": "created"}),
    Scene("ln -sfn tool.sh link", {"link": "modified"}),
    Scene("ln -sf data.bin notes.txt", {"notes.txt": "modified"}),
    Scene("rm link && cp notes.txt link", {"link": "modified"}),
    Scene(FORMATTER, {f"pages/{number:02}.txt": "modified" for number in range(30) if number % 3 == 0 or number == 29}),
    Scene(RUFF, {"src/deep/core.py": "modified"}),
    Scene("printf 'a\\000b' > data.bin", {"data.bin": "modified"}),
    Scene("printf 'no text \\000' > notes.txt", {"notes.txt": "modified"}),
    Scene(": > notes.txt; : > nothing", {"notes.txt": "modified", "nothing": "created"}),
    Scene("printf 'no last line end' > notes.txt", {"notes.txt": "modified"}),
    Scene(
        "rm notes.txt && mkdir notes.txt && echo x > notes.txt/in", {"notes.txt": "modified", "notes.txt/in": "created"}
    ),
    Scene("rm -r src && echo x > src", GONE_SRC | {"src": "modified"}),
    Scene("touch notes.txt; sed -i 's/x/x/' notes.txt", {}),
    Scene("echo gone > passing && rm passing", {}),
    Scene("echo 'grüße' > 'a b\tü.txt'", {"a b\tü.txt": "created"}),
]

LAST_COMMIT = {"src/app.py": "modified", "link": "modified", "later.txt": "deleted"}
LOCAL_WORK = {"notes.txt": "modified", "tool.sh": "mode_changed", "staged.txt": "deleted"}
GIT_SCENES = [
    Scene("git checkout -- .", {"notes.txt": "modified", "tool.sh": "mode_changed"}),
    Scene("git reset --hard", LOCAL_WORK),
    Scene("git reset --hard HEAD~1", LOCAL_WORK | LAST_COMMIT),
    Scene("git restore --staged --worktree .", LOCAL_WORK),
    Scene("git stash push -q --include-untracked", LOCAL_WORK | {"loose.txt": "deleted", "empty": "deleted"}),
    Scene("git clean -fdxq", dict.fromkeys(["loose.txt", "debug.log", "empty"], "deleted") | GONE_MODULES),
    Scene("git mv data.bin moved.bin", {"moved.bin": "renamed from data.bin"}),
    Scene("git rm -q -r src", GONE_SRC),
    Scene("git stash push -q && git stash drop -q", LOCAL_WORK),
]  # fmt: skip

MOVE_AND_EDIT = """\
*** Begin Patch
*** Update File: notes.txt
*** Move to: docs.txt
@@
 line 1
-line 2
+LINE 2
*** End Patch"""
RENAMES = [
    (
        Call("rename_file", {"source_path": "notes.txt", "dest_path": "docs/all/notes.txt"}),
        "Rename notes.txt → docs/all/notes.txt?",
        {"docs/all/notes.txt": "renamed from notes.txt"},
    ),
    (
        Call("rename_file", {"source_path": "notes.txt", "dest_path": "src/app.py", "overwrite": True}),
        "Rename notes.txt → src/app.py and replace the file there?",
        {"notes.txt": "deleted", "src/app.py": "modified"},
    ),
    (
        Call("rename_file", {"source_path": "link", "dest_path": "other"}),
        "Rename link → other?",
        {"other": "renamed from link"},
    ),
    (
        Call("apply_patch", {"patch": MOVE_AND_EDIT}),
        "Rename and change notes.txt → docs.txt?",
        {"docs.txt": "renamed from notes.txt"},
    ),
]


def prepare(ground: Ground) -> None:
    ground.write("notes.txt", TEXT)
    ground.write("src/app.py", TEXT.replace("\n", "\r\n"))
    ground.write("src/deep/core.py", "x  =  [ 1,2 ]\n")
    ground.write("tool.sh", "#!/bin/sh\n").chmod(0o755)
    ground.write("data.bin", bytes(range(256)) * 9)
    (ground.workspace / "link").symlink_to("notes.txt")
    for number in range(30):
        end = "\r\n" if number % 3 == 0 else "\n"
        text = f"page {number}{end}text{end}"
        ground.write(f"pages/{number:02}.txt", text.rstrip() if number == 29 else text)
    (ground.workspace / "empty").mkdir()
    ground.write("node_modules/pkg/index.js", "module\n")
    ground.write("node_modules/pkg/run", b"\0\1\2").chmod(0o755)
    (ground.workspace / "node_modules/pkg/none").mkdir(mode=0o700)


def make_repository(ground: Ground) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.check_call(["git", *identity, *arguments], cwd=ground.workspace)

    git("init", "-q", "-b", "main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.org")
    ground.write(".gitignore", "node_modules/\n*.log\n")
    app = ground.read("src/app.py")
    ground.write("src/app.py", app.replace("line 1\r\n", "an older line\r\n"))
    (ground.workspace / "link").unlink()
    (ground.workspace / "link").symlink_to("tool.sh")
    git("add", "-A")
    git("commit", "-qm", "one")
    ground.write("src/app.py", app)
    (ground.workspace / "link").unlink()
    (ground.workspace / "link").symlink_to("notes.txt")
    ground.write("later.txt", "later\n")
    git("add", "-A")
    git("commit", "-qm", "two")
    ground.write("staged.txt", "staged\n")
    git("add", "staged.txt")
    ground.write("notes.txt", TEXT.replace("line 12\n", "not committed\n"))
    (ground.workspace / "tool.sh").chmod(0o644)
    ground.write("loose.txt", "unknown to git\n")
    ground.write("debug.log", "ignored\n")


def differences(before: Tree, after: Tree) -> dict[str, tuple[FileImage | None, FileImage | None]]:
    return {
        path: (_image(before.get(path)), _image(after.get(path)))
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }


def _image(node: Node | None) -> FileImage | None:
    return node.image() if node else None


@pytest.fixture(params=["plain folder", "repository"])
def where(request: pytest.FixtureRequest, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Where:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(ground.paths.data.parent))
    prepare(ground)
    if request.param == "repository":
        make_repository(ground)
    return request.param


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")


class Played(NamedTuple):
    s: Open
    before: dict[str, Node]
    after: dict[str, Node]
    finished: ev.ToolCallFinished

    @property
    def records(self) -> list[ChangeRecord]:
        return [record for record in self.s.session.transcript.changes.values() if record.change.author != "undo"]

    def now(self) -> dict[str, Node]:
        return tree_of(self.s.workspace)

    async def undo(self) -> tuple[FileOutcome, ...]:
        self.s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
        return (await self.s.rx.expect(ev.ChangesUndone)).outcomes

    async def redo(self) -> tuple[FileOutcome, ...]:
        self.s.submit(ops.RedoChanges(selection=ChangeSelection(turn=1)))
        return (await self.s.rx.expect(ev.ChangesRedone)).outcomes

    async def take_back(self) -> tuple[FileOutcome, ...]:
        self.s.submit(ops.RedoSteps())
        return (await self.s.rx.expect(ev.ChangesRedone)).outcomes


async def play(s: Open, scene: Scene) -> Played:
    before = tree_of(s.workspace)
    s.submit(ops.SubmitPrompt(text="go"))
    finished: ev.ToolCallFinished | None = None
    while not isinstance(
        event := await s.rx.expect((ev.ApprovalRequested, ev.ToolCallFinished, ev.TurnEnded)), ev.TurnEnded
    ):
        if isinstance(event, ev.ApprovalRequested):
            s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))
        else:
            finished = event
    assert finished is not None
    return Played(s, before, tree_of(s.workspace), finished)


def script_of(scene: Scene) -> list[list[Call | Say]]:
    return [[Call("run_terminal_cmd", {"command": scene.command})], [Say("Done.")]]


@pytest.mark.parametrize(
    "scene",
    [*(pytest.param(scene, marks=pytest.mark.sampled(2, "where", "scene")) for scene in SCENES), *GIT_SCENES],
    ids=str,
)
async def test_what_a_command_changed_is_all_in_the_review_and_undone_and_redone_exactly(
    ground: Ground, where: Where, scene: Scene, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    is_git = scene in GIT_SCENES
    sandbox = "none" if is_git else "restricted"
    async with ground.session(script_of(scene), approval="on_request", sandbox=sandbox) as s:
        played = await play(s, scene)
        if is_git and where == "plain folder":
            assert played.finished.state == "failed"
            assert (played.before, played.records) == (played.after, [])
            return
        assert played.finished.state == "completed", played.finished.result.content
        check_review(played, scene)
        check_patch(played, capfdbinary)
        await check_undo_and_redo(played)


@pytest.mark.parametrize(("call", "question", "rows"), RENAMES)
async def test_what_an_edit_tool_renamed_is_one_file_in_the_question_the_review_and_the_undo(
    ground: Ground,
    where: Where,
    call: Call,
    question: str,
    rows: Mapping[str, str],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    async with ground.session([[call], [Say("Done.")]]) as s:
        played = await play(s, Scene("", rows))
        assert played.finished.state == "completed", played.finished.result.content
        assert [event.request.title for event in s.rx.all(ev.ApprovalRequested)] == [question]
        check_review(played, Scene("", rows))
        check_patch(played, capfdbinary)
        await check_undo_and_redo(played)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.rows], ids=str)
async def test_what_the_person_did_after_the_command_is_never_lost(ground: Ground, where: Where, scene: Scene) -> None:
    async with ground.session(script_of(scene), approval="on_request") as s:
        played = await play(s, scene)
        path = edit_as_the_person(ground, played)
        edited = played.now()
        outcomes = {outcome.path: outcome for outcome in await played.undo()}
        undone = played.now()
        assert any(MINE in node.content for node in undone.values())
        for other in played.before.keys() | edited.keys():
            outcome = outcomes.get(other)
            if outcome is not None and not outcome.is_done:
                assert outcome.reason
                assert undone.get(other) == edited.get(other), f"{other} clashed, so it is left alone"
            elif MINE not in (undone.get(other) or NOTHING).content:
                assert undone.get(other) == played.before.get(other), f"{other} is as before"
        assert [p for p, o in outcomes.items() if not o.is_done and not is_in_the_way(path, p, played)] == []
        if any(outcome.is_done for outcome in outcomes.values()):
            await played.redo()
        assert any(MINE in node.content for node in played.now().values())


def edit_as_the_person(ground: Ground, played: Played) -> str:
    left = {record.change.path: played.after[record.change.path] for record in played.records if record.change.after}
    texts = [path for path, node in left.items() if node.kind == "file" and b"\0" not in node.content]
    folders = [f"{path}/theirs" for path, node in left.items() if node.kind == "folder"]
    gone = [record.change.path for record in played.records if record.change.before and not record.change.after]
    path = [*texts, *folders, *gone, "theirs"][0]
    before = (ground.workspace / path).read_bytes() if path in texts else b""
    ground.write(path, before + MINE)
    return path


def is_in_the_way(path: str, other: str, played: Played) -> bool:
    """Whether a file at `path` blocks `other`: as its folder, below it, or under its other name."""
    partners = {r.change.moved_from or r.change.moved_to for r in played.records if r.change.path == path}
    return other in {path, *partners} or other.startswith(f"{path}/") or path.startswith(f"{other}/")


def check_review(played: Played, scene: Scene) -> None:
    """Check that each difference is recorded with exact images, and that the rows are the scene's."""
    recorded = {record.change.path: (record.change.before, record.change.after) for record in played.records}
    with_files = {folder for record in played.records for folder in record.change.new_folders}
    different = differences(played.before, played.after)
    assert recorded == {path: images for path, images in different.items() if path not in with_files}
    rows = {
        file.path: f"renamed from {file.moved_from}" if file.moved_from else file.kind
        for file in group_by_file(played.records)
    }
    assert rows == dict(scene.rows)
    net = {
        row.path: f"renamed from {row.moved_from}" if row.moved_from else row.change.kind
        for row in net_changes(played.records)
    }
    assert net == rows


def check_patch(played: Played, capture: pytest.CaptureFixture[bytes]) -> None:
    """Check that git can apply the output of `changes diff` in reverse."""
    capture.readouterr()
    assert main(["changes", "diff", played.s.id]) == 0
    patch = capture.readouterr().out
    if b"diff --git" in patch:
        environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(played.s.workspace.parent)}
        command = ["git", "apply", "--check", "-R", "-"]
        checked = subprocess.run(  # noqa: TID251 - git judges
            command, cwd=played.s.workspace, input=patch, env=environment, capture_output=True, check=False
        )
        assert checked.returncode == 0, checked.stderr.decode()


async def check_undo_and_redo(played: Played) -> None:
    if not played.records:
        return
    for redo in (played.redo, played.take_back, played.take_back):
        assert {outcome.state for outcome in await played.undo()} == {"restored"}
        assert played.now() == played.before
        assert {outcome.state for outcome in await redo()} == {"restored"}
        assert played.now() == played.after
        assert played.s.session.transcript.changed.undone() == played.s.session.transcript.changed.steps == []
