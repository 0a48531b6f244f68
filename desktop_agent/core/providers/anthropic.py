"""Anthropic's Messages API as a wire format: reads answers, and builds request bodies for any conversation.

The SDK's accumulator is not used, because it hides calls that were cut off. Sources, below
https://platform.claude.com/docs/en/: api/messages, build-with-claude/streaming, build-with-claude/cache-diagnostics,
agents-and-tools/tool-use/web-search-tool
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, assert_never, cast

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.models.known_model import LEVELS, ListedModel
from desktop_agent.core.models.vendors import Cloud
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in
from desktop_agent.core.protocol.events import HostedCallReported, ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    CacheMiss,
    CacheMissReason,
    Citation,
    HostedCall,
    HostedTool,
    ImageBlock,
    JsonObject,
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserBlock,
    WebPage,
)
from desktop_agent.core.providers import sdk_types as sdk
from desktop_agent.core.providers.faults import (
    ErrorEventError,
    FailedCall,
    Refusal,
    RefusedError,
    broken_off,
    fault_of_status,
    not_the_api,
)
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.strict_json import parse_arguments, repaired, repaired_object
from desktop_agent.core.providers.wire_format import (
    PICTURE_GONE,
    EncodedPictures,
    GrowingAnswer,
    GrowingCall,
    GrowingPart,
    GrowingText,
    MessageReader,
    NumberedParts,
    Pictures,
    WireFormat,
    call_id_in,
    count_in,
    data_of,
    error_in,
    event_type,
    json_object,
    kept_payload,
    message_id_in,
    offered_tool,
    optional_text,
    required_index,
    required_name,
    required_object,
    required_text,
    required_token,
    size_in,
    stop_reason_of,
    thinking_in,
    tool_name_in,
)

_FAULT_OF_TYPE: Mapping[str, ProviderFault] = {
    "authentication_error": "authentication", "billing_error": "billing", "permission_error": "permission",
    "not_found_error": "not_found", "request_too_large": "too_large", "rate_limit_error": "rate_limited",
    "timeout_error": "overloaded", "overloaded_error": "overloaded",
}  # fmt: skip

_FAULT_IN_CLOUD: Mapping[str, ProviderFault] = {
    # AWS: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
    "AccessDeniedException": "permission", "ExpiredTokenException": "authentication",
    "IncompleteSignature": "authentication", "InternalServerException": "server",
    "InvalidClientTokenId": "authentication", "InvalidSignatureException": "authentication",
    "MissingAuthenticationTokenException": "authentication", "ModelErrorException": "server",
    "ModelNotReadyException": "overloaded", "ModelStreamErrorException": "server",
    "ModelTimeoutException": "overloaded", "ResourceNotFoundException": "not_found",
    "ServiceQuotaExceededException": "rate_limited", "ServiceUnavailableException": "overloaded",
    "ThrottlingException": "rate_limited", "UnrecognizedClientException": "authentication",
    "ValidationException": "invalid_request",
    # Google: https://cloud.google.com/apis/design/errors
    "DEADLINE_EXCEEDED": "overloaded", "FAILED_PRECONDITION": "invalid_request", "INTERNAL": "server",
    "INVALID_ARGUMENT": "invalid_request", "NOT_FOUND": "not_found", "PERMISSION_DENIED": "permission",
    "RESOURCE_EXHAUSTED": "rate_limited", "UNAUTHENTICATED": "authentication", "UNAVAILABLE": "overloaded",
    # Microsoft
    "401": "authentication", "DeploymentNotFound": "not_found", "PermissionDenied": "permission",
    "RateLimitReached": "rate_limited",
}  # fmt: skip
_FAULT_OF_WORDS: Mapping[tuple[ProviderFault, str], ProviderFault] = {
    ("invalid_request", "model identifier is invalid"): "not_found",
    ("invalid_request", "too long for requested model"): "too_large",
    ("permission", "API Key"): "authentication",
    ("permission", "INVALID_PAYMENT_INSTRUMENT"): "billing",
    ("permission", "BILLING_DISABLED"): "billing",
}
"""Faults that only the wording of a cloud's error distinguishes."""

_BILLING_CODES = frozenset({"contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold"})
"""Error codes that the account's owner has to act on, although their HTTP status says otherwise."""


