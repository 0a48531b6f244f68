"""What a wire format is: how a request is written, how its answer is read, and what its refusals mean.

A format is plain translation, without connection, key or clock; `HttpProvider` does the rest, the same for all. Here
are the protocol, and the parts that `anthropic`, `responses` and `chat` write requests and read answers with.
"""

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Generic, Protocol, TypeVar, cast

from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import WireName
from desktop_agent.core.protocol.codec import text_in
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    JsonObject,
    ModelRequest,
    StopReason,
    ToolUseBlock,
)
from desktop_agent.core.providers.faults import FailedCall, Refusal, RefusedError, broken_off
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.strict_json import is_encodable, repaired, weight_of
from desktop_agent.core.system.network.connections import MAX_BLOCKS, MAX_CALLS, MAX_CHARS, MAX_NAME_CHARS, oversized

PICTURE_GONE = "[The picture is no longer available.]"
_PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

Pictures = Mapping[Digest, str]
"""The data of each picture by its digest, or what stands for it until the body is text."""


class EncodedPictures:
    """The base64 of the pictures in the last request, because the next one has them again."""

    def __init__(self) -> None:
        self._kept: dict[Digest, bytes] = {}

    def encode(self, images: Mapping[Digest, bytes]) -> Mapping[Digest, bytes]:
        """Return `images` in base64, and forget those of earlier requests that are not among them."""
        kept = self._kept
        encoded = {digest: kept[digest] if digest in kept else b64encode(images[digest]) for digest in images}
        self._kept = encoded
        return encoded


def encode_body(
    request: ModelRequest, make_body: Callable[[ModelRequest, Pictures], JsonObject], pictures: EncodedPictures
) -> bytes:
    """Return what `make_body` makes of `request`, as JSON with its pictures in it."""
    encoded = pictures.encode(request.images)
    # Megabytes of pictures are put in at the end: the JSON encoder would hold every other thread up meanwhile.
    token = token_hex(16)
    body = make_body(request, {digest: f"{token}:{digest}" for digest in encoded})
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    parts = re.split(rb"%s:([0-9a-f]+)" % token.encode(), text)
    parts[1::2] = [encoded[part.decode()] for part in parts[1::2]]
    return b"".join(parts)


def data_of(image: BlobRef, pictures: Pictures) -> str | None:
    """Return the data of a picture that models take, or `None`: it is gone, or of another kind."""
    return pictures.get(image.blob) if image.media_type in _PICTURE_TYPES else None


class MessageReader(Protocol):
    """Reads the events of one streamed answer, in the order they arrive, trusting none of them."""

    @property
    def is_untouched(self) -> bool:
        """Whether nothing came at all that this format would send."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the event came that ends a message: nothing after it counts."""
        ...

    def add(self, data: str) -> Sequence[StreamPiece]:
        """Take the data of one event and return what there is to show.

        Raises `ProviderError` with the fault `stream` for what cannot be trusted, and `ErrorEventError` for an error
        that the other side reports. Unknown events are passed over.
        """
        ...

    def completion(self) -> Completion: ...


class TokenCounting(Protocol):
    """Counting the tokens of a request without asking for an answer, where an API offers it."""

    @property
    def path(self) -> str:
        """Where tokens are counted, below the address."""
        ...

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes: ...

    def read(self, answer: bytes, call: FailedCall) -> int:
        """Return what was counted. Raises `ProviderError` for an answer that has no count."""
        ...


class WireFormat(Protocol):
    """One of the three formats, as one vendor speaks it."""

    @property
    def name(self) -> WireName: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What goes with every request."""
        ...

    @property
    def answers_path(self) -> str:
        """Where answers are asked for, below the address."""
        ...

    @property
    def models_path(self) -> str:
        """Where the list of models is, with its query."""
        ...

    @property
    def counting(self) -> TokenCounting | None:
        """How tokens are counted; `None` where that is not offered."""
        ...

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body as JSON. Takes milliseconds for a long conversation: call it from a thread.

        Raises `ProviderError` for a tool that cannot be offered.
        """
        ...

    def reader(self) -> MessageReader: ...

    def refusal(self, error: RefusedError) -> Refusal: ...

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        """Return whether the refused request is worth sending again: without something optional that it names.

        What is left out once for a model stays out.
        """
        ...

    def sends_effort(self, model: str) -> bool:
        """Return whether the level of effort goes with requests of a model: as long as it is not left out."""
        ...

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a list that can be used, in its order. Raises `ProviderError` if it is no list."""
        ...


_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def require_tool_name(name: str, longest: int) -> None:
    """Return if a tool may be offered under this name. Raises `ProviderError`."""
    if len(name) > longest or not _ALLOWED.fullmatch(name):
        raise ProviderError(
            f"The tool “{name}” has a name that the model's API does not accept.",
            fault="invalid_request",
            hint=f"Disable it, or rename it: letters, digits, _ and -, {longest} at most.",
        )


def tool_name_in(name: str, longest: int) -> str:
    """Return the name of a call that was made, perhaps by another provider's model or to a tool that never existed."""
    if len(name) <= longest and _ALLOWED.fullmatch(name):
        return name
    return _OTHER.sub("_", name)[:longest] or "unknown"


