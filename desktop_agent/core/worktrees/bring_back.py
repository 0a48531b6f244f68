"""Finds what a worktree has that its repository's folder lacks, and offers it there as changes to redo.

The offered changes lead from the version that both have to that of the worktree, and count as undone. So a redo merges
them into what is on disk, whole or by hunk, with three versions where they clash (ADR 24).
"""

import asyncio
import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, SessionNotFoundError
from desktop_agent.core.base.file_names import folders_above
from desktop_agent.core.base.ids import ChangeId, HunkKey, SessionId, change_id, new_prompt_id
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.workspace_files import StoredImages
from desktop_agent.core.commits.objects import contents_of, raw_entries, versions_of
from desktop_agent.core.commits.selected_lines import States, as_git_keeps
from desktop_agent.core.diff.hunks import WHOLE_FILE, all_keys
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileImage, LeftOut, ModelRef
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode, read_state
from desktop_agent.core.system.git.git_process import UsersGit
from desktop_agent.core.transcript import Transcript, Undone, replay
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.composition import Composition
from desktop_agent.core.undo.plan import draft_revert
from desktop_agent.core.worktrees.worktrees import Worktree, Worktrees, git_in, git_of

_TURN: Final = 1
_LARGEST_BYTES: Final = 50 * 2**20
_CONFLICTS: Final = "It has conflicts in the worktree. Resolve them there first."
_NESTED: Final = "It belongs to another repository in the worktree."


class FolderOffer(Struct, frozen=True, kw_only=True):
    folder: Path
    """Where the changes are brought back: the user's folder in the repository, or all of it if other files differ."""
    transitions: tuple[FileTransition, ...]
    prompt: str

    def events(self, model: ModelRef, blobs: Blobs) -> tuple[ev.KnownEvent, ...]:
        """Return the first turn of a session that brings the changes back. Blocks: stores the files."""
        with Ledger(self.folder, blobs).recorder() as recorder:
            for number, transition in enumerate(self.transitions, start=1):
                recorder.add(transition, author="agent", change_id=change_id(_TURN, number))
        return (
            ev.PromptSubmitted(turn=_TURN, prompt_id=new_prompt_id(), text=self.prompt),
            ev.TurnStarted(turn=_TURN, model=model),
            ev.ChangesRecorded(turn=_TURN, call_id="", changes=recorder.changes, is_offered=True),
            ev.TurnEnded(turn=_TURN, reason="completed", requests=0, duration_s=0.0),
        )


class WorktreeOffer(FolderOffer, frozen=True, kw_only=True):
    worktree: Worktree
    base: str
    """The commit where the worktree and the folder of its repository parted."""
    left_out: tuple[LeftOut, ...]
    git: tuple[UsersGit, UsersGit]
    """Git in the worktree, and in the folder of its repository."""


class Unmerged(Struct, frozen=True):
    files: int
    """How many files differ from the repository's folder, and from what was brought back to it."""
    commits: int
    """How many commits of the worktree the checkout of the repository's folder lacks."""


async def unmerged_in(worktrees: Worktrees, catalog: SessionCatalog, name: str) -> Unmerged:
    """Raises `AgentError`."""
    offer = await find_offer(worktrees, catalog, name)
    inner, outer = offer.git
    tip, head = await asyncio.gather(_commit(inner, "HEAD"), _commit(outer, "HEAD"))
    counted = await inner.ask("rev-list", "--count", tip, *([f"^{head}"] if head else [])) if tip else "0"
    return Unmerged(len(offer.transitions) + len(offer.left_out), int(counted))