def _cloud_error(error: RefusedError, fields: JsonObject) -> Refusal | None:
    """Return the refusal if it has the form of AWS, Google or Microsoft, whose services stand before the model."""
    aws = error.headers.get("x-amzn-errortype", "").partition(":")[0]
    names = (aws, text_in(fields, "status"), text_in(fields, "code"))
    kind = "" if text_in(fields, "type") else next((name for name in names if name in _FAULT_IN_CLOUD), "")
    if not kind:
        return None
    fault = _FAULT_IN_CLOUD[kind]
    told = next((each for each in _FAULT_OF_WORDS if each[0] == fault and each[1] in error.text), None)
    fault = _FAULT_OF_WORDS[told] if told else fault
    said = (text_in(error.body, name) for name in ("message", "Message"))
    return Refusal(
        fault=fault,
        status=error.status,
        type=kind,
        message=next(filter(None, (text_in(fields, "message"), *said)), error.words),
        request_id=error.headers.get("x-amzn-requestid", ""),
        names_model=fault == "not_found",
    )


def reported_error(event: JsonObject) -> Refusal:
    fields = error_in(event)
    kind = text_in(fields, "type")
    in_cloud = _FAULT_IN_CLOUD.get(kind[:1].upper() + kind[1:])  # Bedrock's begin small in a stream
    return Refusal(
        fault=in_cloud or _fault(kind, "", None),
        type=kind,
        message=text_in(fields, "message"),
        request_id=text_in(event, "request_id"),
        names_model="not_found" in (in_cloud, kind.removesuffix("_error")),
    )


def _parameter(message: str) -> str:
    field, colon, _ = message.partition(":")
    return field if colon and " " not in field else ""


def _fault(kind: str, code: str, status: int | None) -> ProviderFault:
    if code in _BILLING_CODES:
        return "billing"
    if by_type := _FAULT_OF_TYPE.get(kind):
        return by_type
    if status:
        return fault_of_status(status)
    return "invalid_request" if kind == "invalid_request_error" else "server"


_REASONS: Mapping[str, CacheMissReason] = {
    "model_changed": "model",
    "system_changed": "system",
    "tools_changed": "tools",
    "messages_changed": "messages",
}


def cache_miss_in(message: JsonObject) -> CacheMiss | None:
    why = object_in(object_in(message, "diagnostics"), "cache_miss_reason")
    reason = _REASONS.get(text_in(why, "type"))
    return CacheMiss(reason=reason, tokens=count_in(why, "cache_missed_input_tokens", 0)) if reason else None


WEB_SEARCH: "sdk.AnthropicSearch" = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
"""The version of the web search that needs no code execution; all models that can search accept it."""

_LOCATION = "web_search_result_location"
_USE = "server_tool_use"
_RESULTS: Mapping[str, HostedTool] = {"web_search_tool_result": "web_search", "web_fetch_tool_result": "web_fetch"}
_ERRORS: Mapping[str, str] = {
    "max_uses_exceeded": "The model may not search more often in one answer.",
    "too_many_requests": "The provider has too many searches at the moment.",
    "unavailable": "The provider's search is not available at the moment.",
    "invalid_tool_input": "The provider could not use what the model wanted to search for.",
    "query_too_long": "What the model wanted to search for is too long.",
    "request_too_large": "What was found is too large for the model.",
}


def hosted_call_in(block: JsonObject) -> HostedCall | None:
    kind = text_in(block, "type")
    if kind == _USE and text_in(block, "name") in _RESULTS.values():
        asked = object_in(block, "input")
        tool: HostedTool = "web_search" if text_in(block, "name") == "web_search" else "web_fetch"
        query = text_in(asked, "query") or text_in(asked, "url")
        return HostedCall(id=text_in(block, "id"), tool=tool, query=query, state="started")
    if kind not in _RESULTS:
        return None
    call = HostedCall(id=text_in(block, "tool_use_id"), tool=_RESULTS[kind])
    if code := text_in(object_in(block, "content"), "error_code"):
        said = _ERRORS.get(code, f"The provider's search failed: {code}.")
        return HostedCall(id=call.id, tool=call.tool, error=said, state="failed")
    found = objects_in(block, "content") or [object_in(block, "content")]
    pages = (WebPage(url=text_in(each, "url"), title=text_in(each, "title")) for each in found)
    return HostedCall(id=call.id, tool=call.tool, pages=tuple(page for page in pages if page.url))


