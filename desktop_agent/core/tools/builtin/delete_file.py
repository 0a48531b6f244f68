"""`delete_file`: remove one file or one symlink, but no link target and no folder."""

from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.files.file_tool import FileArguments, FileEditTool, load_target
from desktop_agent.core.tools.tool import EditPlan, ToolContext, json_text


class DeleteFile(FileEditTool[FileArguments]):
    name = "delete_file"
    description = (
        "Delete a file. Directories are refused. A symlink is deleted itself; what it points to stays. A file that "
        "does not exist is not an error."
    )
    arguments_type = FileArguments

    def plan(self, arguments: FileArguments, context: ToolContext) -> EditPlan:
        target = load_target(context.boundary.for_writing(arguments.path), arguments.path, context)
        if target.before is None:
            answer = {"ok": True, "path": target.path, "note": "file did not exist"}
            return EditPlan(writes=(), content=json_text(answer))
        return EditPlan(
            writes=(FileTransition(target.path, before=target.before, after=None),),
            content=json_text({"ok": True, "path": target.path}),
            metadata={"path": target.path, "action": "delete"},
        )
