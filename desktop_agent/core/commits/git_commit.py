"""Makes a git commit of selected lines, and undoes it. The working tree is never written.

The tree is built in an index of its own, where hooks see it. Then, under git's lock of the index, the index gains the
same lines, and HEAD moves. A process that dies in between leaves the lines staged.
"""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.workspace_files import Mark, folders_above, mark_of
from desktop_agent.core.commits.selected_lines import Fitted, SelectedLines, States
from desktop_agent.core.merge.merge import ClashError, merge_states
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileKind
from desktop_agent.core.system.files import FileState
from desktop_agent.core.system.git.git_process import UsersGit
from desktop_agent.core.system.git.repository import common_folder, find_repository, read_regular
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.transcript import Transcript

LOCK_PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05
_LARGEST_ATTRIBUTES_BYTES: Final = 1024 * 1024
_EMPTY_TREES: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_IN_PROGRESS: Final = {
    "MERGE_HEAD": "A merge", "CHERRY_PICK_HEAD": "A cherry-pick", "REVERT_HEAD": "A revert",
    "rebase-merge": "A rebase", "rebase-apply": "A rebase",
}  # fmt: skip
_HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_UNTOUCHED: Final = "Nothing was committed."
_NO_FILE: Final = "000000"
_LINK: Final = "120000"
_KINDS: Final[Mapping[str, tuple[FileKind, int]]] = {
    "100644": ("file", 0o644), "100755": ("file", 0o755), _LINK: ("symlink", 0o777),
}  # fmt: skip


class Entry(NamedTuple):
    """A version of a file in git. An absent file has the mode `_NO_FILE`."""

    mode: str
    oid: str


Entries = dict[str, Entry]


class _Tip(Struct, frozen=True):
    oid: str
    """Empty before the first commit."""
    branch: str
    settings: Mapping[str, str]
    has_hooks: bool

    @property
    def none(self) -> str:
        return _EMPTY_TREES[self.settings.get("extensions.objectformat", "sha1")]

    @property
    def tree(self) -> str:
        return self.oid or self.none


Tell = Callable[[str, str], None]
"""Hears the name of a hook and what the hook prints, while it prints."""


async def preview(transcript: Transcript, ledger: Ledger, selections: Sequence[ChangeSelection]) -> Fitted:
    """Raises `AgentError` where a commit would. Runs filters of the repository, but no hooks."""
    async with _opened(ledger) as commits:
        return (await commits.plan(transcript, selections)).fitted


async def commit_changes(
    transcript: Transcript,
    ledger: Ledger,
    selections: Sequence[ChangeSelection],
    message: str,
    tell: Tell = lambda _step, _text: None,
) -> ev.ChangesCommitted:
    """Commit what the selections cover. Raises `AgentError`, and then HEAD, the refs and the index are as before.

    So they are after a cancellation. One that comes too late for that is not raised.
    """
    async with _opened(ledger) as commits:
        return await commits.make(await commits.plan(transcript, selections), selections, message, tell)


async def undo_commit(ledger: Ledger, commit: str) -> ev.CommitUndone:
    """Raises `AgentError` if the commit is not the tip, was pushed, or its lines are staged differently."""
    async with _opened(ledger) as commits:
        await commits.undo(commit)
        return ev.CommitUndone(commit=commit)


