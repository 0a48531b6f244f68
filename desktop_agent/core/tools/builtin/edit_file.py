"""`edit_file`: replace one exact piece of text with another, as the model sees it (`text_files`)."""

from pydantic import Field, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.tools.files.file_tool import (
    FileArguments,
    FileEditTool,
    Target,
    edit_target,
    encoding_note,
    large_file_warning,
    not_found,
    text_of,
)
from desktop_agent.core.tools.files.suggest import same_words, similar_shown
from desktop_agent.core.tools.files.text_files import NotTextError, TextFile, as_seen
from desktop_agent.core.tools.tool import EditPlan, ToolContext, edit_answer

_MOST_LINES_NAMED = 10
_MOST_LINES_SHOWN = 20


class EditFileArguments(FileArguments):
    old_str: str = Field(
        description="The exact text to replace, with its indentation, long enough to occur only once. Empty: create "
        "the file, which must not exist or be empty."
    )
    new_str: str = Field(description="What to put in its place. Empty: delete old_str.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead of exactly one.")
    dry_run: bool = Field(default=False, description="Check that the edit applies, and write nothing.")

    @model_validator(mode="after")
    def _changes_something(self) -> "EditFileArguments":
        if self.old_str == self.new_str:
            raise ValueError("new_str must differ from old_str")
        return self


class EditFile(FileEditTool[EditFileArguments]):
    name = "edit_file"
    description = (
        "Replace an exact piece of text in a file. old_str must match the file character for character, as read_file "
        "shows it, and occur exactly once unless replace_all is true. Line endings and encoding of the file are kept. "
        "To write a whole new file use create_file. Refused when the file changed since you read it."
    )
    arguments_type = EditFileArguments

    def plan(self, arguments: EditFileArguments, context: ToolContext) -> EditPlan:
        target = edit_target(arguments.path, context)
        if not arguments.old_str:
            return _plan_new_content(arguments, target)
        if target.before is None:
            raise not_found(arguments.path, target.absolute, context.boundary)
        return _plan_replacement(arguments, target, target.before)


def _plan_new_content(arguments: EditFileArguments, target: Target) -> EditPlan:
    before = target.before
    if before is not None and before.content:
        raise ToolError(
            f"{target.path} exists and is not empty, and an empty old_str only creates files. Nothing was changed. "
            "Quote the text to replace in old_str, or replace the whole file with create_file and "
            "if_exists='overwrite'."
        )
    content = arguments.new_str.encode()
    after = FileState(content=content, mode=new_file_mode() if before is None else before.mode)
    action = "create" if before is None else "replace"
    return _plan(arguments, target, after, {"action": action, "path": target.path, "replacements": 1})


def _plan_replacement(arguments: EditFileArguments, target: Target, before: FileState) -> EditPlan:
    file = text_of(target, before)
    old, new = as_seen(arguments.old_str), as_seen(arguments.new_str)
    if old == new:
        raise ToolError(
            "old_str and new_str differ only in line endings, which edit_file keeps as they are in the file. Nothing "
            "was changed. Use run_terminal_cmd to convert line endings."
        )
    _require_one_place(arguments, target.path, file, file.places(old))
    try:
        result = file.replace(old, new)
    except NotTextError as error:
        raise ToolError(f"{target.path}: {error}. Nothing was changed.") from error
    answer: JsonObject = {
        "action": "replace",
        "path": target.path,
        "replacements": len(result.lines),
        "lines": list(result.lines[:_MOST_LINES_NAMED]),
    }
    answer |= large_file_warning(file.total_lines) | encoding_note(file)
    return _plan(arguments, target, FileState(content=result.content, mode=before.mode), answer)


def _plan(arguments: EditFileArguments, target: Target, after: FileState, answer: JsonObject) -> EditPlan:
    return EditPlan(
        writes=(FileTransition(target.path, before=target.before, after=after),),
        content=edit_answer({"ok": True} | answer, arguments),
        metadata={"path": target.path, "action": answer["action"], "replacements": answer["replacements"]},
    )


def _require_one_place(arguments: EditFileArguments, path: str, file: TextFile, places: list[int]) -> None:
    if not places:
        raise ToolError(f"old_str does not occur in {path}. Nothing was changed. {_what_is_there(arguments, file)}")
    if len(places) > 1 and not arguments.replace_all:
        lines = ", ".join(str(file.line_at(place)) for place in places[:_MOST_LINES_NAMED])
        more = ", …" if len(places) > _MOST_LINES_NAMED else ""
        raise ToolError(
            f"old_str occurs {len(places)} times in {path} (at lines {lines}{more}). Nothing was changed. Quote more "
            "of the text around the right one, or set replace_all to change every one."
        )


def _what_is_there(arguments: EditFileArguments, file: TextFile) -> str:
    old, new = as_seen(arguments.old_str), as_seen(arguments.new_str)
    lines = file.shown_text.split("\n")
    if "\ufffd" in old:
        return "It has U+FFFD, which stands for bytes that are no valid text. Quote only text around them."
    if spaced := same_words(old, file.shown_text):
        count = min(old.strip("\n").count("\n") + 1, _MOST_LINES_SHOWN)
        exact = "\n".join(lines[spaced - 1 : spaced - 1 + count])
        return f"The same words with other white space are at line {spaced}; quote them exactly:\n{exact}"
    if new.strip() and (found := file.text.find(new)) >= 0:
        return f"new_str is already there at line {file.line_at(found)}, so this edit may have been made before."
    if similar := similar_shown(old, file.shown_text):
        return (
            f"Read the file again and quote it exactly. The lines most like the first line of old_str are:\n{similar}"
        )
    return "Nothing in it resembles the first line of old_str. Read the file again, or search with grep."
