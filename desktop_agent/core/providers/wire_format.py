"""Wire formats: pure translation of requests, answers and refusals, without connection, key or clock."""

import json
import math
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from secrets import token_hex
from typing import ClassVar, Literal, NamedTuple, TypeVar, cast, get_args

from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.file_types import PICTURE_TYPES
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.plain_text import is_encodable
from desktop_agent.core.base.regex import regex
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.protocol.events import TextDelta, ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    CacheMiss,
    Flaw,
    JsonObject,
    ModelRequest,
    StopReason,
    ThinkingBlock,
    ToolDefinition,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.providers.faults import FailedCall, Refusal, RefusedError, broken_off, not_the_api
from desktop_agent.core.providers.provider import Completion, StreamPiece, writing_call
from desktop_agent.core.providers.strict_json import (
    TextJoiner,
    is_too_deep,
    parse_arguments,
    repaired,
    repaired_object,
    weight_of,
    with_joined_pairs,
)
from desktop_agent.core.system.network.connections import MAX_BLOCKS, MAX_CALLS, MAX_CHARS, MAX_NAME_CHARS, oversized

PICTURE_GONE = "[The picture is no longer available.]"

Pictures = Mapping[Digest, str]
"""Maps each picture's digest to its data, or to a placeholder until the body is encoded."""

T = TypeVar("T")
S = TypeVar("S")


class EncodedPictures:
    """The pictures of the last request in base64, cached because the next request usually has them again."""

    def __init__(self) -> None:
        self._kept: dict[Digest, bytes] = {}

    def encode(self, images: Mapping[Digest, bytes]) -> Mapping[Digest, bytes]:
        kept = self._kept
        encoded = {digest: kept[digest] if digest in kept else b64encode(images[digest]) for digest in images}
        self._kept = encoded
        return encoded


def data_of(image: BlobRef, pictures: Pictures) -> str | None:
    return pictures.get(image.blob) if image.media_type in PICTURE_TYPES else None


class WireFormat(ABC):
    """One of the three formats, in a vendor's dialect: writes requests and reads answers.

    It remembers for this run which optional fields a model refused, and whether it refused the vendor's search.
    """

    answers_path: ClassVar[str]
    models_path: str
    """Empty where no list of models can be asked for."""
    count_path: str = ""
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self, *optional: str, never: Collection[str], searches: bool, effort_fields: Collection[str] = ()
    ) -> None:
        """`optional` fields can be left out, those in `never` always are. A dotted name stands for a nested field.

        Once any of the `effort_fields` is left out, the level of effort is no longer sent.
        """
        self._optional = frozenset(optional)
        self._never = frozenset(never)
        self._effort_fields = frozenset(effort_fields)
        self._left_out: dict[str, frozenset[str]] = {}
        self._searches = searches
        self._offered_search: set[str] = set()
        self._refused_search: set[str] = set()

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body as JSON. Takes milliseconds, so use a thread. Raises `ProviderError` for a bad tool."""
        return self._encoded(request, pictures, self.left_out(request.model))

    def _encoded(self, request: ModelRequest, pictures: EncodedPictures, left_out: Collection[str]) -> bytes:
        encoded = pictures.encode(request.images)
        # Megabytes of pictures are put in at the end: the JSON encoder would hold up every other thread.
        token = token_hex(16)
        whole = self.body(request, {digest: f"{token}:{digest}" for digest in encoded})
        body = {name: value for name, value in whole.items() if name not in left_out}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        parts = re.split(rb"%s:([0-9a-f]+)" % token.encode(), text)
        parts[1::2] = [encoded[part.decode()] for part in parts[1::2]]
        return b"".join(parts)

    def encode_count(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        raise NotImplementedError

    def read_count(self, answer: bytes, call: FailedCall) -> int:
        """Return the token count of an answer. Raises `ProviderError` for an answer without one."""
        raise NotImplementedError

    @abstractmethod
    def body(self, request: ModelRequest, pictures: Pictures) -> Mapping[str, object]:
        """Return the body with `pictures` as the data of its pictures. The caller must not modify it."""

    @abstractmethod
    def reader(self) -> "MessageReader": ...

    @abstractmethod
    def refusal(self, error: RefusedError) -> Refusal: ...

    @abstractmethod
    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the usable models of a list, in the list's order. Raises `ProviderError` for anything else."""

    def left_out(self, model: str) -> frozenset[str]:
        return self._left_out.get(model, self._never)

    def sends_effort(self, model: str) -> bool:
        return self.left_out(model).isdisjoint(self._effort_fields)

    def tools(self, request: ModelRequest, define: Callable[[ToolDefinition], T], search: S) -> list[T | S]:
        """Return the definitions of the tools, with `search` for a tool in whose place the provider searches."""
        searches = self.offers_search(request)
        return [
            copy(search) if tool.hosted_tool == _SEARCH_TOOL and searches else define(tool) for tool in request.tools
        ]

    def offers_search(self, request: ModelRequest) -> bool:
        """Whether to offer the provider's own web search instead of the application's tool."""
        is_wanted = any(tool.hosted_tool == _SEARCH_TOOL for tool in request.tools)
        is_offered = self._searches and is_wanted and request.model not in self._refused_search
        if is_offered:
            self._offered_search.add(request.model)
        return is_offered

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        """From now on, leave out the optional part that was refused. Return whether to send the request again."""
        field = refusal.parameter
        if refusal.fault == "invalid_request" and field in self._optional - self.left_out(model):
            self._left_out[model] = self.left_out(model) | {field}
            return True
        # An organisation may have switched the search off (`permission`), and older models do not know it.
        is_about_tools = field.startswith("tools") or _SEARCH_TOOL in refusal.message
        is_possible = refusal.fault in ("invalid_request", "permission") and is_about_tools
        if is_possible and model in self._offered_search - self._refused_search:
            self._refused_search.add(model)
            return True
        return False


