"""Translates between us and hooks: calls to Claude's names and fields and back, and what hooks answer.

https://code.claude.com/docs/en/hooks
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct

from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.hooks import Dialect
from desktop_agent.core.protocol.model import HookDecision, HookEvent, JsonObject, ToolCall, ToolResult

BASH, _EDITS = "Bash", ("Edit", "Write", "MultiEdit")
_NAMES: dict[str, tuple[str, ...]] = {
    "run_terminal_cmd": (BASH, "Shell"),
    "read_file": ("Read",),
    "view_image": ("Read",),
    "edit_file": ("Edit", "MultiEdit", "Write"),
    "line_edit": ("Edit", "Write"),
    "template_block": ("Edit", "Write"),
    "create_file": ("Write", "Edit"),
    "apply_patch": ("apply_patch", *_EDITS),
    "delete_file": ("Delete", *_EDITS),
    "rename_file": ("Move", *_EDITS),
    "list_files": ("LS",),
    "glob_file_search": ("Glob",),
    "grep": ("Grep",),
    "codebase_search": ("Grep",),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
    "todo_write": ("TodoWrite",),
    "write_plan": ("ExitPlanMode",),
    "job_control": ("BashOutput", "KillShell"),
}
"""For each of our tools, Claude's name, then the other names that hooks may know it by."""

_FIELDS: dict[str, dict[str, str]] = {
    "run_terminal_cmd": {"is_background": "run_in_background", "explanation": "description"},
    "edit_file": {"path": "file_path", "old_str": "old_string", "new_str": "new_string"},
    "apply_patch": {"patch": "command"},
    "rename_file": {"source_path": "file_path"},
    "glob_file_search": {"glob_pattern": "pattern", "target_directory": "path"},
    "codebase_search": {"query": "pattern", "target_directory": "path"},
    "grep": {"include": "glob"},
    "web_search": {"search_term": "query"},
    "read_file": {"path": "file_path"},
    "view_image": {"path": "file_path"},
    "line_edit": {"path": "file_path"},
    "template_block": {"path": "file_path"},
    "create_file": {"path": "file_path"},
    "delete_file": {"path": "file_path"},
}
_IN_PATCH = regex(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S.*?)\s*$", re.MULTILINE)
_PATHS = ("file_path", "dest_path")
_OTHERS = "__"


def names_of(tool: str) -> tuple[str, ...]:
    """Return the names by which a matcher can mean a tool, Claude's own first."""
    if tool not in _NAMES and _OTHERS in tool:
        return f"mcp__{tool}", tool
    return (*_NAMES.get(tool, ()), tool)


def given_to(tool: str, arguments: Mapping[str, object], root: Path) -> JsonObject:
    """Return the arguments of a call as a hook reads them: Claude's fields, absolute paths, milliseconds."""
    fields = _FIELDS.get(tool, {})
    given: JsonObject = {fields.get(name, name): value for name, value in arguments.items()}
    for name in _PATHS:
        if isinstance(path := given.get(name), str):
            given[name] = str(root / path)
    if tool == "run_terminal_cmd" and isinstance(seconds := given.get("timeout"), int | float):
        given["timeout"] = round(seconds * 1000)
    if tool == "apply_patch" and isinstance(patch := given.get("command"), str):
        named = [str(root / path) for path in _IN_PATCH.findall(patch)]
        given |= {"file_path": given.get("file_path", named[0] if named else ""), "file_paths": named}
    return given


def taken_back(tool: str, changed: Mapping[str, object], arguments: Mapping[str, object], root: Path) -> JsonObject:
    """Return our arguments for a call whose input a hook has `changed`. What the hook left alone stays the same."""
    before, ours = given_to(tool, arguments, root), {theirs: name for name, theirs in _FIELDS.get(tool, {}).items()}
    made: JsonObject = {}
    for theirs, value in changed.items():
        name = ours.get(theirs, theirs)
        if theirs in before and before[theirs] == value:
            if name in arguments:
                made[name] = arguments[name]
            continue
        is_time = tool == "run_terminal_cmd" and theirs == "timeout" and isinstance(value, int | float)
        made[name] = cast("float", value) / 1000 if is_time else value
    return made


def response_of(call: ToolCall, result: ToolResult) -> JsonObject:
    if names_of(call.name)[0] != BASH:
        return {"content": result.content, "is_error": result.is_error}
    try:
        answer: object = json.loads(result.content)
    except (ValueError, RecursionError):  # a note of ours stands before it
        answer = None
    printed = cast("JsonObject", answer).get("output", "") if isinstance(answer, dict) else result.content
    code = result.metadata.get("exit_code")
    return {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False, "exit_code": code}


def also_given(dialect: Dialect, event: HookEvent, fields: Mapping[str, object]) -> JsonObject:
    """Return the fields that hooks of another program read besides Claude's."""
    given = fields.get("tool_input")
    values = cast("JsonObject", given) if isinstance(given, dict) else {}
    match dialect:
        case "cursor" if event in ("PreToolUse", "PostToolUse"):
            response = fields.get("tool_response")
            output = cast("JsonObject", response).get("stdout", "") if isinstance(response, dict) else ""
            wanted = {name: values[name] for name in ("command", "file_path") if name in values}
            edits = [{"old_string": values.get("old_string", ""), "new_string": values.get("new_string", "")}]
            return wanted | {"output": output, "edits": edits}
        case "copilot":
            named: JsonObject = {"toolName": fields.get("tool_name", ""), "toolArgs": json.dumps(values)}
            return named if "tool_name" in fields else {}
        case _:
            return {}


