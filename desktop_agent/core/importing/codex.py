"""Session files of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`.

Each line is `{"timestamp", "type", "payload"}`; the first versions had no envelope. `response_item` lines are items of
the Responses API. `event_msg` repeats them, and adds titles, aborted turns and rollbacks; `compacted` replaces the
conversation by a summary. Prepended instructions and encrypted reasoning are left out and counted.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import cast

from msgspec import Struct, field

from desktop_agent.core.base.regex import regex
from desktop_agent.core.importing.conversation import (
    ConversationWriter,
    FileFacts,
    read_objects,
    time_in,
    whole_in,
    without_leading_blocks,
    words_in,
)
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from desktop_agent.core.providers.strict_json import parse_arguments
from desktop_agent.core.transcript.entries import first_line

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ITEMS = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call",
})  # fmt: skip
_OWN_TAGS = (
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted", "skill",
    "collaboration_mode", "subagent_notification", "INSTRUCTIONS",
)  # fmt: skip
_AGENTS_FILE = regex(r"\s*# AGENTS\.md instructions[^\n]*(?=\n\s*<INSTRUCTIONS>)")
_EDITOR_CONTEXT = regex(
    r"\s*# (?:Context from my IDE setup|Files mentioned by the user):.*?^## My request for [^\n]*:\s*",
    re.DOTALL | re.MULTILINE,
)
_PROVIDER = "openai"
_PICTURE_START = "data:image/"


def is_codex(fields: JsonObject) -> bool:
    kind = text_in(fields, "type")
    if kind in _ENVELOPES:
        return isinstance(fields.get("payload"), dict)
    is_old_head = not kind and {"id", "timestamp", "instructions"} <= fields.keys()
    return is_old_head or (kind in _ITEMS and "uuid" not in fields and "v" not in fields)


def read_codex(path: Path, facts: FileFacts) -> None:
    for _, fields in read_objects(path, facts.problems):
        payload = object_in(fields, "payload")
        match text_in(fields, "type"), text_in(payload, "type"):
            case "session_meta", _ if not facts.source_id:
                facts.source_id = text_in(payload, "id")
                facts.workspace = text_in(payload, "cwd")
            case "turn_context", _:
                facts.workspace = facts.workspace or text_in(payload, "cwd")
            case "event_msg", "thread_name_updated":
                facts.title = text_in(payload, "thread_name") or facts.title
                facts.is_title_given = bool(facts.title)
            case "", _:
                facts.source_id = facts.source_id or text_in(fields, "id")
            case _:
                pass


def import_codex(path: Path, facts: FileFacts, conversation: ConversationWriter) -> None:
    telling, unreadable = _Telling(conversation), list[str]()
    for _, fields in read_objects(path, [], unreadable):
        telling.take(fields)
    telling.end()
    conversation.keep_unreadable(unreadable)
    facts.title = facts.title or telling.title


class _Telling(Struct):
    """The conversation while it is being read. The model's items are collected until another kind follows."""

    conversation: ConversationWriter
    _blocks: list[AssistantBlock] = field(default_factory=list[AssistantBlock])
    title: str = ""
    """The first prompt without an editor's context; empty if no editor added any."""
    _at: datetime | None = None
    _model: str = ""
    _prompts: set[str] = field(default_factory=set[str])
    _typed: dict[str, datetime | None] = field(default_factory=dict[str, datetime | None])
    """Messages of the user that events report. Most of them also occur as items."""

    def take(self, fields: JsonObject) -> None:
        at = time_in(fields, "timestamp")
        payload = object_in(fields, "payload")
        match text_in(fields, "type"):
            case "response_item":
                self._item(payload, at)
            case "event_msg":
                self._event(payload, at)
            case "turn_context":
                self._model = text_in(payload, "model") or self._model
            case "compacted":
                self.flush()
                summary = text_in(payload, "message")
                self.conversation.summarise(summary, at)
                # In a resumed session, the earlier messages may be only here, with the summary as one of them.
                for item in objects_in(payload, "replacement_history"):
                    texts = words_in(item.get("content")) if text_in(item, "role") == "user" else []
                    self._typed |= {text: at for text in texts if not summary or summary not in text}
            case kind if kind in _ITEMS:
                self._item(fields, at)
            case _ if text_in(payload, "role") == "user":
                for text in words_in(payload.get("content")):
                    self.conversation.keep_words("A message of an unknown kind", _typed(text), at)
            case _:
                pass

    def end(self) -> None:
        self.flush()
        for text, at in self._typed.items():
            if (typed := _typed(text)).strip() not in self._prompts:
                self.conversation.keep_words("Written, and not part of the conversation", typed, at)

    def flush(self) -> None:
        if self._blocks:
            self.conversation.say(self._blocks, self._at, model=self._model, provider=_PROVIDER)
            self._blocks = []

    def _event(self, payload: JsonObject, at: datetime | None) -> None:
        match text_in(payload, "type"):
            case "user_message":
                self._typed[text_in(payload, "message")] = at
            case "entered_review_mode":
                self._typed[text_in(object_in(payload, "target"), "instructions")] = at
            case "turn_aborted":
                self.flush()
                self.conversation.end("interrupted", at)
            case "thread_rolled_back":
                self.flush()
                turns = whole_in(payload, "num_turns")
                self.conversation.rewind(self.conversation.turn - turns + 1, at)
            case "token_count":
                fields = object_in(object_in(payload, "info"), "last_token_usage")
                self.flush()
                cached = whole_in(fields, "cached_input_tokens")
                usage = Usage(
                    input_tokens=max(0, whole_in(fields, "input_tokens") - cached),
                    output_tokens=whole_in(fields, "output_tokens"),
                    cache_read_tokens=cached,
                )
                self.conversation.use(usage, at)
            case _:
                pass

    def _item(self, item: JsonObject, at: datetime | None) -> None:
        self._at = at or self._at
        match text_in(item, "type"):
            case "message" if text_in(item, "role") == "assistant":
                self._blocks += [TextBlock(text=text) for text in _texts(item)]
            case "message" if text_in(item, "role") == "user":
                self._prompt(item, at)
            case "message":
                self.conversation.left_out["instructions of the program"] += 1
            case "reasoning":
                self._reasoning(item)
            case "function_call":
                self._call(item, _arguments(text_in(item, "arguments")))
            case "custom_tool_call":
                self._call(item, {"input": text_in(item, "input")})
            case "local_shell_call":
                command = object_in(item, "action").get("command")
                words = cast("list[object]", command) if isinstance(command, list) else []
                text = " ".join(word for word in words if isinstance(word, str))
                self._call(item, {"command": text}, name="local_shell")
            case "web_search_call":
                self._search(item, at)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self.flush()
                text, is_error, pictures = _output(item)
                call_id = text_in(item, "call_id")
                self.conversation.answer(call_id, text, at, is_error=is_error, pictures=pictures)
            case _:
                self.conversation.left_out["items of another kind"] += 1

    def _prompt(self, item: JsonObject, at: datetime | None) -> None:
        self.flush()
        own = 0
        prompt: list[str] = []
        for text in words_in(item.get("content")):
            rest = _typed(text)
            own += rest != text
            prompt += [rest] if rest.strip() else []
        if pictures := sum(part.get("type") == "input_image" for part in objects_in(item, "content")):
            self.conversation.left_out["pictures and files in prompts"] += pictures
        self.conversation.left_out["instructions of the program"] += own
        if text := "\n\n".join(prompt):
            context = _EDITOR_CONTEXT.match(text)
            request = text[context.end() :] if context else text
            self._prompts.update(part.strip() for part in (*prompt, text, request))
            if self.conversation.turn == 0 and context:
                self.title = first_line(request)
            self.conversation.prompt(text, at)

    def _reasoning(self, item: JsonObject) -> None:
        parts = (*objects_in(item, "summary"), *objects_in(item, "content"))
        if text := "\n\n".join(filter(None, (text_in(part, "text") for part in parts))):
            self._blocks.append(ThinkingBlock(thinking=text, signature=""))
        elif item.get("encrypted_content"):
            self.conversation.left_out["encrypted thoughts of the model"] += 1

    def _call(self, item: JsonObject, arguments: JsonObject, *, name: str = "") -> None:
        call_id = text_in(item, "call_id") or text_in(item, "id")
        self._blocks.append(ToolUseBlock(id=call_id, name=name or text_in(item, "name"), arguments=arguments))

    def _search(self, item: JsonObject, at: datetime | None) -> None:
        call_id = text_in(item, "id") or f"search-{self.conversation.calls}-{len(self._blocks)}"
        query = text_in(object_in(item, "action"), "query")
        self._blocks.append(ToolUseBlock(id=call_id, name="web_search", arguments={"query": query}))
        self.flush()
        self.conversation.answer(call_id, "", at)