def citation_in(citation: JsonObject) -> Citation | None:
    if citation.get("type") != _LOCATION:
        return None
    url, title, quote, seal = (
        repaired(text_in(citation, name)) for name in ("url", "title", "cited_text", "encrypted_index")
    )
    return Citation(url=url, title=title, quote=quote, seal=seal)


def text_block(block: TextBlock) -> "sdk.AnthropicText":
    wire: sdk.AnthropicText = {"type": "text", "text": repaired(block.text)}
    citations: list[sdk.AnthropicCitation] = [
        {
            "type": _LOCATION,
            "url": each.url,
            "title": each.title or None,
            "cited_text": each.quote,
            "encrypted_index": each.seal,
        }
        for each in block.citations
        if each.seal
    ]
    if citations:
        wire["citations"] = citations
    return wire


def settle(entries: "Sequence[tuple[str, list[sdk.AnthropicBlock]]]") -> None:
    """Remove, in place, searches without a result and results without a search, because the API refuses them."""
    asked = {text_in(block, "id"): at for at, (_, blocks) in enumerate(entries) for block in blocks if _is_use(block)}
    ended = {
        text_in(block, "tool_use_id"): at
        for at, (_, blocks) in enumerate(entries)
        for block in blocks
        if _is_end(block)
    }
    last = max((at for at, (role, _) in enumerate(entries) if role == "assistant"), default=-1)
    after = [block for _, blocks in entries[last + 1 :] for block in blocks]
    goes_on = not after or after[0].get("type") == "tool_result"

    def is_whole(block: "sdk.AnthropicBlock", at: int) -> bool:
        if _is_use(block):
            return ended.get(text_in(block, "id"), -1) >= at or (at == last and goes_on)
        return not _is_end(block) or asked.get(text_in(block, "tool_use_id"), len(entries)) <= at

    for at, (_, blocks) in enumerate(entries):
        blocks[:] = [block for block in blocks if is_whole(block, at)]


def _is_use(block: "sdk.AnthropicBlock") -> bool:
    return block.get("type") == _USE


def _is_end(block: "sdk.AnthropicBlock") -> bool:
    return text_in(block, "type").endswith("_tool_result")


def start_block(fields: JsonObject) -> GrowingPart:
    match required_text(fields, "type"):
        case "text":
            return _Text(fields)
        case "thinking":
            return _Thinking(fields)
        case "tool_use":
            return _ToolUse(fields)
        case "redacted_thinking":
            return _RedactedThinking(fields)
        case _:
            return _Opaque(fields)


class _Text(GrowingPart):
    _name: ClassVar = "text"

    def __init__(self, fields: JsonObject, text: GrowingText | None = None) -> None:
        self._first = optional_text(fields, self._name)
        self._text = text or GrowingAnswer()
        self._citations = [cited for each in objects_in(fields, "citations") if (cited := citation_in(each))]

    def begin(self) -> Iterable[StreamPiece]:
        return self._text.add(self._first)

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        if event.get("type") == "citations_delta" and (cited := citation_in(object_in(event, "citation"))):
            self._citations.append(cited)
        if event.get("type") != f"{self._name}_delta":
            return ()
        return self._text.add(required_text(event, self._name))

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        return self._text.end()

    def result(self) -> Sequence[AssistantBlock]:
        thoughts, text = self._text.split()
        self.mended = ["thoughts_in_text"] if thoughts else ()
        return [*thinking_in(thoughts), TextBlock(text=text, citations=tuple(self._citations))]


class _Thinking(_Text):
    _name = "thinking"

    def __init__(self, fields: JsonObject) -> None:
        super().__init__(fields, GrowingText(ThinkingDelta))
        self._signature = repaired(optional_text(fields, "signature"))

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        if event.get("type") != "signature_delta":
            return super().add(event)
        if event.get("signature"):  # gateways to other models send an empty one
            self._signature = required_token(event, "signature")
        return ()

    def result(self) -> Sequence[AssistantBlock]:
        return [ThinkingBlock(thinking=self._text.so_far, signature=self._signature)]


class _ToolUse(GrowingCall):
    def __init__(self, fields: JsonObject) -> None:
        super().__init__(required_name(fields, "id"), required_name(fields, "name"), "input_json_delta", "partial_json")
        self._given = fields.get("input")

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        if not self._size and self._given:  # some gateways send the whole input with the start
            self.append(self._given)
        return ()


