"""Makes a git commit of selected lines, and undoes it. The working tree is never written.

The tree is built in an index of its own, where hooks see it. Then, under git's lock of the index, the index gains the
same lines, and HEAD moves. A process that dies in between leaves the lines staged.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import folders_above, name_on_a_line
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.workspace_files import Mark, mark_of
from desktop_agent.core.commits.objects import (
    HOOKS,
    UNTOUCHED,
    WATCHING,
    Entries,
    Objects,
    Tip,
    entries_near,
    hooks_in,
    settings_of,
)
from desktop_agent.core.commits.selected_lines import Fitted, SelectedLines, States
from desktop_agent.core.merge import ClashError, merge_states
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.system.git.git_process import UsersGit
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.transcript import Transcript

Quickest = Callable[[Objects, set[str], bytes | None], Awaitable[Objects]]
"""Returns the quickest way to do what `Objects` does, for these paths and with the user's index."""

LOCK_PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05
_IN_PROGRESS: Final = {
    "MERGE_HEAD": "A merge", "CHERRY_PICK_HEAD": "A cherry-pick", "REVERT_HEAD": "A revert",
    "rebase-merge": "A rebase", "rebase-apply": "A rebase",
}  # fmt: skip
_SUBJECTS: Final = 20


Tell = Callable[[str, str], None]
"""Called with the name of a hook and its output, as it is printed."""


async def preview(transcript: Transcript, ledger: Ledger, selections: Sequence[ChangeSelection]) -> Fitted:
    """Raises `AgentError` where a commit would. Runs filters of the repository, but no hooks."""
    async with _opened(ledger) as commits:
        return (await commits.plan(transcript, selections)).fitted


async def prepare(
    transcript: Transcript, ledger: Ledger, selections: Sequence[ChangeSelection]
) -> tuple[ev.CommitPrepared, Fitted, str]:
    """Like `preview`, but also return the event to report, and the last commits' subjects, newest first."""
    async with _opened(ledger) as commits:
        plan = await commits.plan(transcript, selections)
        author, subjects = await commits.author_and_subjects(plan.tip)
        found, fitted = plan.tip, plan.fitted
        prepared = ev.CommitPrepared(
            selections=tuple(selections),
            paths=tuple(sorted(fitted.committed)),
            left_out=tuple(fitted.left_out),
            branch=found.branch,
            author=author,
            is_signed=found.is_signed,
            hooks=found.hooks,
        )
        return prepared, fitted, subjects


