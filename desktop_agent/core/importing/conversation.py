"""A conversation of another program: read from the JSON lines of its file, and written as our records, step by step."""

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import storage_error
from desktop_agent.core.base.file_types import PictureError, inspect_picture
from desktop_agent.core.base.ids import CallId, claim_id, new_prompt_id
from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    JsonObject,
    ModelRef,
    OpaqueBlock,
    RedactedThinkingBlock,
    StopReason,
    Summary,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.providers.strict_json import is_too_deep
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import Line, decode, decode_line, open_regular, read_lines
from desktop_agent.core.transcript.entries import first_line

_DECODER = json.JSONDecoder()
_BLANKS = regex(r"\s*")

SourceKind = Literal["claude-code", "codex", "desktop-agent"]

SOURCE_NAMES: dict[SourceKind, str] = {"claude-code": "Claude Code", "codex": "Codex", "desktop-agent": "Desktop Agent"}


class FileFacts(Struct):
    kind: SourceKind
    source_id: str = ""
    workspace: str = ""
    title: str = ""
    is_title_given: bool = False
    wanted: set[int] = field(default_factory=set[int])
    """The indexes (from 0) of the objects that form the conversation, if not all do."""
    problems: list[str] = field(default_factory=list[str])
    left_out: Counter[str] = field(default_factory=Counter[str])


def whole_in(fields: JsonObject, key: str) -> int:
    value = fields.get(key)
    return min(max(value, 0), 2**53) if isinstance(value, int) and not isinstance(value, bool) else 0


def time_in(fields: JsonObject, key: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text_in(fields, key))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def read_objects(
    path: Path, problems: list[str], unreadable: list[str] | None = None
) -> Iterator[tuple[Line, JsonObject]]:
    """Yield the JSON objects of each line. There are several where the newline between them was lost.

    Lines that are not JSON objects are reported in `problems`, with their texts in `unreadable`. Raises `StorageError`.
    """
    with storage_error("The file could not be read.", path=path), open_regular(path) as file:
        for line in read_lines(file):
            if line.content is not None and not line.content.strip():
                continue
            try:
                yield line, decode_line(line)
            except (MalformedLineError, RecursionError) as error:
                objects = _joined_objects(line)
                yield from ((line, fields) for fields in objects)
                if not objects:
                    problems.append(f"line {line.number}: {error}")
                    if unreadable is not None:
                        unreadable.append((line.content or b"").decode(errors="replace"))


def _joined_objects(line: Line) -> list[JsonObject]:
    objects: list[JsonObject] = []
    try:
        rest = (line.content or b"").decode().strip()
        at = 0
        while at < len(rest):
            _, end = _DECODER.raw_decode(rest, at)
            objects.append(decode(rest[at:end].encode()))
            at = _BLANKS.match(rest, end).end()  # type: ignore[union-attr] - it matches everywhere
    except (ValueError, RecursionError, MalformedLineError):
        return []
    return objects


def without_leading_blocks(text: str, tags: Collection[str]) -> tuple[str, dict[str, str]]:
    """Remove `<tag>…</tag>` blocks in front of a text, and return the rest and their contents by tag."""
    block = re.compile(rf"\s*<({'|'.join(map(re.escape, tags))})(?: [^>]*)?>(.*?)</\1>", re.DOTALL)
    contents: dict[str, str] = {}
    at = 0
    while found := block.match(text, at):
        contents[found[1]] = "\n".join(filter(None, (contents.get(found[1]), found[2].strip())))
        at = found.end()
    return text[at:].strip() if at else text, contents


def words_in(content: object) -> list[str]:
    """Return the texts of a message of the user. A block of an unknown kind stays JSON."""
    texts: list[str] = []
    for block in cast("list[object]", content) if isinstance(content, list) else [content]:
        match block:
            case str():
                texts.append(block)
            case {"type": "tool_result" | "image" | "document" | "input_image" | "input_file"} | None:
                pass
            case {"text": str(text)}:
                texts.append(text)
            case _:
                texts.append(json.dumps(block, ensure_ascii=False))
    return [text for text in texts if text.strip()]


MAX_RESULT_CHARS = 40_000
MAX_PICTURE_BYTES = 8 * 2**20

BEGINNING_MISSING = "[The prompt of this turn is not in the imported file.]"
NO_RESULT = "The imported file has no result of this call."

_OLDEST = datetime(2000, 1, 1, tzinfo=UTC)
_TITLE_KEYS = (
    "command", "cmd", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "input",
)  # fmt: skip
_MAX_TITLE = 120
_MAX_HINT = 300
_CHARS_PER_TOKEN = 4