_SEARCH_TOOL = "web_search"

_ALLOWED = regex(r"[a-zA-Z0-9_-]+")
_OTHER = regex(r"[^a-zA-Z0-9_-]")


def tool_name_in(name: str, longest: int) -> str:
    """Return a valid name for a past call, whose tool may be another model's or may never have existed."""
    if len(name) <= longest and _ALLOWED.fullmatch(name):
        return name
    return _OTHER.sub("_", name)[:longest] or "unknown"


class OfferedTool(NamedTuple):
    name: str
    schema: JsonObject
    description: str


def offered_tool(tool: ToolDefinition, longest_name: int) -> OfferedTool:
    """Return a tool's definition for the API. Raises `ProviderError` for a name that the API does not accept."""
    if len(tool.name) > longest_name or not _ALLOWED.fullmatch(tool.name):
        raise ProviderError(
            f"The tool “{tool.name}” has a name that the model's API does not accept.",
            fault="invalid_request",
            hint=f"Disable it, or rename it: letters, digits, _ and -, {longest_name} at most.",
        )
    schema: JsonObject = {"type": "object"} | repaired_object(tool.input_schema)
    description = repaired(tool.description) if tool.description.strip() else ""
    return OfferedTool(tool.name, schema, description)


def arguments_text(block: ToolUseBlock) -> str:
    return json.dumps(repaired_object(block.arguments), ensure_ascii=False, separators=(",", ":"))


def call_id_in(call_id: CallId, longest: int) -> str:
    """Return an ID that the API accepts. The same `call_id` always gives the same ID."""
    if len(call_id) <= longest and _ALLOWED.fullmatch(call_id):
        return call_id
    return f"call_{blake2b(call_id.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


# Fields of an event: the right type, or a stream that cannot be trusted. Those named `…_in` never fail, as in
# `protocol.foreign_json`; the others raise `ProviderError`. Plain functions over decoded JSON instead of models: an
# unknown block must go back as it came.

_MOST_TOKENS = 10**9
"""A larger number is not a token count, and sums of it would not fit into the files that store them."""


def required_object(fields: JsonObject, name: str) -> JsonObject:
    """Return the object `name`. Raises `ProviderError` if the field is missing or not an object."""
    value = fields.get(name)
    if not isinstance(value, dict):
        raise broken_off(f"malformed event: {name} is not an object")
    return cast("JsonObject", value)


