"""Variants: worktrees in which models work on the same prompt, and what is taken from several of them at once.

A record ties the variants of a prompt together. It names each worktree before it is made, so a kill loses none.
"""

import asyncio
import json
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Final

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, UsageError, storage_error
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.base.learned import learned
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import MODE, all_keys, edits_by_key
from desktop_agent.core.merge import ClashError, merge_states, without_hunks
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileDiff, ModelRef
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.file_writes import write_private
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.system.git.git_process import NoRepositoryError
from desktop_agent.core.transcript import replay
from desktop_agent.core.undo.plan import draft_revert
from desktop_agent.core.worktrees.bring_back import FolderOffer, WorktreeOffer, present_state
from desktop_agent.core.worktrees.worktrees import git_in

MOST: Final = 6
_PLAN: Final = "variants.json"
_MOST_COMPARED: Final = 100
"""With more hunks than this in a file, all are offered, because each is merged to see whether it is there."""
_GONE: Final = "The variant has changed since, so nothing was taken."
_AGAIN: Final = "Look at the variants again, then choose."


class Variant(Struct, frozen=True):
    worktree: str
    model: str
    """The model or agent as the user named it."""
    choice: str = ""
    """The window's key for that model or agent; empty if the variant was begun elsewhere."""


class VariantCheck(Struct, frozen=True, kw_only=True):
    """How the user's command ended in a worktree."""

    command: str
    exit_code: int | None = None
    """`None`: it was not run, and `output` says why."""
    output: str = ""
    duration_s: float = 0.0

    @property
    def is_passed(self) -> bool:
        return self.exit_code == 0


class VariantSet(Struct, frozen=True, kw_only=True):
    id: str
    folder: str
    prompt: str
    variants: tuple[Variant, ...]
    made_at: datetime
    check: str = ""
    """A command to run in each worktree when its model has finished."""


class VariantRecords:
    """The records of all variants, one folder for each prompt: the plan, and how the user's command ended in each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(
        self, folder: Path, prompt: str, models: Sequence[str], *, check: str, at: datetime, choices: Sequence[str] = ()
    ) -> VariantSet:
        """Record variants to make. Their worktrees do not exist yet. Blocks. Raises `AgentError`."""
        if not 1 < len(models) <= MOST:
            raise UsageError(f"There can be 2 to {MOST} variants, not {len(models)}.")
        name = f"try-{secrets.token_hex(3)}"
        given = choices or [""] * len(models)
        variants = tuple(
            Variant(f"{name}-{number}", *pair) for number, pair in enumerate(zip(models, given, strict=True), start=1)
        )
        made = VariantSet(id=name, folder=str(folder), prompt=prompt, variants=variants, made_at=at, check=check)
        self._write(name, _PLAN, made)
        return made

    def all(self) -> list[VariantSet]:
        """The newest first. Blocks."""
        found: list[VariantSet] = []
        for path in self._folder.glob(f"*/{_PLAN}"):
            with suppress(OSError, ValueError):  # it was forgotten meanwhile, or is not ours
                found.append(convert(json.loads(path.read_bytes()), learned(VariantSet)))
        return sorted(found, key=lambda one: one.made_at, reverse=True)

    def note(self, worktree: str, check: VariantCheck) -> None:
        """Record how the command ended, if the worktree belongs to variants. Blocks. Raises `StorageError`."""
        name = worktree.rpartition("-")[0]
        if name and (self._folder / name).is_dir():
            self._write(name, f"{worktree}.json", check)

    def checks(self, variants: VariantSet) -> dict[str, VariantCheck]:
        """How the command ended, by worktree. Blocks."""
        found: dict[str, VariantCheck] = {}
        for one in variants.variants:
            with suppress(OSError, ValueError):  # it has not been run
                content = (self._folder / variants.id / f"{one.worktree}.json").read_bytes()
                found[one.worktree] = convert(json.loads(content), learned(VariantCheck))
        return found

    def forget(self, variants: VariantSet) -> None:
        """Forget that they belong together. The worktrees and sessions stay. Blocks."""
        shutil.rmtree(self._folder / variants.id, ignore_errors=True)

    def _write(self, name: str, file: str, content: Struct) -> None:
        place = self._folder / name
        with storage_error("The record of the variants cannot be written.", path=place):
            write_private(place / file, json.dumps(to_builtins(content), indent=1).encode())


async def require_repository(folder: Path) -> None:
    """Raise `UsageError` unless worktrees of the folder can be made."""
    with suppress(NoRepositoryError):
        if not (await (await git_in(folder)).run("rev-parse", "-q", "--verify", "HEAD^{commit}"))[0]:
            return
    raise UsageError(
        "Variants need a git repository with a commit, and the folder is in none.",
        hint="Run `git init`, `git add -A` and `git commit -m first` there, then try again.",
    )


# -- taking --


class Pick(Struct, frozen=True):
    worktree: str
    path: str
    """Relative to the offers' folder, once all have the same one."""
    hunks: tuple[HunkKey, ...] = ()
    """Empty: all of the file."""


