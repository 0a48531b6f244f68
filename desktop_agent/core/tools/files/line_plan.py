"""What the tools that edit whole lines have in common: the file, which occurrence is meant, and the plan itself."""

import json
from collections.abc import Sequence

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.files.splice import Splice, splice
from desktop_agent.core.tools.files.target import Target, edit_target, large_file_warning, not_found, text_of
from desktop_agent.core.tools.files.textfile import NotTextError, TextFile
from desktop_agent.core.tools.tool import EditPlan, ToolContext


def existing_text(path: str, context: ToolContext) -> tuple[Target, TextFile]:
    """Return the file to edit and its text. Raises `ToolError` when there is none or it is not text. Blocks."""
    target = edit_target(path, context)
    if target.before is None:
        raise not_found(path, target.absolute, context.boundary)
    return target, text_of(target, target.before)


def chosen(places: Sequence[int], occurrence: int, *, found: str, found_in: str) -> tuple[int, JsonObject]:
    """Return which of `places` is meant, and what to say about it: nothing where there is only one.

    `found` says how often the anchor is there, `found_in` the same with the file. Raises `ToolError` when `occurrence`
    (from 1) is beyond them.
    """
    if occurrence > len(places):
        raise ToolError(f"{found_in}, so there is no occurrence {occurrence}. Nothing was changed.")
    note: JsonObject = {} if len(places) == 1 else {"note": f"{found}; this was occurrence {occurrence}"}
    return places[occurrence - 1], note


def splice_plan(
    target: Target,
    file: TextFile,
    change: Splice,
    *,
    action: str,
    lines_changed: int,
    note: JsonObject,
    is_dry_run: bool,
) -> EditPlan:
    """Return the plan that makes `change` in an existing file. Raises `ToolError` for text it cannot hold."""
    assert target.before is not None
    lines = file.lines
    try:
        content = file.encoded(splice(lines, [change]))
    except NotTextError as error:
        raise ToolError(f"{target.path}: {error}. Nothing was changed.") from error
    answer: JsonObject = {
        "ok": True,
        "action": action,
        "path": target.path,
        "line": change.start + 1,
        "lines_changed": lines_changed,
    }
    answer |= note | large_file_warning(len(lines))
    if is_dry_run:
        answer["dry_run"] = True
    return EditPlan(
        writes=(FileTransition(target.path, target.before, target.before.with_content(content)),),
        content=json.dumps(answer, ensure_ascii=False),
        metadata={"path": target.path, "action": action, "lines_changed": lines_changed},
    )