class _RedactedThinking(GrowingPart):
    def __init__(self, fields: JsonObject) -> None:
        self._data = required_token(fields, "data")

    def result(self) -> Sequence[AssistantBlock]:
        return [RedactedThinkingBlock(data=self._data)]


class _Opaque(GrowingPart):
    """A block of unknown type, kept whole so that it can be sent back.

    Unknown deltas are merged by the API's usual pattern: text grows, a list grows, anything else is replaced.
    """

    def __init__(self, fields: JsonObject) -> None:
        self._payload = {name: _growable(value) for name, value in fields.items()}
        self._input_parts: list[str] = []
        self._whole: JsonObject = {}
        self._call: HostedCall | None = None

    def add(self, event: JsonObject) -> Iterable[StreamPiece]:
        match event.get("type"):
            case "input_json_delta":
                self._input_parts.append(required_text(event, "partial_json"))
            case "citations_delta":
                self._grow("citations", [event.get("citation")])
            case _:
                for name, value in event.items():
                    if name != "type":
                        self._grow(name, value)
        return ()

    def end(self, whole: JsonObject) -> Iterable[StreamPiece]:
        if text := "".join(self._input_parts):
            self._payload["input"] = parse_arguments(text).value
        payload = {
            name: "".join(value.parts) if isinstance(value, _Parts) else value for name, value in self._payload.items()
        }
        self._whole = kept_payload(payload, "a block")
        self._call = hosted_call_in(self._whole)
        if self._call is not None:
            yield HostedCallReported(call=self._call)

    def result(self) -> Sequence[AssistantBlock]:
        return [OpaqueBlock(payload=self._whole, call=self._call)]

    def _grow(self, name: str, value: object) -> None:
        so_far = self._payload.get(name)
        if isinstance(so_far, _Parts) and isinstance(value, str):
            so_far.parts.append(value)
        elif isinstance(so_far, list) and isinstance(value, list):
            cast("list[object]", so_far).extend(cast("list[object]", value))
        else:
            self._payload[name] = _growable(value)


class _Parts(Struct, frozen=True):
    parts: list[str]


def _growable(value: object) -> object:
    match value:
        case str():
            return _Parts([value])
        case list():
            return list(cast("list[object]", value))
        case _:
            return value


class AnthropicReader(MessageReader):
    def __init__(self) -> None:
        super().__init__()
        self._stop_reason: str | None = None
        self._blocks = NumberedParts()

    def completion(self) -> Completion:
        if not self.is_whole and self._stop_reason is None:
            raise broken_off("the stream ended before the message did")
        if self._blocks.close() or not self.is_whole:
            self.mend("no_end_event")
        if self._stop_reason is None:
            self.mend_missing_reason()
        reason = stop_reason_of(self._stop_reason or "end_turn")
        return self._completion(self._results(self._blocks.closed()), reason)

    def _is_answer(self, document: JsonObject) -> bool:
        return document.get("type") == "message" or bool(error_in(document))

    def _events_of(self, document: JsonObject) -> Iterable[JsonObject]:
        if error_in(document):
            yield document
            return
        yield {"type": "message_start", "message": document}
        for index, block in enumerate(objects_in(document, "content")):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": document}
        yield {"type": "message_stop"}

    def _take(self, event: JsonObject) -> Iterable[StreamPiece]:
        match event_type(event):
            case "error":
                raise ErrorEventError(reported_error(event))
            case "message_start":
                self.is_untouched = False
                message = required_object(event, "message")
                self._message_id = message_id_in(message)
                self._cache_miss = cache_miss_in(message)
                self._count(message)
            case "content_block_start":
                index, fields = required_index(event, "index"), required_object(event, "content_block")
                self._blocks.measure(fields)
                return self._blocks.begin(index, start_block(fields), is_call=fields.get("type") == "tool_use")
            case "content_block_delta":
                return self._blocks.add(required_index(event, "index"), required_object(event, "delta"))
            case "content_block_stop":
                return self._blocks.end(required_index(event, "index"), {})
            case "message_delta":
                delta = required_object(event, "delta")
                reason = delta.get("stop_reason")
                details = object_in(delta, "stop_details")
                said = (text_in(details, "category").replace("_", " "), text_in(details, "explanation"))
                self._explanation = repaired(": ".join(filter(None, said))) or self._explanation
                self._stop_reason = reason if isinstance(reason, str) else self._stop_reason
                self._count(event)
            case "message_stop":
                self.is_whole = True
            case _:
                pass
        return ()

    def _count(self, event: JsonObject) -> None:
        usage = event.get("usage")
        if not isinstance(usage, dict):
            return
        counts, known = cast("JsonObject", usage), self._usage
        self._usage = Usage(
            input_tokens=count_in(counts, "input_tokens", known.input_tokens),
            output_tokens=count_in(counts, "output_tokens", known.output_tokens),
            cache_read_tokens=count_in(counts, "cache_read_input_tokens", known.cache_read_tokens),
            cache_write_tokens=count_in(counts, "cache_creation_input_tokens", known.cache_write_tokens),
            web_searches=count_in(object_in(counts, "server_tool_use"), "web_search_requests", known.web_searches),
        )