class VariantClash(Struct, frozen=True):
    path: str
    line: int | None
    """The first line, in the committed file; `None` if they clash as files."""
    worktrees: tuple[str, str]


class VariantsClashError(AgentError):
    def __init__(self, clashes: Sequence[VariantClash]) -> None:
        where = [f"{name_on_a_line(one.path)}{f':{one.line}' if one.line else ''}" for one in clashes]
        pairs = [" ↔ ".join(one.worktrees) for one in clashes]
        lines = (f"{place}  {pair}" for place, pair in zip(where, pairs, strict=True))
        title = "Changes of the variants clash, so nothing was taken."
        super().__init__(title, hint="Take these lines from only one of them.", detail="\n".join(lines))
        self.clashes = tuple(clashes)


def in_one_folder(offers: Sequence[WorktreeOffer]) -> list[WorktreeOffer]:
    """Make the paths of all offers relative to the same folder."""
    folders = {offer.folder for offer in offers}
    if len(folders) == 1:
        return list(offers)
    moved: list[WorktreeOffer] = []
    for offer in offers:
        main = Path(offer.worktree.main)
        prefix = offer.folder.relative_to(main)
        transitions = tuple(replace(one, path=(prefix / one.path).as_posix()) for one in offer.transitions)
        left_out = tuple(replace(one, path=(prefix / one.path).as_posix()) for one in offer.left_out)
        moved.append(replace(offer, folder=main, transitions=transitions, left_out=left_out))
    return moved


def change_of(transition: FileTransition) -> FileChange:
    """Return the transition as a change, which is in no journal."""
    before, after = transition.before, transition.after
    return FileChange(
        id=transition.path,
        path=transition.path,
        kind="created" if before is None else "deleted" if after is None else "modified",
        author="agent",
        before=before.image() if before is not None else None,
        after=after.image() if after is not None else None,
    )


def difference(transition: FileTransition) -> FileDiff:
    before, after = transition.before, transition.after
    return diff_change(change_of(transition), before and before.content, after and after.content)


def left_to_take(offer: WorktreeOffer, transition: FileTransition) -> tuple[HunkKey, ...]:
    """Return the hunks that the folder does not have yet. Blocks."""
    keys = all_keys(difference(transition))
    if len(keys) > _MOST_COMPARED:
        return keys
    now = present_state(offer.folder, transition.path)
    return tuple(key for key in keys if not _is_there(Pick("", transition.path, (key,)), transition, now))


def _is_there(pick: Pick, transition: FileTransition, now: FileState | None) -> bool:
    try:
        return merge_states(transition.before, now, _chosen(pick, transition)) == now
    except ClashError:
        return False