def _typed(text: str) -> str:
    agents_file = _AGENTS_FILE.match(text)
    return without_leading_blocks(text[agents_file.end() :] if agents_file else text, _OWN_TAGS)[0]


def _texts(item: JsonObject) -> list[str]:
    if isinstance(item.get("content"), str):
        return [text_in(item, "content")]
    return [text for part in objects_in(item, "content") if (text := text_in(part, "text")).strip()]


def _arguments(text: str) -> JsonObject:
    parsed = parse_arguments(text)
    return {"arguments": text} if parsed.rejected else parsed.value


def _output(item: JsonObject) -> tuple[str, bool, list[str]]:
    """Return an output's text, whether the call failed, and the pictures. The format changed several times."""
    output = item.get("output")
    is_error = False
    if isinstance(output, dict):  # {"content": …, "success": …}
        fields = cast("JsonObject", output)
        is_error = fields.get("success") is False
        output = fields.get("content", fields.get("output", ""))
    if isinstance(output, list):
        parts = objects_in({"parts": cast("list[object]", output)}, "parts")
        addresses = [text_in(part, "image_url") for part in parts]
        pictures = [one.partition(",")[2] for one in addresses if one.startswith(_PICTURE_START)]
        return "\n".join(filter(None, (text_in(part, "text") for part in parts))), is_error, pictures
    text = output if isinstance(output, str) else ""
    if text.startswith('{"output":'):  # {"output": …, "metadata": {"exit_code": …}} as text
        fields = _arguments(text)
        exit_code = object_in(fields, "metadata").get("exit_code")
        return text_in(fields, "output"), exit_code not in (0, None), []
    return text, is_error, []