# -- requests --

_LONGEST_NAME = 128
_LONGEST_CALL_ID = 1_000
_CACHED: "sdk.AnthropicMark" = {"type": "ephemeral"}
_ONLY_FOR_ANSWERS = frozenset({"max_tokens", "stream", "diagnostics"})


class _Entry(NamedTuple):
    role: Literal["user", "assistant"]
    blocks: "list[sdk.AnthropicBlock]"


def _mark(entries: list[_Entry]) -> None:
    for entry in reversed(entries):
        for block in reversed(entry.blocks):
            match block:
                case {"type": "text" | "tool_use" | "tool_result"}:
                    block["cache_control"] = _CACHED
                    return
                case _:
                    pass


def _joined(entries: list[_Entry]) -> "list[sdk.AnthropicMessage]":
    """Drop empty messages and join neighbours of one role, with tool results first."""
    joined: list[_Entry] = []
    for entry in entries:
        if not entry.blocks:
            continue
        if joined and joined[-1].role == entry.role:
            joined[-1].blocks.extend(entry.blocks)
        else:
            joined.append(entry)
    for entry in joined:
        entry.blocks.sort(key=lambda block: block.get("type") != "tool_result")
    return [
        {"role": "user", "content": blocks} if role == "user" else {"role": "assistant", "content": blocks}
        for role, blocks in joined
    ]


def _block(part: AssistantBlock | UserBlock, pictures: Pictures) -> "sdk.AnthropicBlock | None":
    match part:
        case TextBlock():
            return text_block(part) if part.text.strip() else None
        case ThinkingBlock():
            if not part.signature:
                return None
            return {"type": "thinking", "thinking": part.thinking, "signature": part.signature}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolUseBlock():
            arguments = repaired_object(part.arguments)
            call_id, name = call_id_in(part.id, _LONGEST_CALL_ID), tool_name_in(part.name, _LONGEST_NAME)
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case ToolResultBlock():
            return _tool_result(part, pictures)
        case ImageBlock(image=image):
            return _picture(image, pictures)
        case OpaqueBlock():
            # A block of the API's own, sent back as it came: it can be newer than the SDK.
            return cast("sdk.AnthropicBlock", dict(part.payload)) if part.payload else None
        case _:
            assert_never(part)


def _tool_result(result: ToolResultBlock, pictures: Pictures) -> "sdk.AnthropicResult":
    call_id = call_id_in(result.call_id, _LONGEST_CALL_ID)
    block: sdk.AnthropicResult = {"type": "tool_result", "tool_use_id": call_id}
    content = repaired(result.content) if result.content.strip() else ""
    if result.is_error:  # an error must say something
        block["content"] = content or "The call failed without saying why."
        block["is_error"] = True
    elif result.images:
        text: list[sdk.AnthropicText] = [{"type": "text", "text": content}] if content else []
        block["content"] = [*text, *(_picture(image, pictures) for image in result.images)]
    elif content:
        block["content"] = content
    return block


def _picture(image: BlobRef, pictures: Pictures) -> "sdk.AnthropicText | sdk.AnthropicPicture":
    data = data_of(image, pictures)
    if data is None:
        return {"type": "text", "text": PICTURE_GONE}
    source = cast("sdk.AnthropicSource", {"type": "base64", "media_type": image.media_type, "data": data})
    return {"type": "image", "source": source}  # the type is one of the four that `data_of` knows


def _tool(tool: ToolDefinition) -> "sdk.AnthropicTool":
    name, schema, description = offered_tool(tool, _LONGEST_NAME)
    wire: sdk.AnthropicTool = {"name": name, "input_schema": schema}
    if description:
        wire["description"] = description
    return wire


