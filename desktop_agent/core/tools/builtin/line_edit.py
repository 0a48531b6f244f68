from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.files.file_tool import (
    FileArguments,
    FileEditTool,
    chosen,
    existing_text,
    one_of,
    splice_plan,
)
from desktop_agent.core.tools.files.suggest import similar_shown
from desktop_agent.core.tools.files.text_files import Splice, as_seen, as_shown, split_block
from desktop_agent.core.tools.tool import EditPlan, ToolContext

_Mode = Literal["insert_before", "insert_after", "replace", "delete"]


class LineEditArguments(FileArguments):
    mode: Annotated[_Mode, one_of("mode", get_args(_Mode), listed="[{}]")] = Field(
        description="What to do at the line."
    )
    line: int | None = Field(default=None, ge=1, description="The line's number, from 1. Give this or anchor.")
    anchor: str | None = Field(
        default=None, min_length=1, description="A piece of the line's text, within one line. Give this or line."
    )
    occurrence: int = Field(default=1, ge=1, description="Which of the lines that have the anchor, from 1.")
    line_count: int = Field(default=1, ge=1, description="How many lines to replace or delete.")
    text: str | None = Field(
        default=None,
        description="The new lines, with their indentation. For insert and replace; a blank line is '\\n'.",
    )
    dry_run: bool = Field(default=False, description="Check that the edit can be made, and write nothing.")

    @model_validator(mode="after")
    def _fits_together(self) -> "LineEditArguments":
        if (self.line is None) == (self.anchor is None):
            raise ValueError("specify either line or anchor")
        if self.anchor is not None and "\n" in as_seen(self.anchor):
            raise ValueError("anchor must lie within one line; use template_block for one that spans lines")
        if self.mode == "delete":
            if self.text is not None:
                raise ValueError("text must be omitted for delete mode")
        elif not self.text:
            raise ValueError("text is required for insert/replace modes")
        if self.line_count > 1 and self.mode.startswith("insert"):
            raise ValueError("line_count is only valid for replace and delete modes")
        return self


class LineEdit(FileEditTool[LineEditArguments]):
    name = "line_edit"
    description = (
        "Insert, replace or delete whole lines of a file. Find the line by its number as read_file counts it, or by "
        "an anchor: a piece of its text, matched exactly. All other lines keep their bytes, and new ones get the "
        "file's line ending. Line numbers change with every insertion, so read again before the next numbered edit."
    )
    arguments_type = LineEditArguments

    def plan(self, arguments: LineEditArguments, context: ToolContext) -> EditPlan:
        target, file = existing_text(arguments.path, context, arguments.anchor or "")
        lines = file.lines
        index, note = _found(arguments, target.path, lines)
        added = split_block(arguments.text) if arguments.text else ()
        match arguments.mode:
            case "insert_before":
                start, end = index, index
            case "insert_after":
                start = end = min(index + 1, len(lines))
            case "replace" | "delete":
                start, end = index, index + arguments.line_count
        if end > len(lines):
            raise ToolError(
                f"{target.path} has {len(lines)} lines, so there are no {arguments.line_count} lines from line "
                f"{index + 1} on. Nothing was changed."
            )
        return splice_plan(
            arguments,
            target,
            file,
            Splice(start=start, end=end, added=added),
            action=arguments.mode,
            lines_changed=end - start or len(added),
            note=note,
        )


def _found(arguments: LineEditArguments, path: str, lines: tuple[str, ...]) -> tuple[int, JsonObject]:
    if arguments.line is not None:
        is_into_empty_file = not lines and arguments.line == 1 and arguments.mode.startswith("insert")
        if arguments.line > len(lines) and not is_into_empty_file:
            raise ToolError(f"There is no line {arguments.line}: {path} has {len(lines)} lines. Nothing was changed.")
        return arguments.line - 1, {}
    assert arguments.anchor is not None
    anchor = as_seen(arguments.anchor)
    found = [number for number, line in enumerate(lines) if anchor in as_shown(as_seen(line))]
    if not found:
        similar = similar_shown(anchor, as_shown(as_seen("".join(lines))))
        advice = f"The lines most like it are:\n{similar}" if similar else "Read the file again, or search with grep."
        raise ToolError(f"anchor {anchor!r} is on no line of {path}. Nothing was changed. {advice}")
    return chosen(
        found,
        arguments.occurrence,
        found=f"anchor is on {len(found)} lines",
        found_in=f"anchor {anchor!r} is on {len(found)} lines of {path}",
    )