def call_id_in(call_id: CallId, longest: int) -> str:
    """Return the id as an API takes it; another provider's id becomes one of its own that is the same every time."""
    if len(call_id) <= longest and _ALLOWED.fullmatch(call_id):
        return call_id
    return f"call_{blake2b(call_id.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


class LeftOut:
    """Remembers, in this run, the optional fields of a body that a model was found not to take."""

    def __init__(self, *optional: str, never: Collection[str] = ()) -> None:
        """`optional` names the fields that a request makes sense without; a dotted one is a field within a field.

        Those in `never` are left out for every model.
        """
        self._optional = frozenset(optional)
        self._never = frozenset(never)
        self._by_model: dict[str, frozenset[str]] = {}

    def for_model(self, model: str) -> frozenset[str]:
        return self._by_model.get(model, self._never)

    def add(self, refusal: Refusal, model: str) -> bool:
        """Return whether `refusal` names an optional field that was sent until now."""
        field = refusal.parameter
        if refusal.fault != "invalid_request" or field not in self._optional or field in self.for_model(model):
            return False
        self._by_model[model] = self.for_model(model) | {field}
        return True


_TOOL = "web_search"
"""What the tool's type is called, or begins with, in every format."""


class HostedSearch:
    """Remembers, in this run, which models do not take the provider's own web search: these get our own tool."""

    def __init__(self, *, is_there: bool) -> None:
        self._is_there = is_there
        self._offered: set[str] = set()
        self._refused: set[str] = set()

    def is_offered(self, request: ModelRequest) -> bool:
        """Return whether a request offers it."""
        is_wanted = any(tool.hosted_tool == _TOOL for tool in request.tools)
        is_offered = self._is_there and is_wanted and request.model not in self._refused
        if is_offered:
            self._offered.add(request.model)
        return is_offered

    def is_refused(self, refusal: Refusal, model: str) -> bool:
        """Return whether a refusal may be about it, so that the request is worth sending with our own tool.

        An organisation may have switched it off (`permission`), and older models do not know it.
        """
        is_about_tools = refusal.parameter.startswith("tools") or _TOOL in refusal.message
        is_possible = refusal.fault in ("invalid_request", "permission") and is_about_tools
        if not is_possible or model not in self._offered - self._refused:
            return False
        self._refused.add(model)
        return True


# Fields of an event: the right type, or a stream that cannot be trusted. Those named `…_in` never fail, as in
# `protocol.foreign_json`; the others raise `ProviderError`. Plain functions over decoded JSON instead of models: an
# unknown block must go back as it came.

_MOST_TOKENS = 10**9

"""More is no count, and sums of it would not fit into the files that keep them."""


def required_object(fields: JsonObject, name: str) -> JsonObject:
    """Return the object `name`. Raises `ProviderError` if it is missing or something else."""
    value = fields.get(name)
    if not isinstance(value, dict):
        raise broken_off(f"malformed event: {name} is not an object")
    return cast("JsonObject", value)


