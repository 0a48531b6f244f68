"""Generated repositories and change sets: the commit's tree is the one that an oracle builds, and nothing else moves.

Every file has places that are far apart. At each place, somebody made an edit: the agent in one of two turns or both,
the user before, between or after them, or what is staged. The oracle takes place by place what belongs in the commit.
"""

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.cli.changes import agents_rows, hunks_of, matching
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.commits import quick_objects
from desktop_agent.core.commits.git_commit import commit_changes, undo_commit
from desktop_agent.core.protocol.model import Author, ChangeSelection, FileChange
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileTransition, read_state
from tests.core.undo.on_record import OnRecord

Who = Literal["nobody", "1", "2", "12", "before", "between", "recorded", "after", "staged", "1 staged", "1 after"]
WHO: tuple[Who, ...] = (
    "nobody", "1", "1", "2", "12", "before", "between", "recorded", "after", "staged", "1 staged", "1 after",
)  # fmt: skip
HOW = ("replaced", "inserted", "removed")
KINDS = (
    "plain",
    "unborn",
    "detached",
    "sha256",
    "worktree",
    "subfolder",
    "submodule",
    "crlf",
    "sparse",
    "filter",
    "split",
)
FATES = ("edited", "edited", "edited", "created", "deleted", "renamed", "binary", "executable", "link")
NAMES = ("a.txt", "b c.txt", "d/ü.txt", "d/e/f.txt")
ONE_STEP = ("1", "2", "before", "between", "recorded", "after", "staged")
SPACE = 14
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Every example starts some hundred processes, so a failing one is shown as it was found."""


class Place(NamedTuple):
    who: Who
    how: str


class Scene(NamedTuple):
    kind: str
    files: Mapping[str, tuple[str, tuple[Place, ...]]]
    """The fate of each file, and its places."""
    chosen: str
    number: int


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    place = st.builds(Place, st.sampled_from(WHO), st.sampled_from(HOW))
    files = st.dictionaries(
        st.sampled_from(NAMES), st.tuples(st.sampled_from(FATES), st.tuples(place, place, place, place)), min_size=1
    )
    chosen = draw(st.sampled_from(("all", "all", "turn 1", "turn 2", "file", "hunk")))
    return Scene(draw(st.sampled_from(KINDS)), {**draw(files)}, chosen, draw(st.integers(0, 7)))


Lines = dict[tuple[int, int], bytes]


def text_of(places: tuple[Place, ...], made: set[tuple[int, str]], eol: bytes) -> bytes:
    """The text with the edits of `made`, each a place and who made it last there."""
    lines: list[bytes] = []
    for number, place in enumerate(places):
        for at in range(SPACE):
            line = b"line %d of %d" % (at, number)
            by = next((who for index, who in made if index == number), None)
            if at != SPACE // 2 or by is None:
                lines.append(line)
            elif place.how == "replaced":
                lines.append(b"%d by %s" % (number, by.encode()))
            elif place.how == "inserted":
                lines += [line, b"%d by %s" % (number, by.encode())]
            elif by not in ONE_STEP or (by, place.who) == ("staged", "1 staged"):
                lines.append(b"%d by %s" % (number, by.encode()))
    return eol.join([*lines, b""])


def made_by(places: tuple[Place, ...], *steps: str) -> set[tuple[int, str]]:
    """The edits after these steps, in this order. A later step at the same place takes precedence."""
    made: dict[int, str] = {}
    for step in steps:
        for number, place in enumerate(places):
            if step in WHO_OF[place.who]:
                made[number] = step if number not in made else f"{made[number]}{step}"
    return set(made.items())


WHO_OF: dict[Who, tuple[str, ...]] = {
    "nobody": (), "1": ("1",), "2": ("2",), "12": ("1", "2"), "before": ("before",), "between": ("between",),
    "recorded": ("recorded",), "after": ("after",), "staged": ("staged",), "1 staged": ("1", "staged"),
    "1 after": ("1", "after"),
}  # fmt: skip


class World:
    def __init__(self, top: Path, scene: Scene) -> None:
        self.scene = scene
        self.top = top
        self.eol = b"\r\n" if scene.kind == "crlf" else b"\n"
        self._written_s = 1_000_000_000
        self.root = top / "repository"
        self.root.mkdir()
        self.environ = os.environ | {"GIT_CONFIG_GLOBAL": str(top / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
        (top / "gitconfig").write_text(
            '[user]\nname = Ada\nemail = ada@example.org\n[protocol "file"]\nallow = always\n'
        )
        self.git("init", "-q", "-b", "main", *(["--object-format=sha256"] if scene.kind == "sha256" else []))
        self.expected: dict[str, tuple[str, bytes]] = {}
        self.left: set[str] = set()
        self.record = OnRecord()

    def git(self, *arguments: str, stdin: bytes = b"", folder: Path | None = None) -> bytes:
        return subprocess.run(  # noqa: TID251 - nothing else runs meanwhile
            ["git", *arguments], cwd=folder or self.root, env=self.environ, input=stdin, capture_output=True, check=True
        ).stdout

    # -- the repository, and who changes what --

    def put(self, path: str, content: bytes) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        self._age(place)

    def _age(self, place: Path) -> None:
        """Make a file older than the index, and than later contents. Git looks at younger ones."""
        self._written_s += 1
        os.utime(place, (self._written_s, self._written_s))

    def _age_all(self) -> None:
        for path in self.disk():
            self._age(self.root / path)
        self.git("update-index", "-q", "--refresh")

    def prepare(self) -> None:
        kind = self.scene.kind
        self.folder = self.root
        if kind == "crlf":
            self.git("config", "core.autocrlf", "true")
        elif kind == "filter":
            self.git("config", "filter.rot.clean", "tr a-z n-za-m")
            self.git("config", "filter.rot.smudge", "tr n-za-m a-z")
            (self.root / ".git/info/attributes").write_text("*.txt filter=rot\n")
        (self.root / "other.txt").write_bytes(b"other\n")
        committed = (
            {} if kind == "unborn" else {path: file for path, file in self.scene.files.items() if file[0] != "created"}
        )
        for path, (fate, places) in committed.items():
            self.put(path, b"\0\1\2" if fate == "binary" else text_of(places, set(), self.eol))
        if kind != "unborn":
            self.git("add", "-A")
            self.git("commit", "-qm", "first")
        if kind == "detached":
            self.git("checkout", "-q", "--detach")
        elif kind == "worktree":
            self.git("worktree", "add", "-q", "-b", "side", str(self.top / "linked"))
            self.root = self.folder = self.top / "linked"
        elif kind == "submodule":
            outer = self.top / "outer"
            outer.mkdir()
            self.git("init", "-q", folder=outer)
            self.git("submodule", "--quiet", "add", str(self.root), "inner", folder=outer)
            self.root = self.folder = outer / "inner"
        elif kind == "subfolder" and any(path.startswith("d/") for path in committed):
            self.folder = self.root / "d"
        elif kind == "sparse":
            self.git("sparse-checkout", "set", "--no-cone", "/*", "!/d/")
            for path, (fate, places) in committed.items():
                self.put(path, b"\0\1\2" if fate == "binary" else text_of(places, set(), self.eol))
        elif kind == "split":
            self.git("update-index", "--split-index")
        self._age_all()
        self.prefix = "d/" if self.folder != self.root else ""
        self.files = {
            path.removeprefix(self.prefix): file
            for path, file in self.scene.files.items()
            if path.startswith(self.prefix) and not (kind == "unborn" and file[0] != "created")
        }
        self.ledger = Ledger(self.folder, Blobs(self.top / "blobs"))

    def act(self) -> None:
        for path, (fate, places) in self.files.items():
            if fate not in ("edited", "renamed"):
                continue
            if staged := made_by(places, "staged"):
                self.put(path, text_of(places, staged, self.eol))
                self.git("add", "--sparse", "--", f"{self.prefix}{path}")
            self.put(path, text_of(places, made_by(places, "before"), self.eol))
        self.numbers = 0
        self._agent("1", ("before", "1"), {"created", "deleted", "renamed", "binary", "executable", "link"})
        for path in self._texts():
            now = text_of(self.files[path][1], made_by(self.files[path][1], "before", "1", "recorded"), self.eol)
            self._record(path, now, "person", 1)
            self.put(self._now(path), text_of(self.files[path][1], made_by(self.files[path][1], *THEN), self.eol))
        self._agent("2", (*THEN, "2"), set())
        for path in self._texts():
            self.put(
                self._now(path),
                text_of(self.files[path][1], made_by(self.files[path][1], *THEN, "2", "after"), self.eol),
            )
        self.put("untracked.txt", b"the user's\n")

    def _texts(self) -> list[str]:
        return [path for path, (fate, _) in self.files.items() if fate in ("edited", "renamed")]

    def _now(self, path: str) -> str:
        return f"{path}.moved" if self.files[path][0] == "renamed" else path

    def _agent(self, turn: str, steps: tuple[str, ...], fates: set[str]) -> None:
        for path, (fate, places) in self.files.items():
            if fate in fates:
                self._fate(path, fate)
            if fate in ("edited", "renamed"):
                self._record(path, text_of(places, made_by(places, *steps), self.eol), "agent", int(turn))

    def _fate(self, path: str, fate: str) -> None:
        place = self.folder / path
        if fate == "renamed":
            left = self._change(path, lambda: place.rename(f"{place}.moved"))
            came = FileTransition(f"{path}.moved", None, read_state(Path(f"{place}.moved")), moved_from=path)
            arrived = self._stored(came, "agent")
            self.record.changed([self._moved(left, f"{path}.moved"), arrived], turn=1)
            return

        def create() -> None:
            self.put(path, b"created" + self.eol)

        def link() -> None:
            place.unlink()
            place.symlink_to("nowhere")

        ways = {
            "created": create, "deleted": place.unlink, "binary": lambda: place.write_bytes(b"\0\3"),
            "executable": lambda: place.chmod(0o755), "link": link,
        }  # fmt: skip
        self.record.changed([self._change(path, ways[fate])], turn=1)

    @staticmethod
    def _moved(left: FileChange, to: str) -> FileChange:
        return replace(left, moved_to=to)

    def _change(self, path: str, act: object, author: Author = "agent") -> FileChange:
        before = read_state(self.folder / path)
        assert callable(act)
        act()
        return self._stored(FileTransition(path, before, read_state(self.folder / path)), author)

    def _stored(self, transition: FileTransition, author: Author) -> FileChange:
        self.numbers += 1
        return self.ledger.record(transition, author=author, change_id=f"1.{self.numbers}")

    def _record(self, path: str, content: bytes, author: Author, turn: int) -> None:
        name = self._now(path)
        if (self.folder / name).read_bytes() != content:
            self.record.changed([self._change(name, lambda: self.put(name, content), author)], turn=turn)

    # -- the oracle --

    def selection(self) -> ChangeSelection | None:
        chosen, number = self.scene.chosen, self.scene.number
        if chosen.startswith("turn"):
            return ChangeSelection(turn=int(chosen[-1]))
        if chosen == "all":
            return ChangeSelection()
        rows = [row for row in agents_rows(matching(self.record.transcript, ChangeSelection())) if not row.moved_from]
        if chosen == "hunk":
            rows = [row for row in rows if self.files.get(row.path, ("",))[0] == "edited"]
        if not rows:
            return None
        row = rows[number % len(rows)]
        if chosen == "file":
            return ChangeSelection(path=row.path)
        hunks = hunks_of(self.record.transcript, row, self.ledger.images.content)
        return ChangeSelection(path=row.path, hunks=(hunks[number % len(hunks)].key,))

    def expect(
        self, selection: ChangeSelection
    ) -> tuple[dict[str, tuple[str, bytes] | None], dict[str, tuple[str, bytes]], set[str]]:
        """What the commit changes, what the index then has for texts, and which files have something left out."""
        changed: dict[str, tuple[str, bytes] | None] = {}
        index: dict[str, tuple[str, bytes]] = {}
        left: set[str] = set()
        for path, (fate, places) in self.files.items():
            if selection.path not in (None, path) or (selection.turn == 2 and fate not in ("edited", "renamed")):
                continue
            if fate == "created":
                changed[path] = "100644", b"created" + self.eol
            elif fate == "deleted":
                changed[path] = None
            elif fate == "binary":
                changed[path] = "100644", b"\0\3"
            elif fate == "executable":
                changed[path] = "100755", text_of(places, set(), self.eol)
            elif fate == "link":
                changed[path] = "120000", b"nowhere"
            else:
                self._expect_text(path, places, selection, changed, index, left)
        return changed, index, left

    def _expect_text(
        self,
        path: str,
        places: tuple[Place, ...],
        selection: ChangeSelection,
        changed: dict[str, tuple[str, bytes] | None],
        index: dict[str, tuple[str, bytes]],
        left: set[str],
    ) -> None:
        turns = "12" if selection.turn is None else str(selection.turn)
        is_moved = "1" in turns and self._now(path) != path
        name = self._now(path) if is_moved else path
        taken: set[tuple[int, str]] = set()
        wanted = [number for number, place in enumerate(places) if set(WHO_OF[place.who]) & set(turns)]
        if selection.hunks:
            # The row leads over everything between the first and the last change of the agent.
            agents = [number for number, place in enumerate(places) if set(WHO_OF[place.who]) & {"1", "2"}]
            is_long = any("1" in WHO_OF[place.who] for place in places) and any(
                "2" in WHO_OF[place.who] for place in places
            )
            shown = [
                number for number, place in enumerate(places)
                if number in agents or (is_long and place.who in ("between", "recorded"))
            ]  # fmt: skip
            picked = shown[self.scene.number % len(shown)]
            wanted = [picked] if picked in agents else []
            if not wanted:
                left.add(name)
        for number in wanted:
            who, how = places[number]
            if (who, how) == ("1 after", "removed"):  # the user wrote a line where the agent had removed one
                taken.add((number, "1"))
            elif who in ("1 staged", "1 after") or (who == "12" and turns == "2"):
                left.add(name)
            else:
                taken.add((number, "1" if turns == "1" else who))
        if not taken and not is_moved:
            return
        staged = made_by(places, "staged")
        if is_moved and staged:  # the edits are committed at the old path
            left.add(name)
            if not taken:
                return
            name = path
        elif is_moved:
            changed[path] = None
        changed[name] = "100644", text_of(places, taken, self.eol)
        if staged:
            index[name] = "100644", text_of(places, staged | taken, self.eol)

    # -- what there is --

    def tree(self, of: str) -> dict[str, tuple[str, bytes]]:
        """Mode and content of every file of HEAD or of the index, as a checkout would write them."""
        argv = ("ls-files", "-s", "-z") if of == "index" else ("ls-tree", "-r", "-z", "--full-tree", of)
        found: dict[str, tuple[str, bytes]] = {}
        for line in self.git(*argv).split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            words = head.decode().split(" ")
            mode, oid, path = words[0], words[1 if of == "index" else 2], name.decode()
            is_link = mode == "120000"
            content = self.git("cat-file", *(["blob"] if is_link else ["--filters", f"--path={path}"]), oid)
            found[path] = mode, content
        return found

    def staged(self) -> list[bytes]:
        lines = self.git("diff", "--cached", "-U0", "--no-renames").splitlines()
        return [line for line in lines if not line.startswith((b"index ", b"@@"))]

    def told(self) -> list[bytes]:
        """The commit and what the logs have of it, without times."""
        branch = self.git("rev-parse", "--symbolic-full-name", "HEAD").decode().strip()
        logs = (self.git("rev-parse", "--git-path", f"logs/{name}").decode().strip() for name in ("HEAD", branch))
        last = [(self.root / log).read_bytes().splitlines()[-1] for log in logs]
        commit, content = self.git("rev-parse", "HEAD").strip(), self.git("cat-file", "commit", "HEAD")
        return [re.sub(rb"> \d+ ", b"> ", one).replace(commit, b"it") for one in (*last, content)]

    def has_head(self) -> bool:
        argv = ["git", "rev-parse", "-q", "--verify", "HEAD"]
        return subprocess.call(argv, cwd=self.root, env=self.environ, stdout=subprocess.DEVNULL) == 0

    def disk(self) -> dict[str, tuple[int, bytes]]:
        found: dict[str, tuple[int, bytes]] = {}
        for path in sorted(self.root.rglob("*")):
            if ".git" in path.relative_to(self.root).parts or (path.is_dir() and not path.is_symlink()):
                continue
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(self.root))] = path.lstat().st_mode, content
        return found


THEN = ("before", "1", "recorded", "between")


RENAMED_BEFORE = Scene(
    "plain",
    {"a.txt": ("renamed", (Place("12", "removed"), Place("2", "removed"), Place("2", "replaced")))},
    "turn 2",
    0,
)
"""Its lines of the second turn are committed where HEAD has the file, but for those that build on the first turn's."""


