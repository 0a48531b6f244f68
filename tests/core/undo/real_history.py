"""Histories on real folders: an agent's tools and commands, and a user's writes, turn by turn.

A step is a kind and small numbers that choose among the present files, so that a history without some steps is still a
history. `Played.told` has the results.
"""

import os
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, FileOutcome, JsonObject, ModelRequest
from desktop_agent.core.providers.scripted import Call, Reply, Say, Script
from tests.attacks.git.hostile import git
from tests.harness import Ground, Open
from tests.trees import Tree, tree_of

NAMES = ("a", "b", "c", "d/a", "d/e/b")

COMMANDS = {
    "look": "true",
    "sed": "sed -i '{line}s/.*/{word}/' {a}",
    "append": "echo {word} >> {a}",
    "endings": "sed -i 's/$/\\r/' {a}",
    "mv": "mkdir -p $(dirname {b}); mv -f {a} {b}",
    "mv and append": "mkdir -p $(dirname {b}); mv -f {a} {b} && echo {word} >> {b}",
    "mv of two": "mkdir -p $(dirname {b}) t; mv -f {a} {other} t/",
    "mv of a folder": "mv d f",
    "swap": "mv {a} t && mv {other} {a} && mv t {other}",
    "rename and back": "mv {a} t && echo {word} >> t && mv t {a}",
    "cp": "mkdir -p $(dirname {b}); cp {a} {b}",
    "rm": "rm -f {a}",
    "rm -r": "rm -rf $(dirname {a})/",
    "sed and rm": "sed -i '1s/.*/{word}/' {a} {other}; rm {other}",
    "chmod": "chmod {mode} {a}",
    "ln": "mkdir -p $(dirname {b}); ln -sfn {a} {b}",
    "a link": "ln -sfn {word} {a}",
    "mkdir": "mkdir -p new/{word}",
    "rmdir": "find . -mindepth 1 -path ./.git -prune -o -type d -empty -exec rmdir {{}} +",
    "a folder": "rm {a} && mkdir {a} && echo {word} > {a}/inside",
    "a file": "rm -rf d && echo {word} > d",
    "binary": "printf '\\000{word}' > {a}",
    "write": "printf '{word}\\n%s\\n' 1 2 3 > {a}",
    "git checkout": "git checkout -q -- .",
    "git checkout of a branch": "git checkout -q -f other",
    "git checkout of a file": "git checkout -q other -- {a}",
    "git stash": "git stash -q",
}
TOOLS = (
    "edit",
    "edit",
    "insert",
    "replace",
    "delete lines",
    "template",
    "overwrite",
    "create",
    "patch",
    "move",
    "delete",
)
USER = ("user appends", "user edits", "user deletes", "user creates", "user sets the mode", "user makes a folder")
MODES = ("755", "600", "644")


class Step(NamedTuple):
    """One step of the agent or the user. The numbers choose among the present files and lines."""

    kind: str
    file: int = 0
    other: int = 0
    line: int = 0


History = Sequence[Sequence[Step]]