def _listed(entry: JsonObject) -> ListedModel:
    can = object_in(entry, "capabilities")
    efforts = object_in(can, "effort")
    label = entry.get("display_name")
    return ListedModel(
        name=cast("str", entry["id"]),
        label=label if isinstance(label, str) else "",
        context_tokens=size_in(entry, "max_input_tokens"),
        output_tokens=size_in(entry, "max_tokens"),
        takes_images=_supports(can, "image_input"),
        thinks=_supports(can, "thinking"),
        takes_tools=True if can else None,
        efforts=tuple(level for level in LEVELS["anthropic"] if _supports(efforts, level)) if "effort" in can else None,
    )


def _supports(abilities: JsonObject, name: str) -> bool | None:
    said = object_in(abilities, name).get("supported")
    return said if isinstance(said, bool) else None


API_VERSION = "2026-10-21"

ONLY_AT_HOME = frozenset({"diagnostics"})
"""Optional fields that are sent only to Anthropic itself, and not to other servers of this format."""


class AnthropicFormat(WireFormat):
    answers_path = "/v1/messages"
    models_path = "/v1/models?limit=1000"  # the API's largest page, the newest first
    count_path = "/v1/messages/count_tokens"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": API_VERSION}

    def __init__(self, *, never: Collection[str] = (), searches: bool = False, cloud: Cloud | None = None) -> None:
        super().__init__("diagnostics", never=never, searches=searches)
        if cloud is not None:
            self.models_path = ""
            self.count_path = self.count_path if cloud.counts else ""

    def body(self, request: ModelRequest, pictures: Pictures) -> "sdk.AnthropicBody":
        """Return the body as a JSON object. The body shares parts with `request`, so do not modify it."""
        entries = [
            _Entry(message.role, [block for part in message.content if (block := _block(part, pictures)) is not None])
            for message in request.messages
        ]
        settle(entries)
        _mark(entries[: request.stable_messages])
        _mark(entries)
        if request.pinned.strip() and entries and entries[-1].role == "user":
            # Behind the breakpoint: the next request has this message without it, and finds the rest in the cache.
            entries[-1].blocks.append({"type": "text", "text": repaired(request.pinned)})
        body: sdk.AnthropicBody = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "stream": True,
            "messages": _joined(entries),
        }
        if request.effort:
            # The level is of the model's own list, which can be newer than the SDK.
            body["output_config"] = cast("sdk.AnthropicOutput", {"effort": request.effort})
        if request.system.strip():
            body["system"] = [{"type": "text", "text": repaired(request.system), "cache_control": _CACHED}]
        if request.tools:
            tools = self.tools(request, _tool, WEB_SEARCH)
            tools[-1]["cache_control"] = _CACHED
            body["tools"] = tools
        if request.follows is not None:
            body["diagnostics"] = {"previous_message_id": request.follows or None}
        return body

    def reader(self) -> AnthropicReader:
        return AnthropicReader()

    def refusal(self, error: RefusedError) -> Refusal:
        fields = object_in(error.body, "error")
        if in_cloud := _cloud_error(error, fields):
            return in_cloud
        kind, code = text_in(fields, "type"), text_in(object_in(fields, "details"), "error_code")
        return Refusal(
            fault=_fault(kind, code, error.status),
            status=error.status,
            type=kind,
            code=code,
            message=text_in(fields, "message") or error.words,
            request_id=error.headers.get("request-id", ""),
            parameter=_parameter(text_in(fields, "message")) if kind == "invalid_request_error" else "",
            is_from_api=bool(kind),
            names_model=kind == "not_found_error",
        )

    def encode_count(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        return self._encoded(request, pictures, _ONLY_FOR_ANSWERS)

    def read_count(self, answer: bytes, call: FailedCall) -> int:
        count = size_in(json_object(answer, call, "the count of tokens is not JSON"), "input_tokens")
        if count is None:
            raise not_the_api(call, "the count of tokens has no number")
        return count

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a `GET /v1/models` answer that are not retired, in the answer's order."""
        answer = json_object(page, call, "the list of models is not JSON")
        if not isinstance(answer.get("data"), list):
            raise not_the_api(call, "the list of models has no data")
        entries = objects_in(answer, "data")
        return [
            _listed(entry)
            for entry in entries
            if isinstance(entry.get("id"), str) and entry.get("lifecycle") != "retired"
        ]