async def commit_changes(
    transcript: Transcript,
    ledger: Ledger,
    selections: Sequence[ChangeSelection],
    message: str,
    tell: Tell = lambda _step, _text: None,
) -> ev.ChangesCommitted:
    """Commit what the selections cover. Raises `AgentError`.

    After an error or a cancellation, HEAD, the refs and the index are unchanged. A cancellation that comes too late for
    that is ignored.
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
    git = await UsersGit.around(ledger.files.root)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="desktop-agent-commit-"))
    try:
        yield _Commits(git, ledger, folder)
    except BaseExceptionGroup as errors:  # of what runs side by side
        error = cast("BaseException", errors)
        while isinstance(error, BaseExceptionGroup):
            (error, *_) = cast("BaseExceptionGroup[BaseException]", error).exceptions
        raise error from None
    finally:
        with suppress(asyncio.CancelledError):  # too late to stop
            await unhurried(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


class _Plan(Struct, frozen=True):
    tip: Tip
    objects: Objects
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
        seen, known, quickest = await asyncio.to_thread(self._look_at_index)
        async with asyncio.TaskGroup() as group:
            finding = group.create_task(self._tip(known))
            selecting = group.create_task(asyncio.to_thread(SelectedLines, transcript, self._ledger, selections))
        tip, lines = finding.result(), selecting.result()
        paths = {self._prefix + path for path in lines.paths}
        plain = Objects(self._git, tip, self._folder)
        objects = await quickest(plain, paths, seen) if quickest is not None else plain
        async with asyncio.TaskGroup() as group:
            committed = group.create_task(objects.near(paths))
            comparing = group.create_task(objects.staged())
        head, staged = committed.result(), comparing.result()
        index = entries_near(staged, paths)
        ignored = await self._ignored(paths - head.keys() - index.keys())
        trees = await objects.versions(head, index)
        barred = await asyncio.to_thread(self._nested, lines.paths)
        barred |= dict.fromkeys(map(self._inner, ignored), "Git ignores it.")
        in_head, in_index = ({self._inner(path): state for path, state in tree.items()} for tree in trees)
        fitted = await asyncio.to_thread(lines.fit, in_head, in_index, barred)
        return _Plan(tip, objects, head, staged, fitted, seen)

    def _look_at_index(self) -> tuple[bytes | None, tuple[str, str] | None, Quickest | None]:
        """Return the index, and HEAD if libgit2 can read the repository. A change in between is noticed."""
        from desktop_agent.core.commits.quick_objects import Opened  # libgit2 takes 90 ms to import

        seen, opened = self._read_index(), Opened.at(self._root)
        return (seen, opened.head, opened.quickest) if opened is not None else (seen, None, None)

    async def _tip(self, head: tuple[str, str] | None = None) -> Tip:
        """Return the tip, at this commit and branch if they are known."""
        begun = [words for name, words in _IN_PROGRESS.items() if (self._git_dir / name).exists()]
        if begun:
            raise AgentError(f"{begun[0]} is in progress.", hint=f"{UNTOUCHED} Finish or abort it with git first.")
        async with asyncio.TaskGroup() as group:
            finding = group.create_task(self._head(head))
            reading = group.create_task(settings_of(self._git))
        (oid, branch), settings = finding.result(), reading.result()
        named = dict.fromkeys(name.split(".")[1] for name in settings if name.startswith("hook."))
        there = await asyncio.to_thread(hooks_in, self._git.repository, settings)
        hooks = (*(name for name in HOOKS if name in there), *named)
        return Tip(oid, branch, settings, hooks, is_watched=not there.isdisjoint(WATCHING))

    async def _head(self, known: tuple[str, str] | None) -> tuple[str, str]:
        if known is not None:
            return known
        argv = ("rev-parse", "-q", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
        code, head, _ = await self._git.run(*argv)
        if code:  # before the first commit
            head = f"\n{await self._git.ask('symbolic-ref', 'HEAD')}"
        oid, branch, *_ = head.split("\n")
        return oid, branch if branch != "HEAD" else ""

    async def author_and_subjects(self, tip: Tip) -> tuple[str, str]:
        log = self._git.run("log", f"-{_SUBJECTS}", "--format=%s", *([tip.oid] if tip.oid else ["--max-count=0"]))
        (code, author, _), (_, subjects, _) = await asyncio.gather(self._git.run("var", "GIT_AUTHOR_IDENT"), log)
        return "" if code else author.partition(">")[0] + ">", subjects

    async def _ignored(self, paths: set[str]) -> list[str]:
        if not paths:
            return []
        _, output, _ = await self._git.run("check-ignore", "-z", "--stdin", stdin="\0".join([*paths, ""]))
        return output.split("\0")[:-1]

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
        objects = plan.objects
        hooks = _Hooks(self._git, objects.index.environ, tell, is_on=bool(tip.hooks))
        before = await self._look() if tip.hooks else {}
        try:
            tree = await objects.tree(states, plan.head, partial(hooks.run, "pre-commit"))
            place, cleanup = self._git_dir / "COMMIT_EDITMSG", tip.settings.get("commit.cleanup", "")
            text = await hooks.worded(message, place, cleanup)
        except AgentError as error:
            if touched := self._names(await self._touched(before) if tip.hooks else ()):
                error.detail += f"\nA hook changed these files: {', '.join(map(name_on_a_line, touched))}"
            raise
        moved = await objects.difference(tip.tree, tree)
        if not moved:
            raise AgentError("There is nothing to commit.", hint="HEAD has these changes already.")
        kept = {self._prefix + path: state for path, state in fitted.staged.items()}
        async with asyncio.TaskGroup() as group:
            storing = group.create_task(objects.commit(tree, text))
            following = group.create_task(self._next_index(plan, moved, kept))
        commit, subject = storing.result(), text.partition("\n")[0]
        reason = f"commit{'' if tip.oid else ' (initial)'}: {subject}"
        touched = set[str]()
        with _too_late_to_stop(self._move(plan, moved, kept, following.result(), commit, reason)) as moving:
            await unhurried(moving)
            await hooks.run("post-commit", may_fail=True)
            touched = await self._touched(before) if tip.hooks else touched
        return ev.ChangesCommitted(
            selections=tuple(selections),
            commit=commit,
            parent=tip.oid,
            branch=tip.branch,
            subject=subject,
            message=text,
            paths=self._names(moved),
            left_out=tuple(fitted.left_out),
            hooks_output="\n".join(hooks.output),
            changed_by_hooks=self._names(touched | (moved.keys() - states.keys())),
        )

    async def _look(self) -> dict[str, tuple[str, Mark]]:
        """Return the changed files with a mark that shows further changes. What is staged does not count."""
        listed = await self._git.ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        found = {one[3:]: one[1] for one in listed.split("\0")[:-1]}
        return {path: (state, await asyncio.to_thread(mark_of, self._root / path)) for path, state in found.items()}

    async def _touched(self, before: Mapping[str, tuple[str, Mark]]) -> set[str]:
        after = await self._look()
        for path in before.keys() - after.keys():  # as committed now, which a hook need not have done
            after[path] = before[path][0], await asyncio.to_thread(mark_of, self._root / path)
        return {path for path in after if path not in before or before[path][1] != after[path][1]}

    def _names(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(map(self._inner, paths)))

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
                    hint = f"{UNTOUCHED} If no git is running, remove {lock}."
                    raise AgentError("Another program has locked the index of git.", hint=hint) from error
            except OSError as error:
                raise AgentError("The index of git cannot be written.", hint=UNTOUCHED, detail=str(error)) from error
            await asyncio.sleep(_POLL_S)
        try:
            yield lock
        finally:
            lock.unlink(missing_ok=True)

    async def _next_index(self, plan: _Plan, moved: Entries, kept: States) -> bytes:
        """Return the user's index with the lines of the commit. Raises `AgentError` if other things are staged now."""
        stored = await plan.objects.stored("kept", kept, plan.staged)
        files = {path: entry for path, entry in moved.items() if path not in plan.staged} | stored
        return await plan.objects.next_index(plan.index, plan.staged, files)

    async def _move(
        self, plan: _Plan, moved: Entries, kept: States, following: bytes, commit: str, reason: str
    ) -> None:
        """Move HEAD from the plan's to `commit`, or before the first one, and the index by the same lines.

        `moved` has the files that then differ, `kept` the new versions of files that were already staged, and
        `following` the resulting index, which holds if the index is still the one of the plan.
        """
        async with self._locked():
            before = await asyncio.to_thread(self._read_index)
            written_ns = self._index.stat().st_mtime_ns if before is not None else 0
            if before != plan.index:
                following = await self._next_index(plan, moved, kept)
            await asyncio.to_thread(self._replace_index, following)
            try:
                await plan.objects.move(commit, reason)
            except AgentError as error:
                if (await self._head(None))[0] == commit:
                    return  # git moved it, and ended badly
                await asyncio.to_thread(self._replace_index, before, written_ns)
                title = "HEAD was moved meanwhile, or cannot be moved."
                raise AgentError(title, hint=f"{UNTOUCHED} Try again.", detail=error.detail) from error

    def _read_index(self) -> bytes | None:
        return self._index.read_bytes() if self._index.exists() else None

    def _replace_index(self, content: bytes | None, written_ns: int | None = None) -> None:
        """Write the index. The caller holds its lock. Git looks at files that are not older than `written_ns`."""
        if content is None:
            self._index.unlink()
            return
        draft = self._git_dir / f"next-index-{os.getpid()}.lock"  # git uses such names, too
        draft.write_bytes(content)
        if self._index.exists():
            draft.chmod(self._index.stat().st_mode & 0o777)
        if written_ns is not None:
            os.utime(draft, ns=(written_ns, written_ns))
        draft.replace(self._index)

    async def undo(self, commit: str) -> None:
        seen, known, quickest = await asyncio.to_thread(self._look_at_index)
        tip = await self._tip(known)
        if tip.oid != commit:
            raise AgentError("It is not the last commit any more.", hint="Revert it with git.")
        remote = await self._git.ask("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes")
        if remote:
            raise AgentError("The commit was pushed already.", hint="Revert it with git.")
        parent, *others = (await self._git.ask("log", "-1", "--format=%P", commit)).split() or [""]
        if others:
            raise AgentError("It is a merge.", hint="Undo it with git.")
        plain = Objects(self._git, tip, self._folder)
        moved, back = (
            await plain.difference(commit, parent or tip.none),
            await plain.difference(parent or tip.none, commit),
        )
        objects = await quickest(plain, set(moved), seen) if quickest is not None else plain
        staged = await objects.staged()
        both = moved.keys() & staged.keys()
        ours, old, new = await objects.versions(*({path: one[path] for path in both} for one in (staged, back, moved)))
        kept: States = {}
        for path in both:
            try:
                kept[path] = merge_states(old[path], ours[path], new[path])
            except ClashError as error:
                title = f"Another version of {name_on_a_line(self._inner(path))} is staged."
                raise AgentError(title, hint="Unstage it first. Nothing was changed.") from error
        reason = f"undo commit: moving to {parent[:12] or 'before the first commit'}"
        plan = _Plan(tip, objects, {}, staged, Fitted(), seen)
        following = await self._next_index(plan, moved, kept)
        with _too_late_to_stop(self._move(plan, moved, kept, following, parent, reason)) as moving:
            await unhurried(moving)


@contextmanager
def _too_late_to_stop(move: Coroutine[None, None, None]) -> Generator["asyncio.Task[None]"]:
    """Ignore a cancellation, because `move` was carried out. Raises what `move` raised."""
    moving = asyncio.create_task(move)
    try:
        yield moving
    except asyncio.CancelledError:
        moving.result()


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
            raise AgentError(f"The hook {name} refused the commit.", hint=UNTOUCHED, detail=output)

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
            raise AgentError("The message of the commit is empty.", hint=UNTOUCHED)
        return text
