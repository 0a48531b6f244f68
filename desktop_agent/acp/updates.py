"""What the protocol's client sees of a session: each event as `session/update`s. The same for live and stored ones."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    Attachment,
    Capability,
    ContextUse,
    FileChange,
    FileImage,
    FormField,
    JsonObject,
    TodoStatus,
    ToolCall,
    ToolUseBlock,
)
from desktop_agent.core.slash.declarations import bullets, fenced
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import BACKGROUND_KEY, Transcript, asked_call, todos_of
from desktop_agent.core.transcript.entries import readable

Update = JsonObject

_LARGEST_SIDE_BYTES: Final = 1024 * 1024
"""The size of a file up to which a diff shows it. An editor opens larger ones itself."""
_MOST_OUTPUT_CHARS: Final = 4_000
"""How much of a command's output is shown while it runs."""
_KINDS: Final[Mapping[Capability, str]] = {"exec_shell": "execute", "write_fs": "edit", "network": "fetch"}
_NAMED_KINDS: Final = {
    "grep": "search", "glob_file_search": "search", "codebase_search": "search", "web_search": "search",
    "delete_file": "delete", "rename_file": "move", "todo_write": "think", "write_plan": "think",
}  # fmt: skip
_PATHS: Final = ("file_path", "path", "target_file", "old_path")
_TODO_STATES: Final[Mapping[TodoStatus, str]] = {
    "pending": "pending", "in_progress": "in_progress", "completed": "completed", "cancelled": "completed",
}  # fmt: skip


def chunk(kind: str, text: str, message_id: str = "") -> Update:
    update: Update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return update | ({"messageId": message_id} if message_id else {})


