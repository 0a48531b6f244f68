"""`rename_file`: move a file or a symlink itself. The moved and the replaced file can both be restored."""

import os
from pathlib import Path

from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.files.file_tool import PathText, Target, load_target, not_found
from desktop_agent.core.tools.tool import EditPlan, EditTool, ToolArguments, ToolContext, edit_answer

_IDENTICAL = "source and destination paths are identical"


class RenameFileArguments(ToolArguments):
    source_path: PathText = Field(description="The file to move, relative to the workspace.")
    dest_path: PathText = Field(description="Its new path, with the file name, relative to the workspace.")
    overwrite: bool = Field(default=False, description="Replace a file that is at the new path.")
    create_dest_parent: bool = Field(default=True, description="Create missing directories of the new path.")
    dry_run: bool = Field(default=False, description="Check that it can be done, and write nothing.")


class RenameFile(EditTool[RenameFileArguments]):
    name = "rename_file"
    description = (
        "Rename or move one file, text or binary. Directories are refused. A symlink is moved itself. A file at the "
        "new path is an error unless overwrite is true."
    )
    arguments_type = RenameFileArguments

    def title(self, arguments: RenameFileArguments) -> str:
        return f"{arguments.source_path} → {arguments.dest_path}"

    def plan(self, arguments: RenameFileArguments, context: ToolContext) -> EditPlan:
        place = context.boundary.for_writing(arguments.source_path)
        goal = context.boundary.for_writing(arguments.dest_path)
        if place.absolute == goal.absolute:
            raise ToolError(_IDENTICAL, error_type="validation")
        source = load_target(place, arguments.source_path, context)
        if source.before is None:
            raise not_found(arguments.source_path, source.absolute, context.boundary)
        dest = load_target(goal, arguments.dest_path, context)
        if dest.before is not None:
            _require_replaceable(arguments, source, dest)
        if not arguments.create_dest_parent and not dest.absolute.parent.is_dir():
            raise ToolError(f"parent directory missing: {dest.absolute.parent}", error_type="not_found")
        answer: JsonObject = {
            "ok": True,
            "action": "rename",
            "source": source.path,
            "dest": dest.path,
            "overwritten": dest.before is not None,
        }
        is_moved_link = source.before.kind == "symlink" and source.absolute.parent != dest.absolute.parent
        if is_moved_link and not Path(os.fsdecode(source.before.content)).is_absolute():
            answer["note"] = "the symlink is relative, and leads somewhere else from its new place"
        # If the target is the same as the source, the source is just removed.
        moved_to = dest.path if dest.before != source.before else ""
        return EditPlan(
            writes=(
                FileTransition(dest.path, before=dest.before, after=source.before, moved_from=source.path),
                FileTransition(source.path, before=source.before, after=None, moved_to=moved_to),
            ),
            content=edit_answer(answer, arguments),
            metadata={"path": dest.path, "source": source.path, "action": "rename"},
        )


def _require_replaceable(arguments: RenameFileArguments, source: Target, dest: Target) -> None:
    if source.absolute.is_symlink() and source.absolute.resolve() == dest.absolute:
        raise ToolError(f"{_IDENTICAL}: {source.path} is a symlink to {dest.path}", error_type="validation")
    is_one_entry = source.absolute.parent == dest.absolute.parent and (
        source.absolute.name.casefold() == dest.absolute.name.casefold()
    )
    if is_one_entry and os.path.samestat(source.absolute.lstat(), dest.absolute.lstat()):
        raise ToolError(
            f"{source.path} and {dest.path} differ only in upper and lower case, and this file system takes them for "
            "the same file. Nothing was changed. Rename it with two 'mv' commands in run_terminal_cmd, by way of "
            "another name."
        )
    if not arguments.overwrite:
        raise ToolError(
            f"{dest.path} exists; nothing was changed. Choose another name, or set overwrite to replace it."
        )