@settings(max_examples=15, phases=UNSHRUNK)
@given(scene=scenes())
@example(scene=RENAMED_BEFORE)
def test_a_commit_has_exactly_the_selected_lines_of_the_agent(scene: Scene) -> None:
    asyncio.run(_check(scene))  # noqa: TID251 - hypothesis runs each example outside a loop


@pytest.mark.nightly
@pytest.mark.parametrize("_part", range(10))
@settings(max_examples=30, phases=UNSHRUNK)
@given(scene=scenes())
def test_three_hundred_commits_have_exactly_the_selected_lines(_part: int, scene: Scene) -> None:
    asyncio.run(_check(scene))  # noqa: TID251 - hypothesis runs each example outside a loop


def by_git(_root: Path) -> None:
    """Read and write objects with git, as for a format that libgit2 does not know."""


async def _check(scene: Scene) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        world = World(Path(folder), scene)
        patch.setenv("GIT_CONFIG_GLOBAL", world.environ["GIT_CONFIG_GLOBAL"])
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        world.prepare()
        world.act()
        selection = world.selection()
        if selection is None:
            return
        changed, index, left = world.expect(selection)
        head = world.tree("HEAD") if world.has_head() else {}
        disk, staged, indexed = world.disk(), world.staged(), world.tree("index")
        expected = _changed(head, {world.prefix + path: file for path, file in changed.items()})
        if expected == head:
            with pytest.raises(AgentError):
                await commit_changes(world.record.transcript, world.ledger, (selection,), "Ours")
            assert (world.disk(), world.staged(), world.tree("index")) == (disk, staged, indexed)
            return
        done = await commit_changes(world.record.transcript, world.ledger, (selection,), "Ours")
        assert {one.path for one in done.left_out} == left
        assert world.tree("HEAD") == expected
        assert world.disk() == disk
        assert world.staged() == staged
        moved = {path: file for path, file in expected.items() if head.get(path) != file}
        wanted = _changed(indexed, moved | dict.fromkeys(head.keys() - expected.keys()))
        assert world.tree("index") == wanted | {world.prefix + path: file for path, file in index.items()}
        world.git("fsck", "--strict", "--no-dangling")
        made = world.told(), world.git("ls-files", "-s")
        await undo_commit(world.ledger, done.commit)
        assert (world.tree("HEAD") if world.has_head() else {}) == head
        assert (world.disk(), world.staged(), world.tree("index")) == (disk, staged, indexed)
        patch.setattr(quick_objects.Opened, "at", by_git)
        again = await commit_changes(world.record.transcript, world.ledger, (selection,), "Ours")
        assert (world.told(), world.git("ls-files", "-s")) == made
        assert (again.paths, again.left_out, again.branch, again.parent) == (
            done.paths, done.left_out, done.branch, done.parent
        )  # fmt: skip


def _changed(
    tree: Mapping[str, tuple[str, bytes]], changed: Mapping[str, tuple[str, bytes] | None]
) -> dict[str, tuple[str, bytes]]:
    both = {**tree, **changed}
    return {path: file for path, file in both.items() if file is not None}