class Updates:
    """Turns the events of one session into updates, in order. `of` must not be called twice at once."""

    def __init__(self, workspace: Path, blobs: Blobs, transcript: Transcript, *, shows_notices: bool) -> None:
        self._root = workspace
        self._blobs = blobs
        self._transcript = transcript
        """The session's own fold, which is ahead of the events here."""
        self._shows_notices = shows_notices
        self._changes: dict[CallId, list[FileChange]] = {}
        self._message = 0
        self._is_streamed = False
        self._output: dict[CallId, str] = {}

    async def of(self, event: ev.Event) -> Sequence[Update]:
        match event:
            case ev.ChangesRecorded(call_id=call_id, changes=changes) if call_id and changes:
                self._changes.setdefault(call_id, []).extend(changes)
                return [await self._with_content(call_id, {}, "")]
            case ev.ToolCallFinished(result=result) if BACKGROUND_KEY in result.metadata:
                return ()  # it is shown as running until its sub-agent has ended
            case ev.ToolCallFinished() | ev.SubagentEnded():
                call_id, result, state = event.call_id, event.result, event.state
                self._output.pop(call_id, None)
                head: Update = {"status": state}
                updates = [await self._with_content(call_id, head, _readable(result.content))]
                if (todos := todos_of(result)) is not None:
                    entries = [
                        {"content": one.content, "priority": "medium", "status": _TODO_STATES[one.status]}
                        for one in todos
                    ]
                    updates.append({"sessionUpdate": "plan", "entries": entries})
                return updates
            case _:
                return list(self._simple(event))

    def _simple(self, event: ev.Event) -> Iterator[Update]:
        match event:
            case ev.TextDelta(text=text):
                self._is_streamed = True
                yield chunk("agent_message_chunk", text, self._message_id)
            case ev.ThinkingDelta(text=text):
                self._is_streamed = True
                yield chunk("agent_thought_chunk", text, self._message_id)
            case ev.MessageDone():
                yield from self._message_done(event)
            case ev.RetryWaitReported(is_waiting=True):
                self._message += 1  # what was streamed so far is written again
                self._is_streamed = False
            case ev.PromptSubmitted() | ev.Steered():
                self._message += 1
                yield chunk("user_message_chunk", event.text, self._message_id)
                yield from map(_linked, event.attachments)
                self._message += 1
            case ev.ToolCallStarted():
                yield self._started(event)
            case ev.ToolOutputDelta(call_id=call_id, text=text):
                shown = self._output[call_id] = (self._output.get(call_id, "") + text)[-_MOST_OUTPUT_CHARS:]
                yield {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": [_shown(fenced(shown))]}
            case ev.CommandRun(output=output):
                yield chunk("agent_message_chunk", output)
            case ev.Notice(level="warning" | "error"):
                yield self._notice(event)
            case ev.SessionRenamed(title=title):
                yield {"sessionUpdate": "session_info_update", "title": title}
            case ev.ContextMeasured(use=ContextUse() as use):
                usage: Update = {"sessionUpdate": "usage_update", "used": use.tokens, "size": use.window}
                cost = self._transcript.turns.usage.cost_usd
                yield usage | ({} if cost is None else {"cost": {"amount": cost, "currency": "USD"}})
            case _:
                pass

    @property
    def _message_id(self) -> str:
        return f"message-{self._message}"

    def _message_done(self, event: ev.MessageDone) -> Iterator[Update]:
        if not self._is_streamed:
            for kind, text in readable(event.content):
                if kind != "call":
                    yield chunk(f"agent_{'message' if kind == 'text' else 'thought'}_chunk", text, self._message_id)
        self._is_streamed = False
        if any(isinstance(block, ToolUseBlock) for block in event.content):
            self._message += 1

    def _started(self, event: ev.ToolCallStarted) -> Update:
        call = event.call
        named = _NAMED_KINDS.get(call.name)
        kind = named or next((_KINDS[one] for one in _KINDS if one in event.capabilities), "read")
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": call.id,
            "title": event.title,
            "kind": "other" if event.source == "external" and not event.is_read_only else kind,
            "status": "in_progress",
            "locations": self._locations(call),
            "rawInput": call.arguments,
        }

    def _locations(self, call: ToolCall) -> list[JsonObject]:
        named = next((path for key in _PATHS if (path := text_in(call.arguments, key))), "")
        if not named:
            return []
        line = call.arguments.get("start_line", call.arguments.get("offset"))
        place: JsonObject = {"path": str(self._root / named)}
        return [place | ({"line": line} if isinstance(line, int) and line > 0 else {})]

    async def _with_content(self, call_id: CallId, head: Update, text: str) -> Update:
        changes = self._changes.get(call_id, [])
        content = [_shown(text)] if text else []
        content += await asyncio.to_thread(self.diffs, changes)
        update: Update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **head, "content": content}
        return update | ({"locations": [{"path": str(self._root / one.path)} for one in changes]} if changes else {})

    def diffs(self, changes: Sequence[FileChange]) -> list[JsonObject]:
        """Return both texts of each change. A binary or large file is only named. Blocks."""
        found: list[JsonObject] = []
        for change in changes:
            try:
                old, new = self._text(change.before), self._text(change.after)
            except (StorageError, UnicodeDecodeError, ValueError):
                found.append(_shown(f"{change.kind}: {change.path}"))
            else:
                path = str(self._root / change.path)
                found.append({"type": "diff", "path": path, "oldText": old, "newText": new or ""})
        return found

    def _text(self, image: FileImage | None) -> str | None:
        if image is not None and (image.kind != "file" or image.size > _LARGEST_SIDE_BYTES):
            raise ValueError(image.kind)
        content = self._blobs.of_file(image)
        return content.decode() if content is not None else None

    def _notice(self, event: ev.Notice) -> Update:
        if self._shows_notices:
            notice: Update = {"sessionUpdate": "notice", "severity": event.level, "title": event.title}
            return notice | ({"description": event.hint} if event.hint else {})
        return chunk("agent_message_chunk", f"\n\n**{event.title}** {event.hint}\n\n")

    def question(self, request: ApprovalRequest) -> JsonObject:
        """Return the call of a question, with everything that the user needs to decide. Blocks."""
        lines = [request.reason, request.explanation, request.confinement]
        texts = ["\n".join(filter(None, lines)), bullets(request.risks), bullets(request.safety)]
        if request.command is not None:
            texts.insert(0, fenced(request.command, "sh"))
        details = "\n".join(request.details)
        texts += [fenced(asked_call(request)) if asked_call(request) else "", fenced(details) if details else ""]
        if request.tool_change is not None:
            texts.append(fenced(request.tool_change.diff, "diff"))
        if (asked := request.question) is not None:
            texts += [asked.message, asked.address]
            texts += [fenced(f"{one.role}: {one.text}") for one in asked.sampling.texts] if asked.sampling else []
        content = [_shown("\n\n".join(filter(None, texts))), *self.diffs(request.changes)]
        return {
            "toolCallId": request.call_id or f"question-{request.arguments_digest[:12]}",
            "title": request.title,
            "kind": "execute" if request.command is not None else "edit" if request.changes else "other",
            "status": "pending",
            "content": content,
            "locations": [{"path": str(self._root / change.path)} for change in request.changes],
        }


def _shown(text: str) -> JsonObject:
    return {"type": "content", "content": {"type": "text", "text": text}}


def _readable(result: str) -> str:
    """Return what a command printed, and other results as the model reads them."""
    try:
        found = as_object(json.loads(result)) if result.startswith("{") else {}
    except ValueError:
        found = {}
    return fenced(text_in(found, "output")) if "output" in found else result


def _linked(attachment: Attachment) -> Update:
    link = {"type": "resource_link", "uri": attachment.uri or attachment.name, "name": attachment.name}
    return {"sessionUpdate": "user_message_chunk", "content": link}


def form_schema(fields: Sequence[FormField]) -> JsonObject:
    """Return the form as the flat JSON Schema of an elicitation."""
    properties = {field.name: _property(field) for field in fields}
    return {"type": "object", "properties": properties, "required": [one.name for one in fields if one.is_required]}


def _property(field: FormField) -> JsonObject:
    options = [{"const": one.value, "title": one.label} for one in field.options]
    known: JsonObject = {"title": field.label, "description": field.description, "default": field.default}
    match field.kind:
        case "choices":
            known |= {"type": "array", "items": {"anyOf": options}, "minItems": field.least, "maxItems": field.most}
        case "choice":
            known |= {"type": "string", "oneOf": options}
        case "text":
            known |= {"type": "string", "minLength": field.least, "maxLength": field.most, "format": field.format}
        case kind:
            known |= {"type": kind, "minimum": field.least, "maximum": field.most}
    return {key: value for key, value in known.items() if value not in (None, "")}