async def find_offer(worktrees: Worktrees, catalog: SessionCatalog, name: str) -> WorktreeOffer:
    """Compare the present files of a worktree with those that were there before, or were brought back already.

    Uncommitted changes count, and those of any author; files that git ignores do not. Raises `AgentError`.
    """
    await note_brought(worktrees, catalog, name)
    seen = await worktrees.find(name)
    worktree = seen.worktree
    if not await asyncio.to_thread(seen.path.is_dir):
        hint = f"`desktop-agent worktrees restore {name}` puts back what git knows of it."
        raise AgentError(f"The folder of the worktree {name} is gone.", hint=hint)
    inner, outer = git = (await git_in(seen.path), await git_of(worktree))
    if inner.repository.git_dir != Path(worktree.git_dir):
        raise AgentError(
            f"The folder of the worktree {name} belongs to another repository.", hint=f"It is {seen.path}."
        )
    base = await _base(inner, outer, worktree)
    options = ("--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
    differing, listed, unmerged = await asyncio.gather(
        inner.ask("diff", "--raw", "-z", "-R", *options, base, "--"),
        inner.ask("ls-files", "-z", "--others", "--exclude-standard"),
        inner.ask("ls-files", "-z", "--unmerged"),
    )
    entries, new = raw_entries(differing), listed.split("\0")[:-1]
    clashing = {record.partition("\t")[2] for record in unmerged.split("\0")[:-1]}
    left = [LeftOut(path=path, reason=_CONFLICTS) for path in sorted(clashing)]
    left += [LeftOut(path=path.rstrip("/"), reason=_NESTED) for path in new if path.endswith("/")]
    standing = {path: one for path, one in entries.items() if path not in clashing}
    (before,) = await versions_of(standing, read=partial(contents_of, inner))
    brought = worktree.brought if worktree.brought_base == base else {}
    paths = {*before, *(path for path in new if not path.endswith("/")), *brought} - clashing
    compare = _Comparison(seen.path, Path(worktree.main), before, brought, StoredImages(catalog.blobs))
    transitions, unread = await asyncio.to_thread(compare.all, sorted(paths))
    left_out, folder, prefix = (*left, *unread), Path(worktree.main), worktree.prefix
    is_inside = all(one.path.startswith(prefix) for one in (*transitions, *left_out))
    if is_inside and await asyncio.to_thread((folder / prefix).is_dir):
        folder /= prefix
        transitions = tuple(replace(one, path=one.path.removeprefix(prefix)) for one in transitions)
        left_out = tuple(replace(one, path=one.path.removeprefix(prefix)) for one in left_out)
    return WorktreeOffer(
        folder=folder,
        transitions=transitions,
        prompt=f"Bring back the worktree {name}.",
        worktree=worktree,
        base=base,
        left_out=left_out,
        git=git,
    )


async def begin(worktrees: Worktrees, offer: WorktreeOffer, session_id: SessionId) -> None:
    """Record that a session brings the offered changes back. What it brings is not offered again."""

    def change(worktree: Worktree) -> None:
        if worktree.brought_base != offer.base:
            worktree.brought_base, worktree.brought = offer.base, {}
        worktree.brought_by = session_id

    await worktrees.note(offer.worktree.name, change)


async def note_brought(worktrees: Worktrees, catalog: SessionCatalog, name: str) -> None:
    """Record what the last session brought back, if its journal still exists."""
    worktree = (await worktrees.find(name)).worktree
    session_id = worktree.brought_by
    if not session_id:
        return
    found: dict[str, FileImage | None] | None = None
    with suppress(SessionNotFoundError):
        found = await asyncio.to_thread(_brought_by, catalog, session_id, Path(worktree.main))

    def change(worktree: Worktree) -> None:
        worktree.brought |= found or {}
        worktree.brought_by = session_id if found is not None else ""

    await worktrees.note(name, change)


async def _base(inner: UsersGit, outer: UsersGit, worktree: Worktree) -> str:
    tip, head = await asyncio.gather(_commit(inner, "HEAD"), _commit(outer, "HEAD"))
    code, parted, _ = await inner.run("merge-base", tip, head) if tip and head else (1, "", "")
    return worktree.base if code else parted.strip()


async def _commit(git: UsersGit, name: str) -> str:
    return (await git.run("rev-parse", "-q", "--verify", f"{name}^{{commit}}"))[1].strip()


class _Comparison(Struct, frozen=True):
    folder: Path
    main: Path
    committed: States
    brought: Mapping[str, FileImage | None]
    images: StoredImages

    def all(self, paths: Iterable[str]) -> tuple[tuple[FileTransition, ...], tuple[LeftOut, ...]]:
        """Return what differs, and what cannot be compared. Blocks."""
        found: list[FileTransition] = []
        left: list[LeftOut] = []
        for path in paths:
            try:
                found += self._of(path)
            except OSError as error:
                left.append(LeftOut(path=path, reason=refusals.UNREADABLE.format(error.strerror or error)))
        return tuple(found), tuple(left)

    def _of(self, path: str) -> Iterable[FileTransition]:
        before = self.images.state(self.brought[path]) if path in self.brought else self.committed.get(path)
        after, there = present_state(self.folder, path), present_state(self.main, path)
        kinds = {state.kind for state in (before, after, there) if state is not None}
        same = [state and as_git_keeps(state) for state in (before, after, there)]
        if kinds <= {"file", "symlink"} and same[1] not in (same[0], same[2]):
            yield FileTransition(path, _as_in(there, before), _as_in(there, after))


def present_state(root: Path, path: str) -> FileState | None:
    """Return what is at a path; a state without content for anything but a file. Raises `OSError`."""
    if any((root / folder).is_symlink() for folder in folders_above(path)):
        return None
    if os.path.lexists(root / path) and (root / path).lstat().st_size > _LARGEST_BYTES:
        raise OSError(errno.EFBIG, "it is larger than 50 MiB")
    return read_state(root / path, with_special=True, with_extras=False)


def _as_in(there: FileState | None, state: FileState | None) -> FileState | None:
    """Return a state with the permissions that the folder gives to such a file. Git keeps only whether it can run."""
    if state is None or state.kind != "file":
        return state and as_git_keeps(state)
    usual = there.mode if there is not None and there.kind == "file" else new_file_mode()
    runs = (usual & 0o444) >> 2
    return replace(state, mode=usual | runs if state.mode & 0o100 else usual & ~0o111)


class RedoPlan(Struct, frozen=True):
    selections: tuple[ChangeSelection, ...]
    """What to redo, one after the other: the whole selection, then the hunks of clashing files that do not clash."""
    files: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


def plan_redo(transcript: Transcript, ledger: Ledger, selection: ChangeSelection) -> RedoPlan:
    """Plan to bring back as much as possible of a selection. Blocks."""
    selections, left = [selection], list[LeftOut]()
    draft = draft_revert(transcript, ledger, "redo", selection)
    outcomes = draft.outcomes() if draft is not None else ()
    files = [one.path for one in outcomes if one.is_done]
    for refused in (one for one in outcomes if not one.is_done):
        change = next(one.change for one in transcript.changes.values() if one.change.path == refused.path)
        one_file = replace(selection, path=change.path)
        able: list[HunkKey] = []
        for key in selection.hunks or all_keys(ledger.images.diff(change)):
            draft = draft_revert(transcript, ledger, "redo", replace(one_file, hunks=(key,)))
            reasons = [one.reason for one in draft.outcomes() if not one.is_done] if draft is not None else [""]
            if not reasons:
                able.append(key)
            elif draft is not None:
                left.append(LeftOut(path=change.path, hunk=None if key == WHOLE_FILE else key, reason=reasons[0]))
        if able:
            selections.append(replace(one_file, hunks=tuple(able)))
            files.append(change.path)
    return RedoPlan(tuple(selections), tuple(files), tuple(left))


def _brought_by(catalog: SessionCatalog, session_id: SessionId, main: Path) -> dict[str, FileImage | None]:
    """Return the files that a session has brought back, even if that was undone since. Blocks.

    Their paths are relative to the repository's folder, `main`.
    """
    events, _ = read_journal(catalog.journal_path(session_id), catalog.blobs)
    transcript, images = replay(events), StoredImages(catalog.blobs)
    folder = Path(transcript.session.workspace)
    inner = folder.relative_to(main) if folder.is_relative_to(main) else Path()
    offered = {one.change.id: one for one in transcript.changes.values() if one.is_offered}
    never: dict[ChangeId, Undone] = dict.fromkeys(offered)
    for effect in transcript.changed.turned:
        for one, undone in effect.after.items():
            if one in never and undone is not None:
                known = never[one]
                never[one] = undone if known is None else known & undone
    found: dict[str, FileImage | None] = {}
    known = Composition(list(offered.values()), (), images)
    for one, record in offered.items():
        if never[one] is None:
            continue
        (lineage,) = (each for each in known.lineages_of([one]) if not each.came_along([one]))
        version = known.of(lineage, never)
        state = known.state(version.image) if version is not None else None
        if state is not None:
            images.keep(state)
        found[(inner / record.change.path).as_posix()] = state.image() if state is not None else None
    return found
