"""`template_block`: insert a block of lines before or after an anchor, or replace the block that begins there."""

from typing import Literal

from pydantic import Field, model_validator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.files.file_tool import FileArguments, FileEditTool, chosen, existing_text, splice_plan
from desktop_agent.core.tools.files.suggest import LONGEST_SHOWN, same_words, similar_shown
from desktop_agent.core.tools.files.text_files import Splice, TextFile, as_seen, split_block
from desktop_agent.core.tools.tool import EditPlan, ToolContext


class TemplateBlockArguments(FileArguments):
    mode: Literal["insert_before", "insert_after", "replace_block"] = Field(
        description="Where the template goes: before the anchor's first line, after its last line, or in place of the "
        "anchor's lines (with expected_block: in place of that block, which must begin on the anchor's first line)."
    )
    anchor: str = Field(min_length=1, description="Exact text that marks the place. It may span lines.")
    occurrence: int = Field(default=1, ge=1, description="Which occurrence of the anchor, from 1.")
    template: str = Field(min_length=1, description="The lines to put there, with their indentation.")
    expected_block: str | None = Field(
        default=None,
        min_length=1,
        description="Only for replace_block: the whole lines that are replaced, exactly as they are now.",
    )
    dry_run: bool = Field(default=False, description="Check that the edit can be made, and write nothing.")

    @model_validator(mode="after")
    def _fits_together(self) -> "TemplateBlockArguments":
        if self.expected_block is not None and self.mode != "replace_block":
            raise ValueError("expected_block is only valid for replace_block mode")
        return self


class TemplateBlock(FileEditTool[TemplateBlockArguments]):
    name = "template_block"
    description = (
        "Insert a block of lines before or after an anchor text, or replace a block that begins at it. Only whole "
        "lines are inserted and replaced; all others keep their bytes, and new ones get the file's line ending. With "
        "replace_block, give expected_block to say exactly which lines go."
    )
    arguments_type = TemplateBlockArguments

    def plan(self, arguments: TemplateBlockArguments, context: ToolContext) -> EditPlan:
        target, file = existing_text(arguments.path, context, arguments.anchor)
        lines = file.lines
        first, last, note = _found(arguments, target.path, file)
        added = split_block(arguments.template)
        match arguments.mode:
            case "insert_before":
                start, end = first, first
            case "insert_after":
                start, end = last + 1, last + 1
            case "replace_block":
                start, end = first, _block_end(arguments, target.path, lines, first, last)
        return splice_plan(
            arguments,
            target,
            file,
            Splice(start=start, end=end, added=added),
            action=arguments.mode,
            lines_changed=len(added),
            note=note,
        )


def _found(arguments: TemplateBlockArguments, path: str, file: TextFile) -> tuple[int, int, JsonObject]:
    anchor = as_seen(arguments.anchor)
    places = file.places(anchor)
    if not places:
        raise ToolError(f"anchor does not occur in {path}. Nothing was changed. {_closest(anchor, file)}")
    times = f"anchor occurs {len(places)} times"
    start, note = chosen(places, arguments.occurrence, found=times, found_in=f"{times} in {path}")
    first = file.line_at(start) - 1
    return first, first + anchor.removesuffix("\n").count("\n"), note


def _block_end(arguments: TemplateBlockArguments, path: str, lines: tuple[str, ...], first: int, last: int) -> int:
    if arguments.expected_block is None:
        return last + 1
    for number, expected in enumerate(split_block(arguments.expected_block), start=1):
        at = first + number - 1
        actual = as_seen(lines[at]).removesuffix("\n") if at < len(lines) else None
        if actual != expected:
            there = "the file ends there" if actual is None else f"{path} has {actual[:LONGEST_SHOWN]!r}"
            raise ToolError(
                f"expected_block does not match at line {at + 1}: its line {number} is "
                f"{expected[:LONGEST_SHOWN]!r}, but {there}. Nothing was changed. Read the file again."
            )
    return first + len(split_block(arguments.expected_block))


def _closest(anchor: str, file: TextFile) -> str:
    if spaced := same_words(anchor, file.shown_text):
        line = file.shown_text.split("\n")[spaced - 1]
        return f"The same words with other white space are at line {spaced}: {line[:LONGEST_SHOWN]}"
    if similar := similar_shown(anchor, file.shown_text):
        return f"The lines most like its first line are:\n{similar}"
    return "Read the file again, or search with grep."