# ruff: noqa: TRY004 - one kind of error for everything wrong with an answer

# --- what a hook answers ------------------------------------------------------------------------------------------

LONGEST_TEXT = 10_000
"""How many characters of each text from a hook are used, as in Claude Code."""


class HookAnswer(Struct, frozen=True, kw_only=True):
    decision: HookDecision = ""
    reason: str = ""
    changed: JsonObject | None = None
    """The whole input of the call, as the hook wants it, in Claude's fields."""
    context: str = ""
    """Text for the model."""
    message: str = ""
    """Text for the user."""
    is_unreadable: bool = False


_BLOCKING: dict[HookEvent, HookDecision] = {
    "PreToolUse": "deny",
    "PermissionRequest": "deny",
    "PostToolUse": "block",
    "UserPromptSubmit": "block",
    "PreCompact": "block",
    "Stop": "block",
    "SubagentStop": "block",
}
"""What exit code 2 means. At other events it is only shown."""

_TELLING = frozenset[HookEvent]({"SessionStart", "UserPromptSubmit", "SubagentStart"})
"""The events whose plain output is for the model. Before a compaction, it says what the summary must keep."""


def answer_of(event: HookEvent, exit_code: int, output: str, errors: str) -> HookAnswer:
    """Return the answer of a hook that has exited. Pure; never raises."""
    if exit_code == 2:
        return HookAnswer(decision=_BLOCKING.get(event, ""), reason=_text(errors.strip()))
    said = output.strip()
    if exit_code != 0 and not said.startswith("{"):
        return HookAnswer(reason=_text(errors.strip()))
    if not said.startswith("{"):
        return HookAnswer(context=_text(said) if event in _TELLING or event == "PreCompact" else "")
    try:
        values: object = json.loads(said)
    except (ValueError, RecursionError):
        return HookAnswer(reason="Its answer is not valid JSON.", is_unreadable=True)
    try:
        return _read(event, cast("JsonObject", values))
    except ValueError as error:
        return HookAnswer(reason=f"Its answer cannot be used: {error}.", is_unreadable=True)


def _read(event: HookEvent, values: JsonObject) -> HookAnswer:
    own = values.get("hookSpecificOutput", {})
    if not isinstance(own, dict):
        raise ValueError("hookSpecificOutput is not an object")
    own = cast("JsonObject", own)
    if own and own.get("hookEventName", event) != event:
        raise ValueError("its hookEventName names another event")
    if values.get("continue") is False:
        why = _string(values, "stopReason") or _string(values, "user_message", "userMessage")
        return HookAnswer(decision="stop", reason=why, message=_string(values, "systemMessage"))
    message = _string(values, "systemMessage", "user_message", "userMessage")
    context = _string(own, "additionalContext") or _string(values, "additional_context")
    decision, reason, changed = _decided(event, values, own)
    return HookAnswer(decision=decision, reason=reason, changed=changed, context=context, message=message)


def _decided(event: HookEvent, values: JsonObject, own: JsonObject) -> tuple[HookDecision, str, JsonObject | None]:
    reason = _string(values, "reason", "agent_message", "agentMessage", "user_message", "userMessage")
    if event == "PermissionRequest":
        answer = own.get("decision", {})
        if not isinstance(answer, dict):
            raise ValueError("decision is not an object")
        answer = cast("JsonObject", answer)
        word = _word(answer, ("behavior",), ("allow", "deny"))
        return cast("HookDecision", word), _string(answer, "message"), _input(answer)
    if event == "PreToolUse":
        word = _word(own, ("permissionDecision",), _PERMISSIONS) or _word(
            values, ("permissionDecision", "permission"), _PERMISSIONS
        )
        why = _string(own, "permissionDecisionReason") or _string(values, "permissionDecisionReason") or reason
        if not word:
            word = {"approve": "allow", "block": "deny", "": ""}[_word(values, ("decision",), ("approve", "block"))]
        changed = _input(own) or _input(values)
        return cast("HookDecision", "" if word == "defer" else word), why, changed
    if event in ("Stop", "SubagentStop") and (more := _string(values, "followup_message")):
        return "block", more, None
    is_blocked = _word(values, ("decision",), ("approve", "block")) == "block"
    return ("block" if is_blocked and event in _BLOCKING else ""), reason, None


_PERMISSIONS = ("allow", "deny", "ask", "defer")


def _word(values: JsonObject, names: tuple[str, ...], known: tuple[str, ...]) -> str:
    found = next((values[name] for name in names if values.get(name) is not None), "")
    if found != "" and found not in known:
        raise ValueError(f"{names[0]} must be one of {', '.join(known)}")
    return cast("str", found)


def _input(values: JsonObject) -> JsonObject | None:
    found = next((values[name] for name in ("updatedInput", "updated_input", "modifiedArgs") if name in values), None)
    if found is not None and not isinstance(found, dict):
        raise ValueError("updatedInput is not an object")
    return cast("JsonObject | None", found)


def _string(values: JsonObject, *names: str) -> str:
    found = next((values[name] for name in names if values.get(name) is not None), "")
    if not isinstance(found, str):
        raise ValueError(f"{names[0]} is not a text")
    return _text(found)


def _text(text: str) -> str:
    return shortened(text, LONGEST_TEXT)
