"""`delete_file`: remove one file or one symlink, never what a symlink points to, never a folder."""

import json

from pydantic import Field

from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.arguments import PathText
from desktop_agent.core.tools.files.target import load_target
from desktop_agent.core.tools.spec import EditPlan, EditTool, ToolArguments, ToolContext


class DeleteFileArguments(ToolArguments):
    """Which file."""

    path: PathText = Field(description="The file, relative to the workspace.")


class DeleteFile(EditTool[DeleteFileArguments]):
    """Removes files."""

    name = "delete_file"
    description = (
        "Delete a file. Directories are refused. A symlink is deleted itself; what it points to stays. A file that "
        "does not exist is not an error."
    )
    capabilities = ("write_fs",)
    arguments_type = DeleteFileArguments

    def title(self, arguments: DeleteFileArguments) -> str:
        return arguments.path

    def plan(self, arguments: DeleteFileArguments, context: ToolContext) -> EditPlan:
        """Plan the removal. Raises `ToolError` for what is no file, and for one that changed since it was read."""
        place = context.boundary.for_writing(arguments.path)
        target = load_target(place, arguments.path, context)
        if target.before is None:
            answer = {"ok": True, "path": target.path, "note": "file did not exist"}
            return EditPlan(writes=(), content=json.dumps(answer, ensure_ascii=False))
        return EditPlan(
            writes=(FileTransition(target.path, before=target.before, after=None),),
            content=json.dumps({"ok": True, "path": target.path}, ensure_ascii=False),
            metadata={"path": target.path, "action": "delete"},
        )