def required_text(fields: JsonObject, name: str) -> str:
    """Return the text `name`, which may begin or end with half of a surrogate pair. Raises `ProviderError`."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise broken_off(f"malformed event: {name} is not text")
    return value


def optional_text(fields: JsonObject, name: str) -> str:
    return required_text(fields, name) if fields.get(name) is not None else ""


def required_token(fields: JsonObject, name: str) -> str:
    value = required_text(fields, name)
    if not value or not is_encodable(value):
        raise broken_off(f"malformed event: {name} is empty or broken")
    return value


def required_name(fields: JsonObject, name: str) -> str:
    value = required_token(fields, name)
    if len(value) > MAX_NAME_CHARS:
        raise oversized(f"{name} has {len(value):,} characters")
    return value


def event_type(event: JsonObject) -> str:
    """Return the type of an event; some gateways omit it for errors. Raises `ProviderError` if there is none."""
    return "error" if event.get("error") and "type" not in event else required_text(event, "type")


def error_in(event: JsonObject) -> JsonObject:
    """Return the error of an event; empty if there is none. Some servers send only the error's message."""
    error = event.get("error")
    return as_object(error) or ({"message": error} if error else {})


def message_id_in(fields: JsonObject) -> str:
    message_id = repaired(text_in(fields, "id"))
    return message_id if len(message_id) <= MAX_NAME_CHARS else ""


def required_index(fields: JsonObject, name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken_off(f"malformed event: {name} is not a number")
    return value


def count_in(fields: JsonObject, name: str, otherwise: int) -> int:
    value = fields.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return cast("int", value) if is_count else otherwise


def size_in(fields: JsonObject, name: str) -> int | None:
    return count_in(fields, name, 0) or None


def json_object(answer: bytes, call: FailedCall, flaw: str) -> JsonObject:
    """Return the JSON object of an answer; empty for other JSON. Raises `ProviderError` if it is not JSON."""
    try:
        return as_object(json.loads(answer))
    except (ValueError, RecursionError):
        raise not_the_api(call, flaw) from None


def decode_event(data: str) -> JsonObject | None:
    """Return the JSON object in an event; `None` for a word, which most gateways send to keep the connection alive.

    Raises `ProviderError` for other data. Infinite numbers become null, because neither a journal nor a request could
    hold them.
    """
    if (word := data.strip()).lower() in _SIGNS_OF_LIFE or _WORD.fullmatch(word):
        return None
    try:
        event: object = _EVENTS.decode(data)
    except (ValueError, RecursionError) as error:
        raise broken_off(f"malformed event: {type(error).__name__}") from None
    if not isinstance(event, dict):
        raise broken_off("malformed event: not an object")
    return cast("JsonObject", event) or None


_WORD = regex(r"<?[A-Za-z][\w.:>-]{0,39}")
_SIGNS_OF_LIFE = ("", "{}", "null", "ping", "[ping]", "keepalive", "keep-alive", "heartbeat", "[done]")


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


# Some servers report NaN and the infinities, in fields that are not used here.
_EVENTS = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _name: None)