class ConversationWriter(Struct):
    """Writes the steps of a conversation as records. `finish` must be called at the end."""

    record: Callable[[ev.KnownEvent], None]
    blobs: Blobs
    model: ModelRef
    now: datetime
    left_out: Counter[str] = field(default_factory=Counter[str])
    """What is not imported, in words for the user, and how often it occurs."""
    turn: int = 0
    messages: int = 0
    calls: int = 0
    _at: datetime = ev.UNSTAMPED
    _is_open: bool = False
    _begun_at: datetime = ev.UNSTAMPED
    _chars: int = 0
    _requests: int = 0
    _waiting: dict[CallId, CallId] = field(default_factory=dict[CallId, CallId])
    """Calls without a result: maps the id in the file to the id in the new session."""
    _started_at: dict[CallId, datetime] = field(default_factory=dict[CallId, datetime])
    _used: set[CallId] = field(default_factory=set[CallId])

    def prompt(self, text: str, at: datetime | None) -> None:
        self.end("completed", at)
        if not text.strip():
            return
        self._begin(text)

    def steer(self, text: str, at: datetime | None) -> None:
        if not self._is_open:
            self.prompt(text, at)
        elif text.strip():
            self._move_to(at)
            self._add(ev.Steered(turn=self.turn, prompt_id=new_prompt_id(), text=text))

    def say(
        self,
        blocks: Sequence[AssistantBlock],
        at: datetime | None,
        *,
        model: str = "",
        provider: str = "",
        stop_reason: StopReason | None = None,
    ) -> None:
        self._move_to(at)
        content = tuple(self._block(block) for block in blocks if self._is_wanted(block))
        if not content:
            return
        if not self._is_open:
            self._begin(BEGINNING_MISSING)
        made_by = ModelRef(provider=provider or self.model.provider, model=model) if model else self.model
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        self._add(
            ev.MessageDone(
                turn=self.turn,
                message_id="",
                model=made_by,
                content=content,
                stop_reason=stop_reason or ("tool_use" if calls else "end_turn"),
            )
        )
        self.messages += 1
        self._chars += len(repr(content))
        self._requests += 1
        for call in calls:
            self._start(call)

    def answer(
        self,
        call_id: str,
        text: str,
        at: datetime | None,
        *,
        is_error: bool = False,
        pictures: Sequence[str] = (),
        images: tuple[BlobRef, ...] = (),
    ) -> None:
        """Add the result of a call, unless none is waiting for it. `pictures` are in base64."""
        self._move_to(at)
        ours = self._waiting.pop(call_id, None)
        if ours is None:
            self.left_out["results of calls that are not in the file"] += 1
            return
        images += tuple(ref for picture in pictures if (ref := self._picture(picture)) is not None)
        self._finish_call(ours, self._result(text, is_error=is_error, images=images))

    def use(self, usage: Usage, at: datetime | None) -> None:
        self._move_to(at)
        if self._is_open and usage != Usage():
            self._add(ev.UsageReported(turn=self.turn, usage=usage.paid_elsewhere()))

    def end(self, reason: ev.TurnEndReason, at: datetime | None) -> None:
        """End the turn. Calls without a result get one that says so."""
        self._move_to(at)
        if not self._is_open:
            return
        for call_id in list(self._waiting.values()):
            self._finish_call(call_id, ToolResult(content=NO_RESULT, is_error=True, error_type="recoverable"))
        self._waiting.clear()
        self._add(
            ev.TurnEnded(turn=self.turn, reason=reason, requests=self._requests, duration_s=self._since(self._begun_at))
        )
        self._is_open = False

    def summarise(self, text: str, at: datetime | None) -> None:
        lines = tuple(line.strip() for line in text.splitlines() if line.strip())
        if lines and self.turn:
            self.compact(Summary(decisions=lines), at)

    def compact(self, summary: Summary, at: datetime | None) -> None:
        self.end("completed", at)
        if self.turn:
            identifier = f"imported-{self.turn}-{self._requests}"
            self._add(
                ev.Compacted(
                    compaction_id=identifier,
                    through_turn=self.turn,
                    summary=summary,
                    tokens_before=self._chars // _CHARS_PER_TOKEN,
                    tokens_after=len(repr(summary)) // _CHARS_PER_TOKEN,
                )
            )
            self._chars = len(repr(summary))

    def rewind(self, first_turn: int, at: datetime | None) -> None:
        self.end("completed", at)
        if 1 <= first_turn <= self.turn:
            self._add(ev.Rewound(turn=first_turn, scope="conversation"))

    def keep_words(self, what: str, text: str, at: datetime | None) -> None:
        """Keep the user's text, or an unreadable one, as a note; `what` says why it is not a message."""
        if text := text.strip():
            line = shortened(first_line(text), _MAX_HINT)
            self.note(ev.Notice(level="info", code=ev.IMPORTED_WORDS, title=what, hint=line, detail=text), at)

    def keep_unreadable(self, lines: Sequence[str]) -> None:
        for text in lines:
            self.keep_words("A line that could not be read", text, None)

    def note(
        self,
        event: ev.Notice | ev.SessionRenamed | ev.Pinned | ev.Unpinned | ev.AgentSessionOpened,
        at: datetime | None,
    ) -> None:
        self._move_to(at)
        self._add(event)

    def finish(self) -> None:
        self.end("interrupted" if self._waiting else "completed", None)

    def _add(self, event: ev.KnownEvent) -> None:
        self.record(replace(event, at=self._at if self._at != ev.UNSTAMPED else self.now))

    def _move_to(self, at: datetime | None) -> None:
        if at is not None and at.tzinfo is not None and _OLDEST <= at <= self.now:
            self._at = max(self._at, at.astimezone(UTC))

    def _begin(self, text: str) -> None:
        self.turn += 1
        self._requests = 0
        self._is_open = True
        self._begun_at = self._at
        self._chars += len(text)
        self._add(ev.PromptSubmitted(turn=self.turn, prompt_id=new_prompt_id(), text=text))
        self._add(ev.TurnStarted(turn=self.turn, model=self.model))

    def _is_wanted(self, block: AssistantBlock) -> bool:
        """Whether a block can be imported. One that only its own provider understands cannot."""
        if isinstance(block, OpaqueBlock) and block.call is not None:
            return True
        if isinstance(block, OpaqueBlock | RedactedThinkingBlock):
            self.left_out["parts of answers that only their provider can read"] += 1
            return False
        return not isinstance(block, TextBlock) or bool(block.text)

    def _block(self, block: AssistantBlock) -> AssistantBlock:
        match block:
            case ToolUseBlock():
                ours = claim_id(block.id[:200] or "call", self._used)
                self._waiting[block.id] = ours
                name = block.name or "unknown"
                arguments: JsonObject = {} if is_too_deep(block.arguments) else block.arguments
                return ToolUseBlock(id=ours, name=name, arguments=arguments, rejected=block.rejected)
            case ThinkingBlock(thinking=thinking):
                return ThinkingBlock(thinking=thinking, signature="")  # signed for another conversation
            case OpaqueBlock(call=call):
                return OpaqueBlock(payload={}, call=call)  # shown to the user, never sent to a model
            case TextBlock(text=text, citations=citations):
                return TextBlock(text=text, citations=tuple(replace(each, seal="") for each in citations))
            case _:
                return block

    def _result(self, text: str, *, is_error: bool, images: tuple[BlobRef, ...]) -> ToolResult:
        output: BlobRef | None = None
        if len(text) > MAX_RESULT_CHARS:
            output = self.blobs.put_ref(text.encode("utf-8", "replace"), "text/plain; charset=utf-8")
            half = MAX_RESULT_CHARS // 2
            text = f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
        error_type = "recoverable" if is_error else None
        return ToolResult(content=text, is_error=is_error, error_type=error_type, images=images, output=output)

    def _picture(self, base64: str) -> BlobRef | None:
        try:
            if len(base64) > MAX_PICTURE_BYTES * 4 // 3 + 4:
                raise PictureError("too large")
            content = b64decode(base64, validate=True)
            return self.blobs.put_ref(content, inspect_picture(content).media_type)
        except (Base64Error, ValueError):
            self.left_out["pictures that cannot be shown"] += 1
            return None

    def _start(self, call: ToolUseBlock) -> None:
        self.calls += 1
        self._started_at[call.id] = self._at
        self._add(
            ev.ToolCallStarted(
                turn=self.turn,
                call=ToolCall(id=call.id, name=call.name, arguments=call.arguments),
                title=_title(call),
                source="external",
                capabilities=(),
                is_read_only=False,
            )
        )

    def _finish_call(self, call_id: CallId, result: ToolResult) -> None:
        state = "failed" if result.is_error else "completed"
        duration_s = self._since(self._started_at.pop(call_id, self._at))
        self._chars += len(result.content)
        self._add(
            ev.ToolCallFinished(turn=self.turn, call_id=call_id, state=state, result=result, duration_s=duration_s)
        )

    def _since(self, moment: datetime) -> float:
        return max(0.0, (self._at - moment).total_seconds()) if moment != ev.UNSTAMPED else 0.0


def _title(call: ToolUseBlock) -> str:
    for key in _TITLE_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str) and value.strip():
            return shortened(value.strip().splitlines()[0], _MAX_TITLE)
    return call.name
