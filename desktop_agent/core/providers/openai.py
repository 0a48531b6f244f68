"""The parts that both of OpenAI's formats share, also for compatible servers: errors, models, usage.

Errors: https://platform.openai.com/docs/guides/error-codes. Compatible servers fill the same fields with less.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.models.known_model import ListedModel, Rates, only_embeds
from desktop_agent.core.protocol.codec import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.model import JsonObject, ToolResultBlock, Usage
from desktop_agent.core.providers.faults import FailedCall, Refusal, RefusedError, fault_of_status, not_the_api
from desktop_agent.core.providers.strict_json import repaired
from desktop_agent.core.providers.wire_format import WireFormat, count_in, json_object, size_in

_FAULT_OF_CODE: Mapping[str, ProviderFault] = {
    "invalid_api_key": "authentication", "insufficient_quota": "billing", "billing_hard_limit_reached": "billing",
    "billing_not_active": "billing", "model_not_found": "not_found", "context_length_exceeded": "too_large",
    "exceed_context_size_error": "too_large", "request_too_large": "too_large", "rate_limit_exceeded": "rate_limited",
    "server_is_overloaded": "overloaded", "slow_down": "overloaded", "server_error": "server",
}  # fmt: skip


def reported_error(fields: JsonObject) -> Refusal:
    status = fields.get("code")
    return _refusal(fields, status if isinstance(status, int) and 400 <= status < 600 else None)


def _refusal(fields: JsonObject, status: int | None) -> Refusal:
    kind, code = text_in(fields, "type"), text_in(fields, "code")
    fault = _FAULT_OF_CODE.get(code) or _FAULT_OF_CODE.get(kind)
    if fault is None:
        fault = fault_of_status(status) if status else "server"
    return Refusal(
        fault=fault,
        type=kind,
        code=code,
        message=text_in(fields, "message"),
        parameter=text_in(fields, "param"),
        # At OpenAI, a path that does not exist is an `invalid_request_error` without a code; others have no codes.
        names_model=code == "model_not_found" or (bool(fields) and kind != "invalid_request_error"),
    )


_PER_TOKENS = 1_000_000
_MOST_DOLLARS = 1_000.0
"""How many US dollars one token can credibly cost. A higher number is not a price."""


def _answers_in_text(entry: JsonObject) -> bool:
    name, answers = text_in(entry, "id"), texts_in(object_in(entry, "architecture"), "output_modalities")
    return bool(name) and not only_embeds(name) and (not answers or "text" in answers)


def _listed(entry: JsonObject) -> ListedModel:
    """Return the model of an entry. Fields other than `id` are OpenRouter's, LM Studio's and llama.cpp's."""
    top, meta = object_in(entry, "top_provider"), object_in(entry, "meta")
    parameters = texts_in(entry, "supported_parameters")
    modalities = texts_in(object_in(entry, "architecture"), "input_modalities")
    return ListedModel(
        name=text_in(entry, "id"),
        label=text_in(entry, "name"),
        context_tokens=size_in(entry, "context_length")
        or size_in(entry, "max_context_length")
        or size_in(meta, "n_ctx_train"),
        output_tokens=size_in(top, "max_completion_tokens"),
        takes_images="image" in modalities if modalities else None,
        takes_tools="tools" in parameters if parameters else None,
        thinks="reasoning" in parameters if parameters else None,
        price=_price(object_in(entry, "pricing")),
    )


def _price(pricing: JsonObject) -> Rates | None:
    """Return OpenRouter's prices, which are texts, per token. A negative price means that it varies."""
    read, written = _dollars_in(pricing, "prompt"), _dollars_in(pricing, "completion")
    if read is None or written is None:
        return None
    cache_read, cache_write = _dollars_in(pricing, "input_cache_read"), _dollars_in(pricing, "input_cache_write")
    return Rates(input=read, output=written, cache_read=cache_read, cache_write=cache_write)


def _dollars_in(pricing: JsonObject, key: str) -> float | None:
    try:
        dollars = float(text_in(pricing, key))
    except ValueError:
        return None
    return round(dollars * _PER_TOKENS, 9) if 0 <= dollars <= _MOST_DOLLARS else None


def _of_a_plan(entry: JsonObject) -> ListedModel:
    levels = [text_in(level, "effort") for level in objects_in(entry, "supported_reasoning_levels")]
    modalities = texts_in(entry, "input_modalities")
    return ListedModel(
        name=text_in(entry, "slug"),
        label=text_in(entry, "display_name"),
        context_tokens=size_in(entry, "context_window"),
        takes_images="image" in modalities if modalities else None,
        efforts=tuple(level for level in levels if level) if levels else None,
    )


def read_usage(fields: JsonObject, *, whole_input: str, output: str) -> Usage:
    details = object_in(fields, f"{whole_input}_details")
    read = count_in(details, "cached_tokens", 0)
    written = count_in(details, "cache_write_tokens", 0)
    whole = count_in(fields, whole_input, 0)
    return Usage(
        input_tokens=max(whole - read - written, 0),
        output_tokens=count_in(fields, output, 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def cost_in(fields: JsonObject) -> float | None:
    value = fields.get("cost")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < math.inf else None


def result_text(result: ToolResultBlock) -> str:
    if result.content.strip():
        return repaired(result.content)
    return "The call failed without saying why." if result.is_error else "(no output)"


class OpenAIFormat(WireFormat):
    models_path = "/models"

    def refusal(self, error: RefusedError) -> Refusal:
        fields = object_in(error.body, "error")
        said = text_in(error.body, "error")  # a plain text, as some servers send
        return replace(
            _refusal(fields, error.status),
            status=error.status,
            message=text_in(fields, "message") or said or error.words,
            request_id=error.headers.get("x-request-id", ""),
            is_from_api=bool(fields) or bool(said),
        )

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        fields = json_object(page, call, "the list of models is not JSON")
        if isinstance(fields.get("models"), list) and "data" not in fields:
            models = objects_in(fields, "models")
            return [_of_a_plan(each) for each in models if text_in(each, "slug") and each.get("visibility") != "hide"]
        if not isinstance(fields.get("data"), list) and not (fields.get("object") == "list" and "data" in fields):
            raise not_the_api(call, "the list of models has no data")
        return [_listed(entry) for entry in objects_in(fields, "data") if _answers_in_text(entry)]