class NumberedParts:
    """The numbered parts of a growing answer. Methods raise `ProviderError` for wrong numbers and oversized answers."""

    def __init__(self, *, times_said: int = 1) -> None:
        """`times_said` is how often a format sends each text: in pieces, and perhaps again as a whole at the end."""
        self._most_chars = times_said * MAX_CHARS
        self._parts: dict[int, GrowingPart] = {}
        self._open: set[int] = set()
        self._calls = 0
        self._chars = 0

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, index: int) -> bool:
        return index in self._parts

    def is_open(self, index: int) -> bool:
        return index in self._open

    def begin(self, index: int, part: "GrowingPart", *, is_call: bool) -> Iterable[StreamPiece]:
        if index in self._parts:
            raise broken_off(f"part {index} started twice")
        self._calls += is_call
        if len(self._parts) >= MAX_BLOCKS or self._calls > MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls or {MAX_BLOCKS:,} parts")
        self._parts[index] = part
        self._open.add(index)
        return part.begin()

    def add(self, index: int, event: JsonObject) -> Iterable[StreamPiece]:
        self.measure(event)
        return self._at(index).add(event)

    def end(self, index: int, whole: JsonObject) -> Iterable[StreamPiece]:
        """Close a part. It accepts no more events."""
        part = self._at(index)
        self._open.discard(index)
        return part.end(whole)

    def measure(self, fields: JsonObject) -> None:
        self._chars += weight_of(fields)
        if self._chars > self._most_chars:
            raise oversized(f"more than {MAX_CHARS:,} characters")

    def close(self) -> bool:
        was_open = sorted(self._open)
        for index in was_open:
            _ = [*self.end(index, {})]
        return bool(was_open)

    def closed(self) -> "list[GrowingPart]":
        """Return the parts in order. Raises `ProviderError` if one is still open."""
        if self._open:
            raise broken_off("the message ended inside a part")
        return [self._parts[index] for index in sorted(self._parts)]

    def _at(self, index: int) -> "GrowingPart":
        if index not in self._open:
            raise broken_off(f"part {index} is not open")
        return self._parts[index]


class MessageReader(ABC):
    """Reads the events of one streamed answer, trusting none. Methods raise `ProviderError`."""

    def __init__(self) -> None:
        self.is_untouched = True
        """Whether no event of this format has arrived."""
        self.is_whole = False
        """Whether the final event of the message has arrived, after which other events are ignored."""
        self._message_id = ""
        self._usage = Usage()
        self._explanation = ""
        self._cache_miss: CacheMiss | None = None
        self._mended: dict[Flaw, None] = {}
        self._unknown_word = ""
        """Data of an event that is probably a sign of life, but may report an error."""

    def add(self, data: str) -> Sequence[StreamPiece]:
        """Take the data of one event; return the pieces to show. Raises `ErrorEventError` for a reported error."""
        event = decode_event(data)
        if not is_encodable(data):
            self.mend("not_utf8")
        if event is None and data.strip().lower() not in _SIGNS_OF_LIFE:
            self._unknown_word = repaired(data.strip())
        return tuple(self._take(event)) if event is not None else ()

    def add_whole(self, body: bytes) -> Sequence[StreamPiece]:
        """Take the body of a response without events. A JSON document of this format counts as the answer."""
        text = body.decode(errors="surrogateescape").strip()
        document = decode_event(text) if text.startswith("{") and text.endswith("}") else None
        if document is None or not self._is_answer(document):
            return ()
        self.mend("whole_answer")
        return tuple(piece for event in self._events_of(document) for piece in self._take(event))

    def mend(self, flaw: Flaw) -> None:
        """Note that the answer had a flaw, which was repaired because only one meaning was possible."""
        self._mended[flaw] = None

    def mend_missing_reason(self) -> None:
        """Raises `ProviderError` if the server said a word that may be why there is no reason."""
        if self._unknown_word:
            raise broken_off(f"no stop reason, and the server said: {self._unknown_word}")
        self.mend("no_stop_reason")

    @abstractmethod
    def _is_answer(self, document: JsonObject) -> bool:
        """Whether a JSON document is an answer, or an error, in this format."""

    @abstractmethod
    def _events_of(self, document: JsonObject) -> Iterable[JsonObject]: ...

    @abstractmethod
    def completion(self) -> Completion:
        """Return the whole message. Raises `ProviderError` if any part of it is missing."""

    @abstractmethod
    def _take(self, event: JsonObject) -> Iterable[StreamPiece]: ...

    def _results(self, parts: "Iterable[GrowingPart]") -> Iterator[AssistantBlock]:
        for part in parts:
            yield from part.result()
            for flaw in part.mended:
                self.mend(flaw)

    def _completion(self, content: Iterable[AssistantBlock], reason: StopReason) -> Completion:
        blocks = tuple(content)
        if reason == "end_turn" and any(isinstance(block, ToolUseBlock) for block in blocks):
            self.mend("other_stop_reason")
            reason = "tool_use"
        return Completion(
            message_id=self._message_id,
            content=tuple(runnable_only_if_asked(block, reason) for block in blocks),
            stop_reason=reason,
            usage=self._usage,
            explanation=self._explanation,
            cache_miss=self._cache_miss,
            mended=tuple(self._mended),
        )


