"""`apply_patch`: change any number of files at once, exactly as a patch says, or none of them."""

from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.files.file_tool import PathText
from desktop_agent.core.tools.patches.formats import PatchError, parse_patch
from desktop_agent.core.tools.patches.hunk_location import MOST_LINES_MOVED
from desktop_agent.core.tools.patches.patch_draft import PatchDraft
from desktop_agent.core.tools.tool import EditPlan, EditTool, ToolArguments, ToolContext, edit_answer

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
