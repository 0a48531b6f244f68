"""`apply_patch`: change any number of files at once, exactly as a patch says, or none of them."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import AfterValidator, Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.diff.text import line_count
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.tools.files.file_tool import (
    PathText,
    Target,
    edit_target,
    encoding_note,
    load_target,
    not_found,
    text_of,
)
from desktop_agent.core.tools.files.text_files import NotTextError, Splice, TextFile, as_shown, splice
from desktop_agent.core.tools.patches import (
    ANY_ENDING,
    ANY_INDENT,
    EXACT,
    MOST_LINES_MOVED,
    FilePatch,
    HunkLocation,
    PatchError,
    PatchHunk,
    parse_patch,
    place_all,
)
from desktop_agent.core.tools.tool import EditPlan, EditTool, ToolArguments, ToolContext, edit_answer

_NO_FILE = "file did not exist"
_MOST_NOTES = 10


class PatchDraft(Struct):
    context: ToolContext
    file_path: str | None
    """The only file that may be changed; None for all that the patch names."""
    entries: list[JsonObject] = field(default_factory=list[JsonObject])
    _before: dict[str, FileState | None] = field(default_factory=dict[str, FileState | None])
    _after: dict[str, FileState | None] = field(default_factory=dict[str, FileState | None])
    _moves: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, patch: FilePatch) -> None:
        path = self._path(patch)
        try:
            match patch.action:
                case "Add":
                    entry = self._add_file(patch, path)
                case "Delete":
                    entry = self._delete_file(patch, path)
                case "Update":
                    entry = self._update_file(patch, path)
        except (PatchError, NotTextError) as error:
            raise ToolError(f"{path}: {error}") from error
        self.entries.append(entry)

    def writes(self) -> tuple[FileTransition, ...]:
        moves = {source: target for source, target in self._moves.items() if self._is_move(source, target)}
        sources = {target: source for source, target in moves.items()}
        changed = [
            FileTransition(
                path,
                before=before,
                after=self._after[path],
                moved_from=sources.get(path, ""),
                moved_to=moves.get(path, ""),
            )
            for path, before in self._before.items()
            if before != self._after[path]
        ]
        return tuple(sorted(changed, key=lambda write: write.after is None))

    def _add_file(self, patch: FilePatch, path: str) -> JsonObject:
        target = self._target(path)
        if target.before is not None:
            raise ToolError(
                f"{target.path} exists, and '*** Add File' only makes new files. Use '*** Update File' to change it, "
                "or create_file with if_exists='overwrite' to replace its whole content."
            )
        content = apply_hunks(TextFile(b""), patch.hunks).content if patch.hunks else b""
        self._after[target.path] = FileState(content=content, mode=_mode(new_file_mode(), patch))
        return {"path": target.path, "action": "Add", "added": line_count(content), "removed": 0}

    def _delete_file(self, patch: FilePatch, path: str) -> JsonObject:
        target = self._target(path, follow=False)
        if target.before is None:
            return {"path": target.path, "action": "Delete", "added": 0, "removed": 0, "note": _NO_FILE}
        if patch.hunks and apply_hunks(text_of(target, target.before), patch.hunks).content:
            raise PatchError("the file has lines that the patch does not remove, so it was not deleted. Read it again.")
        self._after[target.path] = None
        is_text = target.before.kind == "file" and b"\0" not in target.before.content
        removed = line_count(target.before.content) if is_text else 0
        return {"path": target.path, "action": "Delete", "added": 0, "removed": removed}

    def _update_file(self, patch: FilePatch, path: str) -> JsonObject:
        source = self._target(patch.source_path or path, follow=patch.source_path is None)
        if patch.is_copy:  # git copies the file as it was before the patch
            source = replace(source, before=self._before[source.path])
        if source.before is None:
            raise not_found(patch.source_path or path, source.absolute, self.context.boundary)
        after = source.before
        entry: JsonObject = {"path": source.path, "action": "Update", "added": 0, "removed": 0}
        if patch.hunks:
            if after.kind == "symlink":
                raise PatchError("it is a symlink. Move it without changing it, or change the file it leads to.")
            file = text_of(source, after, "".join(line for hunk in patch.hunks for line in hunk.lines))
            patched = apply_hunks(file, patch.hunks, patch.alternatives)
            after = replace(after, content=patched.content)
            entry |= {"added": patched.added, "removed": patched.removed} | encoding_note(file)
            if patched.notes:
                more = len(patched.notes) - _MOST_NOTES
                entry["fuzz"] = "; ".join(patched.notes[:_MOST_NOTES]) + (f"; and {more} more" if more > 0 else "")
        after = replace(after, mode=_mode(after.mode, patch))
        if patch.source_path is None:
            self._after[source.path] = after
            return entry
        target = self._target(path)
        if target.path == source.path:
            raise PatchError("it would be moved to itself.")
        if target.before is not None:
            raise ToolError(f"{target.path} exists, so {source.path} cannot be moved there. Delete it first.")
        self._after[target.path] = after
        if not patch.is_copy:
            self._after[source.path] = None
            origin = next((first for first, now in self._moves.items() if now == source.path), source.path)
            self._moves[origin] = target.path
        return entry | {"path": target.path, "from": source.path, "action": "Copy" if patch.is_copy else "Move"}

    def _is_move(self, source: str, target: str) -> bool:
        is_gone = self._before[source] is not None and self._after[source] is None
        return is_gone and self._after[target] not in (None, self._before[target])

    def _path(self, patch: FilePatch) -> str:
        if self.file_path is None:
            if not patch.paths:
                raise ToolError("The patch names no file. Say which one in file_path, or in a header of the patch.")
            return self._existing(patch) if patch.action != "Add" and patch.source_path is None else patch.paths[0]
        if not patch.paths:
            return self.file_path
        allowed = self._located(self.file_path)
        named = (*patch.paths, *patch.other_paths) if patch.source_path is None else (patch.source_path,)
        if matching := next((path for path in named if self._located(path) == allowed), None):
            return matching if patch.source_path is None else patch.paths[0]
        message = f"patch header path '{named[0]}' does not match file_path '{self.file_path}'."
        if patch.source_path is not None:
            message += f" The patch renames '{patch.source_path}' to '{patch.paths[0]}': run rename_file first, then "
            message += "apply the changes to the new name; or leave file_path out."
        elif patch.other_paths:
            message += " If the file is to be renamed, run rename_file first."
        else:
            message += " Correct one of them, or leave file_path out."
        raise ToolError(message, error_type="validation")

    def _existing(self, patch: FilePatch) -> str:
        found = [path for path in patch.paths if self._exists(path, is_only=len(patch.paths) == 1)]
        others = [path for path in patch.other_paths if self._exists(path, is_only=False)]
        if others or (patch.other_paths and len(found) > 1):
            raise ToolError(
                f"The header at line {patch.line} of the patch names two files, {patch.other_paths[0]!r} and "
                f"{patch.paths[0]!r}, and does not say which is changed. For a rename write 'rename from' and 'rename "
                "to' lines, or '*** Move to:'; else name the same file twice.",
                error_type="validation",
            )
        return found[0] if found else patch.paths[0]

    def _exists(self, path: str, *, is_only: bool) -> bool:
        try:
            return self._target(path).before is not None
        except ToolError:
            if is_only:
                raise
            return False

    def _located(self, path: str) -> str | None:
        try:
            return self.context.boundary.for_writing(path).relative
        except ToolError:
            if path == self.file_path:
                raise
            return None

    def _target(self, path: str, *, follow: bool = True) -> Target:
        if follow:
            target = edit_target(path, self.context)
        else:
            target = load_target(self.context.boundary.for_writing(path), path, self.context)
        self._before.setdefault(target.path, target.before)
        return replace(target, before=self._after.setdefault(target.path, target.before))


def _mode(mode: int, patch: FilePatch) -> int:
    if patch.is_executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if patch.is_executable else mode & ~0o111


_MARK = "\ufeff"


class Patched(Struct, frozen=True):
    content: bytes
    added: int
    removed: int
    notes: tuple[str, ...]


def apply_hunks(
    file: TextFile, hunks: Sequence[PatchHunk], alternatives: Sequence[Sequence[PatchHunk]] = ()
) -> Patched:
    """Apply the hunks, or `alternatives` that fit. Raises `PatchError`, and `NotTextError` for unfit characters."""
    raw = list(file.lines)
    names_mark = file.has_mark and any(text.startswith(_MARK) for hunk in hunks for text in hunk.old)
    if names_mark:  # git treats the byte-order mark as part of the first line
        raw[:1] = [_MARK + line for line in raw[:1] or [""]]
    shown = [as_shown(line.removesuffix("\n")) for line in raw]
    has_lost = any("\ufffd" in text and "\ufffd" not in line for text, line in zip(shown, raw, strict=True))
    places = _place(shown, hunks, alternatives)
    splices: list[Splice] = []
    for place in places:
        if has_lost and any("\ufffd" in line for line in place.hunk.lines if line[0] == "+"):
            raise PatchError(
                "a new line has U+FFFD, which stands for bytes of the file that are no valid text. Change only lines "
                "without it."
            )
        splices += _splices(place, raw, shown)
    signs = [line[0] for place in places for line in place.hunk.lines]
    lines = splice(raw, splices)
    has_mark = not names_mark or (bool(lines) and lines[0].startswith(_MARK))
    if names_mark and has_mark:
        lines[0] = lines[0].removeprefix(_MARK)
    return Patched(
        content=file.encoded(lines, has_mark=has_mark),
        added=signs.count("+"),
        removed=signs.count("-"),
        notes=tuple(f"hunk {number}: {place.note}" for number, place in enumerate(places, start=1) if place.note),
    )


def _place(
    shown: Sequence[str], hunks: Sequence[PatchHunk], alternatives: Sequence[Sequence[PatchHunk]]
) -> list[HunkLocation]:
    if not alternatives:
        return place_all(shown, hunks)
    problem = PatchError()
    for loosest in (ANY_ENDING, ANY_INDENT):
        for reading in (hunks, *alternatives):
            try:
                return place_all(shown, reading, loosest=loosest)
            except PatchError as error:
                problem = error
    raise problem


def _splices(place: HunkLocation, raw: Sequence[str], shown: Sequence[str]) -> list[Splice]:
    hunk = place.hunk
    matched = raw[place.start : place.end]
    indent = _Indent(hunk.old, shown[place.start : place.end]) if place.level == ANY_INDENT else None
    is_verbatim = place.level == EXACT and (
        any(line.endswith("\n") for line in matched) or any(text.endswith("\r") for text in hunk.new)
    )
    splices: list[Splice] = []
    added: list[str] = []
    at = begin = place.start
    for line in (*hunk.lines, None):
        if line is not None and line[0] == "+":
            added.append(line[1:] if indent is None else indent.adapted(line[1:]))
            continue
        if line is not None and line[0] == "-":
            at += 1
            continue
        if added or at > begin:
            end = hunk.ends_with_newline if line is None else None
            splices.append(
                Splice(start=begin, end=at, added=tuple(added), is_verbatim=is_verbatim, ends_with_newline=end)
            )
        added = []
        at += 1
        begin = at
    return splices


class _Indent:
    def __init__(self, said: Sequence[str], real: Sequence[str]) -> None:
        self._known: dict[str, str] = {}
        for mine, theirs in zip(said, real, strict=True):
            if mine.strip() and self._known.setdefault(_indent(mine), _indent(theirs)) != _indent(theirs):
                raise PatchError(_UNCLEAR_INDENT)

    def adapted(self, text: str) -> str:
        indent = _indent(text)
        if not text.strip() or all(mine == theirs for mine, theirs in self._known.items()):
            return text
        if indent in self._known:
            return self._known[indent] + text[len(indent) :]
        for mine, theirs in self._known.items():
            if theirs.endswith(mine) and all(b == theirs.removesuffix(mine) + a for a, b in self._known.items()):
                return theirs.removesuffix(mine) + text
            if mine.endswith(theirs) and all(a == mine.removesuffix(theirs) + b for a, b in self._known.items()):
                extra = mine.removesuffix(theirs)
                if text.startswith(extra):
                    return text[len(extra) :]
        raise PatchError(_UNCLEAR_INDENT)


_UNCLEAR_INDENT = (
    "the lines of a hunk are in the file with another indent, and what that makes of the new lines is not clear. Read "
    "the file again and write the hunk with its exact white space."
)


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


_MOST_PATHS_IN_TITLE = 3


def _has_text(patch: str) -> str:
    if not patch.strip():
        raise ValueError("the patch is empty")
    return patch


class ApplyPatchArguments(ToolArguments):
    patch: Annotated[str, AfterValidator(_has_text)] = Field(
        description="The patch. Either '*** Begin Patch', then for each file '*** Update File: path' (optionally "
        "'*** Move to: path') with hunks, '*** Add File: path' with '+' lines or '*** Delete File: path', then "
        "'*** End Patch'; or a unified diff as git writes it; or, with file_path, hunks alone or '- old' and '+ new' "
        "lines. A hunk is lines that begin with ' ' (stays), '-' (remove) or '+' (add), below '@@' or '@@ def name'."
    )
    file_path: PathText | None = Field(
        default=None, description="The file, when the patch does not name it. Headers must not name another one."
    )
    dry_run: bool = Field(default=False, description="Check that the patch applies, and write nothing.")


class ApplyPatch(EditTool[ApplyPatchArguments]):
    name = "apply_patch"
    description = (
        "Apply a patch to one or more files: all of it or nothing. Give about three lines of context around each "
        "change, and '@@ class X' or '@@ def y' lines where the context is not unique. Lines are found by their text; "
        "white space at their ends may differ, and line numbers may be off by up to "
        f"{MOST_LINES_MOVED}, but a place that is not unique is refused. Line endings and encoding of the files are "
        "kept. Binary patches are not supported. Refused when a file changed since you read it."
    )
    arguments_type = ApplyPatchArguments

    def title(self, arguments: ApplyPatchArguments) -> str:
        try:
            parts = parse_patch(arguments.patch)
        except PatchError:
            return arguments.file_path or self.name
        paths = list(dict.fromkeys(part.paths[0] if part.paths else arguments.file_path or self.name for part in parts))
        more = f" and {len(paths) - _MOST_PATHS_IN_TITLE} more" if len(paths) > _MOST_PATHS_IN_TITLE else ""
        return ", ".join(paths[:_MOST_PATHS_IN_TITLE]) + more

    def plan(self, arguments: ApplyPatchArguments, context: ToolContext) -> EditPlan:
        draft = PatchDraft(context, arguments.file_path)
        try:
            for part in parse_patch(arguments.patch):
                draft.add(part)
        except PatchError as error:
            raise ToolError(f"The patch cannot be read: {error}") from error
        except ToolError as error:
            text = str(error)
            if "Nothing was" not in text:
                text += " Nothing was changed."
            raise ToolError(text, error_type=error.error_type) from error
        return EditPlan(
            writes=draft.writes(),
            content=edit_answer(_answer(draft.entries), arguments),
            metadata={"files": list(draft.entries)} | _of_single(draft.entries),
        )


def _answer(entries: list[JsonObject]) -> JsonObject:
    answer: JsonObject = {"ok": True} | (_of_single(entries) or {"action": "Patch"})
    answer["files"] = entries
    notes = [f"{entry['path']}: {entry['note']}" for entry in entries if "note" in entry]
    if notes:
        answer["note"] = str(entries[0]["note"]) if len(entries) == 1 else "; ".join(notes)
    fuzz = [f"{entry['path']}: {entry['fuzz']}" for entry in entries if "fuzz" in entry]
    if fuzz:
        answer["fuzz"] = "; ".join(fuzz)
    return answer


def _of_single(entries: list[JsonObject]) -> JsonObject:
    return {"action": entries[0]["action"], "path": entries[0]["path"]} if len(entries) == 1 else {}