@asynccontextmanager
async def _opened(ledger: Ledger) -> "AsyncGenerator[_Commits]":
    repository = await asyncio.to_thread(find_repository, ledger.files.root)
    if repository is None:
        raise AgentError("The folder is not in a git repository.", hint="Make one with `git init`.")
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="desktop-agent-commit-"))
    try:
        yield _Commits(await asyncio.to_thread(UsersGit.of, repository), ledger, folder)
    finally:
        with suppress(asyncio.CancelledError):  # too late to stop
            await unhurried(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


class _Plan(Struct, frozen=True):
    tip: _Tip
    head: Entries
    staged: Entries
    fitted: Fitted
    index: bytes | None
    """The user's index while the plan was made; None if there was none."""


class _Commits:
    def __init__(self, git: UsersGit, ledger: Ledger, folder: Path) -> None:
        self._git = git
        self._ledger = ledger
        self._folder = folder
        self._root, self._git_dir, self._prefix = git.repository.root, git.repository.git_dir, git.repository.prefix
        self._index = self._git_dir / "index"

    # -- what there is to commit --

    async def plan(self, transcript: Transcript, selections: Sequence[ChangeSelection]) -> _Plan:
        (tip, seen, listed, staged), lines = await asyncio.gather(
            self._looked(), asyncio.to_thread(SelectedLines, transcript, self._ledger, selections)
        )
        paths = {self._prefix + path for path in lines.paths}
        head, index = await asyncio.to_thread(_near, _tree(listed), paths), _near(staged, paths)
        ignored, barred, (in_head, in_index) = await asyncio.gather(
            self._ignored(paths - head.keys() - index.keys()),
            asyncio.to_thread(self._nested, lines.paths),
            self._versions(head, index),
        )
        barred |= dict.fromkeys(map(self._inner, ignored), "Git ignores it.")
        return _Plan(tip, head, staged, await asyncio.to_thread(lines.fit, in_head, in_index, barred), seen)

    async def _looked(self) -> tuple[_Tip, bytes | None, str, Entries]:
        tip, seen = await self._tip(), await asyncio.to_thread(self._read_index)
        listing = self._git.ask("ls-tree", "-r", "-z", "--full-tree", tip.tree)
        return tip, seen, *await asyncio.gather(listing, self._staged(tip.tree))

    async def _tip(self) -> _Tip:
        begun = [words for name, words in _IN_PROGRESS.items() if (self._git_dir / name).exists()]
        if begun:
            raise AgentError(f"{begun[0]} is in progress.", hint=f"{_UNTOUCHED} Finish or abort it with git first.")
        (code, head, _), listed = await asyncio.gather(
            self._git.run("rev-parse", "-q", "HEAD^{commit}", "--symbolic-full-name", "HEAD"),
            self._git.ask("config", "--list", "-z"),
        )
        if code:  # before the first commit
            head = f"\n{await self._git.ask('symbolic-ref', 'HEAD')}"
        oid, branch, *_ = head.split("\n")
        records = (record.partition("\n") for record in listed.split("\0")[:-1])
        settings = {name: value if is_set else "true" for name, is_set, value in records}
        has_hooks = any(name.startswith("hook.") for name in settings)
        has_hooks = has_hooks or await asyncio.to_thread(self._has_hooks, settings.get("core.hookspath", ""))
        return _Tip(oid, branch if branch != "HEAD" else "", settings, has_hooks)

    def _has_hooks(self, named: str) -> bool:
        folder = self._root / Path(named).expanduser() if named else common_folder(self._git_dir) / "hooks"
        return any(os.access(folder / name, os.X_OK) for name in _HOOKS)

    async def _ignored(self, paths: set[str]) -> list[str]:
        if not paths:
            return []
        _, output, _ = await self._git.run("check-ignore", "-z", "--stdin", stdin="\0".join([*paths, ""]))
        return output.split("\0")[:-1]

    async def _staged(self, tree: str, environ: Mapping[str, str] | None = None) -> Entries:
        """Return what is staged, besides the files of `tree`. Raises `AgentError` if there are conflicts."""
        argv = (
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--ignore-submodules=none",
            tree,
        )
        found = raw_entries(await self._git.ask(*argv, environ=environ))
        clashing = next((path for path, entry in found.items() if entry.mode == "U"), "")
        if clashing:
            title = f"{name_on_a_line(clashing)} has conflicts."
            raise AgentError(title, hint=f"{_UNTOUCHED} Resolve them with git first.")
        return found

    async def _versions(self, *trees: Entries) -> list[States]:
        found = await versions_of(self._git, *trees)
        return [{self._inner(path): state for path, state in tree.items()} for tree in found]

    def _nested(self, paths: Iterable[str]) -> dict[str, str]:
        root, found = self._ledger.files.root, dict[str, str]()
        for path in paths:
            for folder in folders_above(path):
                if os.path.lexists(root / folder / ".git"):
                    found[path] = f"It belongs to the repository in {name_on_a_line(folder)}."
        return found

    def _inner(self, path: str) -> str:
        """Return a path in the repository as one in the workspace."""
        return path.removeprefix(self._prefix) if path.startswith(self._prefix) else f"/{path}"

    # -- the commit --

    async def make(
        self, plan: _Plan, selections: Sequence[ChangeSelection], message: str, tell: Tell
    ) -> ev.ChangesCommitted:
        tip, fitted = plan.tip, plan.fitted
        if not fitted.committed:
            reasons = "\n".join(f"{name_on_a_line(one.path)}: {one.reason}" for one in fitted.left_out)
            raise AgentError("There is nothing to commit.", detail=reasons)
        states = {self._prefix + path: state for path, state in fitted.committed.items()}
        index = _Index(self._git, self._folder / "index")
        await index.copy(self._index)
        _, stored = await asyncio.gather(
            self._git.ask("read-tree", "-i", "-m", tip.tree, environ=index.environ),
            self._stored(tip, "made", states, plan.head),
        )
        await index.put(stored)
        hooks = _Hooks(self._git, index.environ, tell, is_on=tip.has_hooks)
        before = await self._look() if tip.has_hooks else {}
        try:
            await hooks.run("pre-commit")
            tree = (await self._git.ask("write-tree", environ=index.environ)).strip()
            place, cleanup = self._git_dir / "COMMIT_EDITMSG", tip.settings.get("commit.cleanup", "")
            text = await hooks.worded(message, place, cleanup)
        except AgentError as error:
            if touched := self._names(await self._touched(before) if tip.has_hooks else ()):
                error.detail += f"\nA hook changed these files: {', '.join(map(name_on_a_line, touched))}"
            raise
        is_signed = tip.settings.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1")
        argv = (*(("-p", tip.oid) if tip.oid else ()), *(("-S",) if is_signed else ()), "-F", "-", tree)
        made, moved = await asyncio.gather(
            self._git.ask("-c", "i18n.commitEncoding=UTF-8", "commit-tree", *argv, stdin=text),
            self._difference(tip.tree, tree),
        )
        if not moved:
            raise AgentError("There is nothing to commit.", hint="HEAD has these changes already.")
        commit, subject = made.strip(), text.partition("\n")[0]
        kept = {self._prefix + path: state for path, state in fitted.staged.items()}
        reason = f"commit{'' if tip.oid else ' (initial)'}: {subject}"
        touched = set[str]()
        with _too_late_to_stop(self._move(plan, moved, kept, commit, reason)) as moving:
            await unhurried(moving)
            await hooks.run("post-commit", may_fail=True)
            touched = await self._touched(before) if tip.has_hooks else touched
        return ev.ChangesCommitted(
            selections=tuple(selections),
            commit=commit,
            parent=tip.oid,
            branch=tip.branch,
            subject=subject,
            paths=self._names(moved),
            left_out=tuple(fitted.left_out),
            hooks_output="\n".join(hooks.output),
            changed_by_hooks=self._names(touched | (moved.keys() - states.keys())),
        )

    async def _stored(self, tip: _Tip, name: str, states: States, known: Entries) -> Entries:
        """Store files as `git add` would from the working tree, with filters and attributes.

        `known` has earlier versions, whose line endings and modes git looks at. An index of our own has none of the
        flags with which git passes a file over.
        """
        if not states:
            return {}
        index, place = _Index(self._git, self._folder / name), self._folder / f"{name}-files"
        await asyncio.to_thread(_lay_out, place, states, self._root)
        environ = {**index.environ, "GIT_DIR": str(self._git_dir), "GIT_WORK_TREE": str(place)}
        absent = Entry(_NO_FILE, "0" * len(tip.none))
        if tip.settings.get("core.filemode") != "false" and all(map(_is_simple, states, states.values())):
            there = [path for path, state in states.items() if state is not None]
            argv = ("-C", str(place), "hash-object", "-w", "--stdin-paths")
            oids = await self._git.ask(*argv, stdin="".join(f"{path}\n" for path in there), environ=environ)
            modes = {path: "100755" if state and state.mode & 0o100 else "100644" for path, state in states.items()}
            found = {path: Entry(modes[path], oid) for path, oid in zip(there, oids.split(), strict=True)}
            return dict.fromkeys(states, absent) | found
        await index.put({path: known[path] for path in states if path in known and known[path].mode != _NO_FILE})
        argv = ("-C", str(place), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        gone_first = sorted(states, key=lambda path: states[path] is not None)
        await self._git.ask(*argv, stdin="\0".join([*gone_first, ""]), environ=environ)
        return dict.fromkeys(states, absent) | _tree(await self._git.ask("ls-files", "-s", "-z", environ=index.environ))

    async def _look(self) -> dict[str, tuple[str, Mark]]:
        """Return the changed files with a mark that shows further changes. What is staged does not count."""
        listed = await self._git.ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        found = {one[3:]: one[1] for one in listed.split("\0")[:-1]}
        return {path: (state, await asyncio.to_thread(mark_of, self._root / path)) for path, state in found.items()}

    async def _touched(self, before: Mapping[str, tuple[str, Mark]]) -> set[str]:
        after = await self._look()
        return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}

    def _names(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(map(self._inner, paths)))

    async def _difference(self, old: str, new: str) -> Entries:
        return raw_entries(
            await self._git.ask("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
        )

    @asynccontextmanager
    async def _locked(self) -> AsyncGenerator[Path]:
        """Hold git's lock of the index. Raises `AgentError` if somebody else holds it for too long."""
        lock, deadline = self._git_dir / "index.lock", asyncio.get_running_loop().time() + LOCK_PATIENCE_S
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                break
            except FileExistsError as error:
                if asyncio.get_running_loop().time() > deadline:
                    hint = f"{_UNTOUCHED} If no git is running, remove {lock}."
                    raise AgentError("Another program has locked the index of git.", hint=hint) from error
            except OSError as error:
                raise AgentError("The index of git cannot be written.", hint=_UNTOUCHED, detail=str(error)) from error
            await asyncio.sleep(_POLL_S)
        try:
            yield lock
        finally:
            lock.unlink(missing_ok=True)

    async def _move(self, plan: _Plan, moved: Entries, kept: States, commit: str, reason: str) -> None:
        """Move HEAD from the plan's to `commit`, or before the first one, and the index by the same lines.

        `moved` are the files that then differ, `kept` what becomes of versions that were staged before.
        """
        index = _Index(self._git, self._folder / "next-index")
        async with self._locked():
            await index.copy(self._index)
            before = await asyncio.to_thread(self._read_index)
            is_as_seen = before is not None and before == plan.index
            if not is_as_seen and await self._staged(plan.tip.tree, index.environ) != plan.staged:
                raise AgentError("What is staged changed meanwhile.", hint=f"{_UNTOUCHED} Try again.")
            stored = await self._stored(plan.tip, "kept", kept, plan.staged)
            await index.put({path: entry for path, entry in moved.items() if path not in plan.staged} | stored)
            await asyncio.to_thread(self._replace_index, index.path.read_bytes())
            ref = ("HEAD", commit, plan.tip.oid or "0" * len(commit)) if commit else ("-d", "HEAD", plan.tip.oid)
            try:
                await self._git.ask("update-ref", "-m", reason, *ref)
            except AgentError as error:
                await asyncio.to_thread(self._replace_index, before)
                title = "HEAD was moved meanwhile, or cannot be moved."
                raise AgentError(title, hint=f"{_UNTOUCHED} Try again.", detail=error.detail) from error

    def _read_index(self) -> bytes | None:
        return self._index.read_bytes() if self._index.exists() else None

    def _replace_index(self, content: bytes | None) -> None:
        """Write the index. The caller holds its lock."""
        if content is None:
            self._index.unlink()
            return
        draft = self._git_dir / f"next-index-{os.getpid()}.lock"  # git uses such names, too
        draft.write_bytes(content)
        if self._index.exists():
            draft.chmod(self._index.stat().st_mode & 0o777)
        draft.replace(self._index)

    async def undo(self, commit: str) -> None:
        tip = await self._tip()
        if tip.oid != commit:
            raise AgentError("It is not the last commit any more.", hint="Revert it with git.")
        remote = await self._git.ask("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes")
        if remote:
            raise AgentError("The commit was pushed already.", hint="Revert it with git.")
        parent, *others = (await self._git.ask("log", "-1", "--format=%P", commit)).split() or [""]
        if others:
            raise AgentError("It is a merge.", hint="Undo it with git.")
        moved, staged = await asyncio.gather(self._difference(commit, parent or tip.none), self._staged(tip.tree))
        back, both = await self._difference(parent or tip.none, commit), moved.keys() & staged.keys()
        ours, old, new = await self._versions(*({path: one[path] for path in both} for one in (staged, back, moved)))
        kept: States = {}
        for path in both:
            name = self._inner(path)
            try:
                kept[path] = merge_states(old[name], ours[name], new[name])
            except ClashError as error:
                title = f"Another version of {name_on_a_line(path)} is staged."
                raise AgentError(title, hint="Unstage it first. Nothing was changed.") from error
        reason = f"undo commit: moving to {parent[:12] or 'before the first commit'}"
        with _too_late_to_stop(
            self._move(_Plan(tip, {}, staged, Fitted(), None), moved, kept, parent, reason)
        ) as moving:
            await unhurried(moving)


@contextmanager
def _too_late_to_stop(move: Coroutine[None, None, None]) -> Generator["asyncio.Task[None]"]:
    """Pass over a cancellation, because `move` was carried out. Raises what `move` raised."""
    moving = asyncio.create_task(move)
    try:
        yield moving
    except asyncio.CancelledError:
        moving.result()


async def versions_of(git: UsersGit, *trees: Entries) -> list[States]:
    """Return the files of each tree as a checkout would write them."""
    mark = secrets.token_hex(16)  # the sizes that git prints do not count what filters add
    wanted = [(path, entry) for tree in trees for path, entry in tree.items() if entry.mode in _KINDS]
    names = (path.replace("\n", "?") if entry.mode != _LINK else ".git/link" for path, entry in wanted)
    lines = [f"{entry.oid} {name}\n" for (_, entry), name in zip(wanted, names, strict=True)]
    argv = ("cat-file", f"--batch={mark} %(objectname)", "--filters")
    output = await git.ask(*argv, stdin="".join(lines)) if lines else ""
    parts = output.split(f"{mark} ")[1:]
    if len(parts) != len(wanted):
        raise AgentError(
            "git lacks an object of the repository.", hint="Nothing was changed. Check it with `git fsck`."
        )
    contents = {one: os.fsencode(part.partition("\n")[2][:-1]) for one, part in zip(wanted, parts, strict=True)}
    return [{one[0]: _state(one[1], contents.get(one)) for one in tree.items()} for tree in trees]


class _Index:
    """An index of our own, with which git works instead of the user's."""

    def __init__(self, git: UsersGit, path: Path) -> None:
        self._git = git
        self.path = path
        self.environ = {"GIT_INDEX_FILE": str(path)}

    async def copy(self, source: Path) -> None:
        """Copy the user's index. Its modification time tells git which files to look at again."""
        if await asyncio.to_thread(source.exists):
            await asyncio.to_thread(shutil.copy2, source, self.path)
        else:
            await self._git.ask("read-tree", "--empty", environ=self.environ)

    async def put(self, entries: Entries) -> None:
        if entries:
            gone_first = sorted(entries, key=lambda path: entries[path].mode != _NO_FILE)
            lines = [f"{entries[path].mode} {entries[path].oid}\t{path}\0" for path in gone_first]
            await self._git.ask("update-index", "-z", "--index-info", stdin="".join(lines), environ=self.environ)


class _Hooks:
    def __init__(self, git: UsersGit, environ: Mapping[str, str], tell: Tell, *, is_on: bool) -> None:
        self._git = git
        self._environ = {**environ, "GIT_EDITOR": ":"}
        self._tell = tell
        self._is_on = is_on
        self.output: list[str] = []

    async def run(self, name: str, *arguments: str, may_fail: bool = False) -> None:
        if not self._is_on:
            return
        argv = ("hook", "run", "--ignore-missing", name, "--", *arguments)
        code, _, output = await self._git.run(*argv, environ=self._environ, tell=partial(self._tell, name))
        if output:
            self.output.append(f"{name}: {output}")
        if code and not may_fail:
            raise AgentError(f"The hook {name} refused the commit.", hint=_UNTOUCHED, detail=output)

    async def worded(self, message: str, place: Path, cleanup: str) -> str:
        """Return the message as hooks and git leave it. Raises `AgentError` if nothing is left."""
        text = message.rstrip("\n") + "\n"
        if self._is_on:
            await asyncio.to_thread(place.write_text, text, "utf-8")
            await self.run("prepare-commit-msg", str(place), "message")
            await self.run("commit-msg", str(place))
            text = await asyncio.to_thread(place.read_text, "utf-8", "surrogateescape")
        if cleanup == "strip":
            text = await self._git.ask("stripspace", "--strip-comments", stdin=text)
        elif cleanup != "verbatim":
            lines = [line.rstrip() for line in text.splitlines()]
            kept = (line for at, line in enumerate(lines) if line or (at and lines[at - 1]))
            text = "\n".join(kept).strip("\n") + "\n"
        if not text.strip():
            raise AgentError("The message of the commit is empty.", hint=_UNTOUCHED)
        return text


def raw_entries(output: str) -> Entries:
    """Parse `--raw -z`: the new version of each path. The mode of a path with conflicts is `U`."""
    fields = output.split("\0")[:-1]
    heads = [head.split(" ") for head in fields[::2]]
    return {
        path: Entry("U" if status == "U" else mode, oid)
        for path, (_, mode, _, oid, status) in zip(fields[1::2], heads, strict=True)
    }


def _tree(output: str) -> Entries:
    """Parse what `ls-tree` or `ls-files -s` prints."""
    lines = (line.partition("\t") for line in output.split("\0")[:-1])
    return {path: Entry(head[:6], max(head.split(" "), key=len)) for head, _, path in lines}


def _state(entry: Entry, content: bytes | None) -> FileState | None:
    if entry.mode == _NO_FILE:
        return None
    kind, mode = _KINDS.get(entry.mode, ("folder", 0o755))  # a submodule
    return FileState(content=content or b"", mode=mode, kind=kind)


def _near(entries: Entries, paths: set[str]) -> Entries:
    """Return the entries at these paths, above them and below them."""
    near = paths.union(*map(folders_above, paths))
    return {path: entry for path, entry in entries.items() if path in near or not paths.isdisjoint(folders_above(path))}


def _is_simple(path: str, state: FileState | None) -> bool:
    """Whether `git add` needs no index: it looks at earlier versions of links and of files with CRLF."""
    is_link = state is not None and state.kind == "symlink"
    return not is_link and "\n" not in path and not (state is not None and b"\r\n" in state.content)


def _lay_out(place: Path, states: States, root: Path) -> None:
    """Write files below a new folder, with the attributes that apply to them."""
    for folder in {"", *(one for path in states for one in folders_above(path))}:
        (place / folder).mkdir(parents=True, exist_ok=True)
        if attributes := read_regular(root / folder / ".gitattributes", _LARGEST_ATTRIBUTES_BYTES):
            (place / folder / ".gitattributes").write_bytes(attributes)
    for path, state in states.items():
        if state is None:
            (place / path).unlink(missing_ok=True)
        elif state.kind == "symlink":
            (place / path).symlink_to(os.fsdecode(state.content))
        else:
            (place / path).write_bytes(state.content)
            (place / path).chmod(state.mode)
