"""The files as a patch leaves them, before any of it is written: later parts see what earlier parts did."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.diff.text import line_count
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.tools.files.target import Target, edit_target, load_target, not_found, text_of
from desktop_agent.core.tools.files.textfile import NotTextError, TextFile
from desktop_agent.core.tools.patches.apply import apply_hunks
from desktop_agent.core.tools.patches.model import FilePatch, PatchError
from desktop_agent.core.tools.tool import ToolContext

_NO_FILE = "file did not exist"
_MOST_NOTES = 10


class PatchDraft(Struct):
    """What becomes of each file that the parts of a patch name."""

    context: ToolContext
    file_path: str | None
    """The one file that may be changed; None: those that the patch names."""
    entries: list[JsonObject] = field(default_factory=list[JsonObject])
    """What is said of each part."""
    _before: dict[str, FileState | None] = field(default_factory=dict[str, FileState | None])
    _after: dict[str, FileState | None] = field(default_factory=dict[str, FileState | None])
    _moves: dict[str, str] = field(default_factory=dict[str, str])
    """Where files went, by the path that each had before the patch."""

    def add(self, patch: FilePatch) -> None:
        """Take one part of the patch in. Raises `ToolError` when it cannot be done exactly."""
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
        """Return the plan: files that go away come last."""
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
        content = patch.content.encode()
        if patch.hunks:
            content = apply_hunks(TextFile(b""), patch.hunks).content
        self._put(target, FileState(content=content, mode=_mode(new_file_mode(), patch)))
        return {"path": target.path, "action": "Add", "added": line_count(content), "removed": 0}

    def _delete_file(self, patch: FilePatch, path: str) -> JsonObject:
        target = self._target(path, follow=False)
        if target.before is None:
            return {"path": target.path, "action": "Delete", "added": 0, "removed": 0, "note": _NO_FILE}
        if patch.hunks and apply_hunks(text_of(target, target.before), patch.hunks).content:
            raise PatchError("the file has lines that the patch does not remove, so it was not deleted. Read it again.")
        self._put(target, None)
        is_text = target.before.kind == "file" and b"\0" not in target.before.content
        removed = line_count(target.before.content) if is_text else 0
        return {"path": target.path, "action": "Delete", "added": 0, "removed": removed}

    def _update_file(self, patch: FilePatch, path: str) -> JsonObject:
        source = self._target(patch.source_path or path, follow=patch.source_path is None)
        if patch.is_copy:  # git copies what was there before the patch
            source = replace(source, before=self._before[source.path])
        if source.before is None:
            raise not_found(patch.source_path or path, source.absolute, self.context.boundary)
        after = source.before
        entry: JsonObject = {"path": source.path, "action": "Update", "added": 0, "removed": 0}
        if patch.hunks:
            if after.kind == "symlink":
                raise PatchError("it is a symlink. Move it without changing it, or change the file it leads to.")
            patched = apply_hunks(text_of(source, after), patch.hunks, patch.alternatives)
            after = replace(after, content=patched.content)
            entry |= {"added": patched.added, "removed": patched.removed}
            if patched.notes:
                more = len(patched.notes) - _MOST_NOTES
                entry["fuzz"] = "; ".join(patched.notes[:_MOST_NOTES]) + (f"; and {more} more" if more > 0 else "")
        after = replace(after, mode=_mode(after.mode, patch))
        if patch.source_path is None:
            self._put(source, after)
            return entry
        target = self._target(path)
        if target.path == source.path:
            raise PatchError("it would be moved to itself.")
        if target.before is not None:
            raise ToolError(f"{target.path} exists, so {source.path} cannot be moved there. Delete it first.")
        self._put(target, after)
        if not patch.is_copy:
            self._put(source, None)
            origin = next((first for first, now in self._moves.items() if now == source.path), source.path)
            self._moves[origin] = target.path
        return entry | {"path": target.path, "from": source.path, "action": "Copy" if patch.is_copy else "Move"}

    def _is_move(self, source: str, target: str) -> bool:
        """Whether one file went from here to there: later parts may have made or deleted one at either end."""
        is_gone = self._before[source] is not None and self._after[source] is None
        return is_gone and self._after[target] not in (None, self._before[target])

    def _path(self, patch: FilePatch) -> str:
        """Return what the file is called. Raises `ToolError` when it is not the one that may be changed."""
        if self.file_path is None:
            if not patch.paths:
                raise ToolError("The patch names no file. Say which one in file_path, or in a header of the patch.")
            return (
                self._existing(patch.paths) if patch.action != "Add" and patch.source_path is None else patch.paths[0]
            )
        if not patch.paths:
            return self.file_path
        allowed = self._located(self.file_path)
        named = patch.paths if patch.source_path is None else (patch.source_path,)
        if matching := next((path for path in named if self._located(path) == allowed), None):
            return matching if patch.source_path is None else patch.paths[0]
        message = f"patch header path '{named[0]}' does not match file_path '{self.file_path}'."
        if patch.source_path is not None:
            message += f" The patch renames '{patch.source_path}' to '{patch.paths[0]}': run rename_file first, then "
            message += "apply the changes to the new name; or leave file_path out."
        elif len(patch.paths) > 1 and patch.paths[-1] not in patch.paths[0]:
            message += " If the file is to be renamed, run rename_file first."
        else:
            message += " Correct one of them, or leave file_path out."
        raise ToolError(message, error_type="validation")

    def _existing(self, paths: Sequence[str]) -> str:
        for path in paths:
            try:
                if self._target(path).before is not None:
                    return path
            except ToolError:
                if len(paths) == 1:
                    raise
        return paths[0]

    def _located(self, path: str) -> str | None:
        try:
            return self.context.boundary.for_writing(path).relative
        except ToolError:
            if path == self.file_path:
                raise
            return None

    def _target(self, path: str, *, follow: bool = True) -> Target:
        """Return the file as earlier parts of the patch leave it."""
        if follow:
            target = edit_target(path, self.context)
        else:
            target = load_target(self.context.boundary.for_writing(path), path, self.context)
        self._before.setdefault(target.path, target.before)
        return replace(target, before=self._after.setdefault(target.path, target.before))

    def _put(self, target: Target, state: FileState | None) -> None:
        self._after[target.path] = state


def _mode(mode: int, patch: FilePatch) -> int:
    if patch.is_executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if patch.is_executable else mode & ~0o111