def required_text(fields: JsonObject, name: str) -> str:
    """Return the text `name`, perhaps with half a character at its ends. Raises `ProviderError` if it is none."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise broken_off(f"malformed event: {name} is not text")
    return value


def optional_text(fields: JsonObject, name: str) -> str:
    """Return the text `name`, or nothing when there is none."""
    return required_text(fields, name) if fields.get(name) is not None else ""


def required_token(fields: JsonObject, name: str) -> str:
    """Return the text `name`, which is an id, a name or a signature: not empty, and no broken characters."""
    value = required_text(fields, name)
    if not value or not is_encodable(value):
        raise broken_off(f"malformed event: {name} is empty or broken")
    return value


def required_name(fields: JsonObject, name: str) -> str:
    """Return the name or id `name`. Raises `ProviderError` also for one that is longer than any."""
    value = required_token(fields, name)
    if len(value) > MAX_NAME_CHARS:
        raise oversized(f"{name} has {len(value):,} characters")
    return value


def message_id_in(fields: JsonObject) -> str:
    """Return the id of a message, which is kept and may go back; nothing where there is none, or what none can be."""
    message_id = repaired(text_in(fields, "id"))
    return message_id if len(message_id) <= MAX_NAME_CHARS else ""


def required_index(fields: JsonObject) -> int:
    value = fields.get("index")
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken_off("malformed event: index is not a number")
    return value


def count_in(fields: JsonObject, name: str, otherwise: int) -> int:
    """Return a number of tokens, or `otherwise` when the event does not say, or says what none can be."""
    value = fields.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return cast("int", value) if is_count else otherwise


def size_in(fields: JsonObject, name: str) -> int | None:
    """Return a number of tokens above zero, or `None` when there is none, or one that none can be."""
    return count_in(fields, name, 0) or None


def decode_event(data: str) -> JsonObject | None:
    """Return the object that the data of a server-sent event spells; `None` when there is none.

    A number that is none in JSON, or infinite here, is null: neither a journal nor a request could hold it. Raises
    `ProviderError` for anything else.
    """
    if not data:
        return None
    try:
        event: object = _EVENTS.decode(data)
    except (ValueError, RecursionError) as error:
        raise broken_off(f"malformed event: {type(error).__name__}") from None
    if not isinstance(event, dict):
        raise broken_off("malformed event: not an object")
    return cast("JsonObject", event)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _nothing(_name: str) -> None:
    """What NaN and the infinities are read as: some servers report them, in fields that are not used here."""


_EVENTS = json.JSONDecoder(parse_float=_finite, parse_constant=_nothing)


Part = TypeVar("Part")


class NumberedParts(Generic[Part]):
    """The numbered parts of an answer while they arrive: each begins once, takes its events, and ends.

    Every method may raise `ProviderError`: for a number out of order, and for an answer beyond every bound.
    """

    def __init__(self, *, times_said: int = 1) -> None:
        """`times_said` is how often a format sends each text: in pieces, and perhaps whole at the end again."""
        self._most_chars = times_said * MAX_CHARS
        self._parts: dict[int, Part] = {}
        self._open: set[int] = set()
        self._calls = 0
        self._chars = 0

    def __contains__(self, index: int) -> bool:
        return index in self._parts

    @property
    def has_open(self) -> bool:
        return bool(self._open)

    def begin(self, index: int, part: Part, *, is_call: bool) -> None:
        """Take the part that begins under this number."""
        if index in self._parts:
            raise broken_off(f"part {index} started twice")
        self._calls += is_call
        if len(self._parts) >= MAX_BLOCKS or self._calls > MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls or {MAX_BLOCKS:,} parts")
        self._parts[index] = part
        self._open.add(index)

    def at(self, index: int) -> Part:
        if index not in self._open:
            raise broken_off(f"part {index} is not open")
        return self._parts[index]

    def end(self, index: int) -> Part:
        """Return the part that ends: nothing may come for it any more."""
        part = self.at(index)
        self._open.discard(index)
        return part

    def measure(self, fields: JsonObject) -> None:
        self._chars += weight_of(fields)
        if self._chars > self._most_chars:
            raise oversized(f"more than {MAX_CHARS:,} characters")

    def in_order(self) -> list[Part]:
        return [self._parts[index] for index in sorted(self._parts)]


_NOT_RUN = {
    "max_tokens": "The answer reached its token limit, so the call was not run. Make it again, split if it is long.",
    "model_context_window_exceeded": "The context window was full, so the call was not run.",
}
"""What the model reads about a call in an answer that did not end by asking for it."""


def runnable_only_if_asked(block: AssistantBlock, reason: StopReason) -> AssistantBlock:
    """Return `block`; a call in a message that did not stop for its calls is rejected, however whole it looks."""
    if not isinstance(block, ToolUseBlock) or reason == "tool_use":
        return block
    why = _NOT_RUN.get(reason, f"The answer stopped for another reason ({reason}), so the call was not run.")
    return replace(block, rejected=why)