class Player:
    def __init__(self, place: Path, history: History) -> None:
        self.ground = Ground(place)
        self.root = self.ground.workspace
        self.told: list[str] = []
        self._words = iter(range(10_000))
        self._turns = [iter(turn) for turn in history]
        self._turn = 1
        self._begin()
        self.start: Tree = tree_of(self.root)

    async def play(self) -> SessionId:
        async with opened(self.ground, self._reply) as s:
            for _ in range(len(self._turns)):
                await s.prompt()
        self.end: Tree = tree_of(self.root)
        return s.id

    def _begin(self) -> None:
        self.ground.write("a", self._text(6))
        self.ground.write("d/a", self._text(20))
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "first")
        git(self.root, "checkout", "-q", "-b", "other")
        self.ground.write("a", self._text(2) + (self.root / "a").read_text())
        self.ground.write("d/e/b", self._text(2))
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "second")
        git(self.root, "checkout", "-q", "main")
        self.ground.write("b", self._text(4).replace("\n", "\r\n"))
        self.ground.write("d/e/c", self._text(1).strip())

    def _reply(self, _request: ModelRequest) -> Reply:
        for step in self._turns[0]:
            if step.kind in USER:
                self._user(step)
            elif call := self._call(step):
                self.told.append(f"turn {self._turn}: {call.name} {dict(call.arguments)}")
                path = call.arguments.get("path")  # an edit of a file that changed since it was read is refused
                return [Call("read_file", {"path": path}), call] if path in self._here() else [call]
        del self._turns[0]
        self._turn += 1
        return [Say("Done.")]

    # -- what the agent does --

    def _call(self, step: Step) -> Call | None:
        here = self._here()
        if not here:
            return Call("create_file", {"path": "a", "content": self._text(3)})
        a, other = here[step.file % len(here)], here[step.other % len(here)]
        b = NAMES[step.other % len(NAMES)]
        if line := COMMANDS.get(step.kind):
            words = {"a": a, "other": other, "b": b, "word": self._word(), "line": step.line + 1}
            return shell(line.format(**words, mode=MODES[step.line % len(MODES)]))
        lines = self._lines(a)
        anchor = lines[step.line % len(lines)] if lines else ""
        if step.kind in ("edit", "insert", "replace", "delete lines", "template", "patch") and not anchor:
            return Call("create_file", {"path": a, "content": self._text(2), "if_exists": "overwrite"})
        number = lines.index(anchor) + 1 if anchor else 0
        arguments: dict[str, tuple[str, JsonObject]] = {
            "edit": ("edit_file", {"path": a, "old_str": anchor, "new_str": self._word()}),
            "insert": ("line_edit", {"path": a, "mode": "insert_after", "line": number, "text": self._text(2)}),
            "replace": (
                "line_edit",
                {"path": a, "mode": "replace", "line": number, "line_count": 1, "text": self._text(step.other % 3 + 1)},
            ),
            "delete lines": ("line_edit", {"path": a, "mode": "delete", "line": number, "line_count": 1}),
            "template": (
                "template_block",
                {"path": a, "mode": "insert_after", "anchor": anchor, "template": self._text(1)},
            ),
            "overwrite": ("create_file", {"path": a, "content": self._text(3), "if_exists": "overwrite"}),
            "create": ("create_file", {"path": f"{b}{step.line % 2}", "content": self._text(2)}),
            "patch": ("apply_patch", {"patch": self._patch(step, a, other, anchor)}),
            "move": ("rename_file", {"source_path": a, "dest_path": b, "overwrite": True}),
            "delete": ("delete_file", {"path": a}),
        }
        return Call(*arguments[step.kind])

    def _patch(self, step: Step, a: str, other: str, anchor: str) -> str:
        """Return a patch with an edit, sometimes a move, an added and a deleted file."""
        moves = f"*** Move to: moved/{a}\n" if step.line % 2 else ""
        goes = f"*** Delete File: {other}\n" if step.other % 2 and other != a else ""
        added = f"*** Add File: added/{self._word()}\n+{self._word()}\n"
        edited = f"*** Update File: {a}\n{moves}@@\n-{anchor}\n+{self._word()}\n"
        return f"*** Begin Patch\n{edited}{goes}{added}*** End Patch\n"

    # -- what the user does --

    def _user(self, step: Step) -> None:
        here = self._here()
        path = self.root / (here[step.file % len(here)] if here else "a")
        self.told.append(f"{step.kind}: {path.relative_to(self.root)}")
        with suppress(OSError):
            match step.kind:
                case "user appends":
                    _write(path, self._lines_of(path) + self._text(1).encode())
                case "user edits":
                    lines = self._lines_of(path).splitlines(keepends=True)
                    at = step.line % (len(lines) + 1)
                    _write(path, b"".join([*lines[:at], self._text(1).encode(), *lines[at + 1 :]]))
                case "user deletes":
                    path.unlink()
                case "user creates":
                    _write(self.root / NAMES[step.other % len(NAMES)], self._text(2).encode())
                case "user sets the mode":
                    path.chmod(int(MODES[step.line % len(MODES)], 8), follow_symlinks=path.is_symlink())
                case _:
                    (self.root / "users" / NAMES[step.other % len(NAMES)]).mkdir(parents=True)

    # -- the ground --

    def _here(self) -> list[str]:
        found = [name for name, node in tree_of(self.root).items() if node.kind != "folder"]
        return sorted(found)

    def _lines(self, name: str) -> list[str]:
        path = self.root / name
        content = b"" if path.is_symlink() else path.read_bytes()
        return [] if b"\0" in content else [line for line in content.decode().splitlines() if line]

    def _lines_of(self, path: Path) -> bytes:
        return path.read_bytes() if path.exists() else b""

    def _word(self) -> str:
        return f"word{next(self._words)}"

    def _text(self, lines: int) -> str:
        return "".join(f"{self._word()}\n" for _ in range(lines))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def shell(line: str) -> Call:
    return Call("run_terminal_cmd", {"command": f"{_WHO}{line}"})


_WHO = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "


@asynccontextmanager
async def opened(
    ground: Ground, script: Script | None = None, *, resume: SessionId | None = None
) -> AsyncGenerator[Open]:
    opening = ground.session(script or [], approval="on_request", sandbox="none", resume=resume)
    async with opening as s:

        def answer(event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))

        s.rx.at_once = answer
        await s.session.wait_until_ready()
        s.rx.pass_over()
        yield s


Revert = ops.UndoChanges | ops.RedoChanges | ops.RedoSteps


async def reverted(s: Open, op: Revert) -> tuple[FileOutcome, ...]:
    """Undo or redo, and return the outcome of each file: empty if there was nothing to do."""
    s.submit(op)
    came = await s.rx.expect((ev.ChangesUndone, ev.ChangesRedone, ev.Notice))
    if isinstance(came, ev.Notice):
        assert came.code == "nothing_selected", came
        return ()
    return came.outcomes


UNDO_ALL = ops.UndoChanges(selection=ChangeSelection())
REDO_ALL = ops.RedoSteps(is_all=True)


class Saved:
    def __init__(self, ground: Ground, session_id: SessionId) -> None:
        self._kept = ground.workspace.parent / "kept"
        self._places = (ground.workspace, ground.paths.sessions / session_id)
        for number, place in enumerate(self._places):
            shutil.copytree(place, self._kept / str(number), symlinks=True)

    def put_back(self) -> None:
        for number, place in enumerate(self._places):
            for entry in os.scandir(place):  # the folder itself stays: the session knows it
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry)
                else:
                    Path(entry).unlink()
            shutil.copytree(self._kept / str(number), place, symlinks=True, dirs_exist_ok=True)
