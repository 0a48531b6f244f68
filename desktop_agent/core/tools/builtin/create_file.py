"""`create_file`: write a whole file, and never overwrite an existing one by accident."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.tools.files.file_tool import FileArguments, FileEditTool, TextEncoding, edit_target, one_of
from desktop_agent.core.tools.files.text_files import NotTextError, TextFile
from desktop_agent.core.tools.tool import EditPlan, ToolContext, edit_answer

_IfExists = Literal["error", "overwrite", "skip"]


class CreateFileArguments(FileArguments):
    content: str = Field(default="", description="The whole content of the file.")
    if_exists: Annotated[_IfExists, one_of("if_exists", get_args(_IfExists))] = Field(
        default="error", description="What to do when the file exists."
    )
    create_parents: bool = Field(default=True, description="Create missing directories.")
    encoding: TextEncoding = Field(default="utf-8", description="Text encoding to write in.")
    dry_run: bool = Field(default=False, description="Check that it can be done, and write nothing.")


class CreateFile(FileEditTool[CreateFileArguments]):
    name = "create_file"
    description = (
        "Write a new file with the given content. An existing file is an error unless if_exists says otherwise: "
        "'overwrite' replaces its whole content, in the same encoding and with the same line endings, 'skip' leaves "
        "it. To change a part of a file use edit_file."
    )
    arguments_type = CreateFileArguments

    def plan(self, arguments: CreateFileArguments, context: ToolContext) -> EditPlan:
        target = edit_target(arguments.path, context)
        before = target.before
        if before is not None and arguments.if_exists == "error":
            raise ToolError(
                f"{target.path} exists; nothing was written. Use edit_file to change it, or if_exists='overwrite' to "
                "replace its whole content."
            )
        if not arguments.create_parents and not target.absolute.parent.is_dir():
            raise ToolError(f"parent directory missing: {target.absolute.parent}", error_type="not_found")
        if before is not None and arguments.if_exists == "skip":
            return EditPlan(writes=(), content=_answer(arguments, "skip", target.path, 0))
        content, form = _content(arguments, before)
        after = FileState(content=content, mode=new_file_mode() if before is None else before.mode)
        action = "create" if before is None else "overwrite"
        return EditPlan(
            writes=(FileTransition(target.path, before=before, after=after),),
            content=_answer(arguments, action, target.path, len(content), form),
            metadata={"path": target.path, "action": action, "bytes_written": len(content)},
        )


def _content(arguments: CreateFileArguments, before: FileState | None) -> tuple[bytes, JsonObject]:
    text, encoding = arguments.content, arguments.encoding
    try:
        old = TextFile(before.content) if before is not None and before.kind == "file" else None
    except NotTextError:
        old = None
    if old is None:
        return text.encode(encoding, "replace"), {"encoding": encoding}
    had = [words for words in (old.encoding, "a byte-order mark" if old.has_mark else "") if words]
    kept: list[str] = []
    if old.has_only_crlf and "\n" in text and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
        kept.append("CRLF line endings")
    lost = f"it had {' with '.join(had)}, and has not any more" if had else ""
    if "encoding" in arguments.model_fields_set:
        content = text.encode(encoding, "replace")
    else:
        try:
            content = old.encoded([text.removeprefix("\ufeff")])
            encoding, kept, lost = old.encoding or encoding, [*had, *kept], ""
        except NotTextError as error:
            content, lost = text.encode(), f"it is UTF-8 now, since {error}"
    notes = [f"as in the file before: {', '.join(kept)}" if kept else "", lost]
    form: JsonObject = {"encoding": encoding}
    return content, form | {"note": note} if (note := "; ".join(filter(None, notes))) else form


def _answer(arguments: CreateFileArguments, action: str, path: str, size: int, form: JsonObject | None = None) -> str:
    answer: JsonObject = {
        "ok": True,
        "action": action,
        "path": path,
        "encoding": arguments.encoding,
        "bytes_written": size,
    } | (form or {})
    if size and answer["encoding"] == arguments.encoding and (lost := _lost_characters(arguments)):
        answer["warning"] = f"{arguments.encoding} cannot express {lost}; each became '?'. Use utf-8 to keep them."
    return edit_answer(answer, arguments)


def _lost_characters(arguments: CreateFileArguments) -> str:
    try:
        arguments.content.encode(arguments.encoding)
    except UnicodeEncodeError:
        lost = {sign for sign in set(arguments.content) if not sign.encode(arguments.encoding, "ignore")}
        return " ".join(sorted(lost)[:10])
    return ""