class GrowingPart(ABC):
    mended: Sequence[Flaw] = ()
    """The flaws that were mended. Known only after `result`."""

    def begin(self) -> Iterable[StreamPiece]:
        return ()

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        """Take an event about this part. Unknown kinds of events are ignored."""
        return ()

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        """Close the part. `whole` is the complete part, if the end event contains it."""
        return ()

    @abstractmethod
    def result(self) -> Sequence[AssistantBlock]: ...


class GrowingText:
    """Text that arrives in pieces. Half of a surrogate pair waits for its other half."""

    def __init__(self, shown_as: type[TextDelta | ThinkingDelta] = TextDelta) -> None:
        self._shown_as = shown_as
        self._joiner = TextJoiner()
        self._parts: list[str] = []

    @property
    def so_far(self) -> str:
        return "".join(self._parts)

    @property
    def received(self) -> str:
        """The text that arrived, including thoughts that a model wrote into it."""
        return self.so_far

    def split(self) -> tuple[str, str]:
        """Return the thoughts in the text, and the rest of the text. Call it only after `end`."""
        return "", self.so_far

    def add(self, text: str) -> Iterator[StreamPiece]:
        yield from self.show(self._joiner.add(text))

    def end(self) -> Iterator[StreamPiece]:
        yield from self.show(self._joiner.end())

    def show(self, text: str) -> Iterator[StreamPiece]:
        if text:
            self._parts.append(text)
            yield self._shown_as(text=text)


def thinking_in(thoughts: str) -> list[ThinkingBlock]:
    return [ThinkingBlock(thinking=thoughts, signature="")] if thoughts else []


_TAGS: Mapping[str, str] = {
    tag: f"{tag[0]}/{tag[1:]}"
    for tag in ("<think>", "<thinking>", "<thought>", "<seed:think>", "[THINK]", "\u25c1think\u25b7")
}
_MOST_BLANKS = 99
"""How many blanks may precede thoughts. A model that repeats itself can write many more."""
_THOUGHTS = regex(rf"\s{{0,{_MOST_BLANKS}}}({'|'.join(map(re.escape, _TAGS))})")
_THOUGHTS_BEGIN = tuple(tag[:size] for tag in _TAGS for size in range(1, len(tag)))
_LONE_END = regex(r"(?:\A|\n)[ \t]*</think(?:ing)?>[ \t]*(?:\r?\n|\Z)|(?<!`)</think(?:ing)?>(?:\r?\n){2}")
_FENCE = "```"