def merged(offers: Sequence[WorktreeOffer], picks: Iterable[Pick]) -> FolderOffer:
    """Return what is picked from offers in one folder, as one. Blocks. Raises `VariantsClashError` or `AgentError`."""
    known = {(offer.worktree.name, one.path): one for offer in offers for one in offer.transitions}
    by_path: dict[str, list[tuple[Pick, FileTransition]]] = {}
    for pick in picks:
        transition = known.get((pick.worktree, pick.path))
        if transition is None:
            raise AgentError(_GONE, hint=_AGAIN, detail=name_on_a_line(pick.path))
        by_path.setdefault(pick.path, []).append((pick, transition))
    transitions: list[FileTransition] = []
    clashes: list[VariantClash] = []
    for path, picked in sorted(by_path.items()):
        before = now = picked[0][1].before
        for pick, transition in picked:
            try:
                now = merge_states(_common(before, transition), now, _chosen(pick, transition))
            except ClashError:
                clashes += _clashes(path, picked)
                break
        if now != before:
            transitions.append(FileTransition(path, before, now))
    if clashes:
        raise VariantsClashError(clashes)
    names = sorted({pick.worktree for picked in by_path.values() for pick, _ in picked})
    return FolderOffer(folder=offers[0].folder, transitions=tuple(transitions), prompt=f"Take from {', '.join(names)}.")


def require_room(offer: FolderOffer, blobs: Blobs) -> None:
    """Raise `AgentError` if a change clashes with what is in the folder. Blocks."""
    transcript = replay(offer.events(ModelRef(provider=DEMO, model=""), blobs))
    draft = draft_revert(transcript, Ledger(offer.folder, blobs), "redo", ChangeSelection())
    refused = [one for one in draft.outcomes() if not one.is_done] if draft is not None else []
    if refused:
        detail = "\n".join(f"{name_on_a_line(one.path)}: {one.reason}" for one in refused)
        hint = "Leave these files out, or bring them back from one worktree, where each clash can be settled."
        raise AgentError(
            "These changes clash with what is in the folder, so nothing was taken.", hint=hint, detail=detail
        )


async def taken(offers: Sequence[WorktreeOffer], picks: Sequence[Pick], blobs: Blobs) -> FolderOffer:
    """Return an offer of all that is picked, which a redo carries out as a whole. Raises `AgentError`."""
    offer = await asyncio.to_thread(merged, offers, picks)
    await asyncio.to_thread(require_room, offer, blobs)
    return offer


def _common(before: FileState | None, transition: FileTransition) -> FileState | None:
    if transition.before != before:  # a part of the file was brought back from one of the worktrees already
        raise ClashError
    return before


def _chosen(pick: Pick, transition: FileTransition) -> FileState | None:
    before, after = transition.before, transition.after
    if not pick.hunks:
        return after
    diff = difference(transition)
    keys = all_keys(diff)
    if not set(pick.hunks) <= set(keys):
        raise AgentError(_GONE, hint=_AGAIN, detail=name_on_a_line(pick.path))
    left = set(keys) - set(pick.hunks)
    if not left or before is None or after is None:
        return after
    mode = before.mode if MODE in left else after.mode
    if set(pick.hunks) == {MODE}:
        return replace(before, mode=mode)
    return replace(after, content=without_hunks(diff, left) if diff.edits else after.content, mode=mode)


def _clashes(path: str, picked: Sequence[tuple[Pick, FileTransition]]) -> Iterator[VariantClash]:
    for (one, first), (other, second) in combinations(picked, 2):
        names = (one.worktree, other.worktree)
        are_lines = first.before == second.before and None not in (first.before, first.after, second.after)
        lines = sorted(_touching(_edits(one, first), _edits(other, second))) if are_lines else []
        try:
            merge_states(first.before, _chosen(one, first), _chosen(other, second))
        except ClashError:
            yield from (VariantClash(path, line, names) for line in lines or [None])


def _edits(pick: Pick, transition: FileTransition) -> Mapping[tuple[int, int], tuple[str, ...]]:
    """Return the picked edits: the committed lines of each, and the lines that replace them."""
    diff = difference(transition)
    return {
        (edit.old_start, edit.old_end): tuple(diff.new_lines[edit.new_start : edit.new_end])
        for key, edits in edits_by_key(diff).items()
        if not pick.hunks or key in pick.hunks
        for edit in edits
    }


def _touching(
    ours: Mapping[tuple[int, int], tuple[str, ...]], theirs: Mapping[tuple[int, int], tuple[str, ...]]
) -> Iterator[int]:
    for (start, end), lines in ours.items():
        for (from_, to), others in theirs.items():
            if start <= to and from_ <= end and ((start, end), lines) != ((from_, to), others):
                yield min(start, from_) + 1