class GrowingAnswer(GrowingText):
    """The text of an answer, without the thoughts that a model wrote in `<think>` tags at its beginning.

    Templates of local models often write the opening tag themselves, so that only the closing one arrives. By then the
    thoughts were shown as text; in the message they are thoughts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._received: list[str] = []
        self._held: str = ""
        """Held-back text that may be the beginning of a tag."""
        self._tag: str = ""
        """The tag that will end the thoughts; empty outside thoughts."""
        self._thoughts: list[str] = []
        self._state: Literal["undecided", "thoughts", "after thoughts", "text"] = "undecided"

    @property
    def received(self) -> str:
        return "".join(self._received)

    def split(self) -> tuple[str, str]:
        thoughts, text = "".join(self._thoughts), self.so_far
        if not self._tag and (found := _LONE_END.search(text)):
            before = text[: found.start()]
            if before.count(_FENCE) % 2 == 0 and "<think" not in before:  # otherwise it is not alone
                thoughts, text = before, text[found.end() :].lstrip("\r\n")
        return thoughts.strip(), text

    def end(self) -> Iterator[StreamPiece]:
        yield from super().end()
        held, self._held = self._held, ""
        yield from self._think(held) if self._state == "thoughts" else super().show(held)

    def show(self, text: str) -> Iterator[StreamPiece]:
        self._received.append(text)
        if self._state == "undecided":
            text, self._held = self._held + text, ""
            if found := _THOUGHTS.match(text):
                self._state, self._tag = "thoughts", _TAGS[found[1]]
                text = text[found.end() :]
            elif len(text) - len(rest := text.lstrip()) <= _MOST_BLANKS and (not rest or rest in _THOUGHTS_BEGIN):
                self._held, text = text, ""
            else:
                self._state = "text"
        if self._state == "thoughts":
            thoughts, is_ended, text = (self._held + text).partition(self._tag)
            self._held = "" if is_ended else _beginning_of(self._tag, thoughts)
            yield from self._think(thoughts.removesuffix(self._held))
            self._state = "after thoughts" if is_ended else "thoughts"
        if self._state == "after thoughts" and (text := text.lstrip("\r\n")):
            self._state = "text"
        yield from super().show(text)

    def _think(self, text: str) -> Iterator[StreamPiece]:
        if text:
            self._thoughts.append(text)
            yield ThinkingDelta(text=text)


def _beginning_of(tag: str, text: str) -> str:
    return next((tag[:size] for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), "")


class GrowingCall(GrowingPart):
    """A tool call. Its arguments are text until the part ends, and must then be one whole object."""

    def __init__(self, call_id: CallId, name: str, kind: str = "", field: str = "") -> None:
        self.id = call_id
        self.name = name
        self._kind = kind
        self._field = field
        self._parts: list[str] = []
        self._size = 0

    def begin(self) -> Iterable[StreamPiece]:
        yield writing_call(self.id, self.name, self._size)

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        if event.get("type") == self._kind and (text := required_text(event, self._field)):
            self.append(text)
            yield writing_call(self.id, self.name, self._size)

    def append(self, arguments: object) -> None:
        """Add a piece of the arguments' text. Some servers send decoded arguments, or all of the text once more."""
        if is_too_deep(arguments):
            raise broken_off("the arguments are nested too deeply")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        so_far = "".join(self._parts) if self._size in (2, len(text)) else ""
        if text == so_far and not parse_arguments(text).rejected:
            return
        if so_far == "{}" and text.strip():  # stood for arguments to come
            self._parts, self._size = [], 0
        self._parts.append(text)
        self._size += len(text)

    def result(self) -> Sequence[AssistantBlock]:
        arguments, rejected, mended = parse_arguments(with_joined_pairs("".join(self._parts)))
        self.mended = [mended] if mended is not None else ()
        if not self.name:
            arguments, rejected = {}, _NO_NAME
        return [ToolUseBlock(id=self.id, name=self.name or "unnamed", arguments=arguments, rejected=rejected)]


_NO_NAME = "The call names no tool, so it was not run. Make the call again, with the name of the tool."


def kept_payload(payload: JsonObject, what: str) -> JsonObject:
    """Return a part that is sent back unmodified. Raises `ProviderError` if it is nested too deeply to be stored."""
    if is_too_deep(payload):
        raise broken_off(f"{what} is nested too deeply to be kept")
    return repaired_object(payload)


_STOP_REASONS: Mapping[str, StopReason] = {
    **{reason: reason for reason in get_args(StopReason)},
    "stop": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "complete": "end_turn",
    "tool_calls": "tool_use",
    "tool_call": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "model_length": "model_context_window_exceeded",
    "content_filter": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
}


def stop_reason_of(word: str) -> StopReason:
    """Map a server's word, in any of the formats, to a reason to stop."""
    return _STOP_REASONS.get(word.lower(), "other")


_NOT_RUN = {
    "max_tokens": "The answer reached its token limit, so the call was not run. Make it again, split if it is long.",
    "model_context_window_exceeded": "The context window was full, so the call was not run.",
}


def runnable_only_if_asked(block: AssistantBlock, reason: StopReason) -> AssistantBlock:
    """Reject a call if the message did not stop for its calls, even if the call looks complete."""
    if not isinstance(block, ToolUseBlock) or reason == "tool_use":
        return block
    why = _NOT_RUN.get(reason, f"The answer ended unexpectedly ({reason}), so the call was not run.")
    return replace(block, rejected=why)
