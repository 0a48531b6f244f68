"""The list of models as OpenAI, OpenRouter and the local servers give it: ids, and what some say besides.

Models that only embed, or answer with other things than text, are left out: no conversation is possible with them.

For who signed in with ChatGPT, OpenAI gives another list: `models`, each with a `slug`, some of them hidden.
"""

import json
from collections.abc import Sequence
from typing import cast

from desktop_agent.core.models.known_model import ListedModel, only_embeds
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.fields import size_in
from desktop_agent.core.providers.http.refusals import FailedCall, not_the_api

_PER_TOKENS = 1_000_000
_MOST_DOLLARS = 1_000.0
"""For one token. More is no price, nor is what is no number."""


def read_models(page: bytes, call: FailedCall) -> Sequence[ListedModel]:
    """Return the models of a `GET /models` answer, in its order. Raises `ProviderError` if it is no such answer."""
    try:
        answer: object = json.loads(page)
    except (ValueError, RecursionError):
        raise not_the_api(call, "the list of models is not JSON") from None
    fields = cast("JsonObject", answer) if isinstance(answer, dict) else {}
    if isinstance(fields.get("models"), list) and "data" not in fields:
        return [_of_a_plan(entry) for entry in objects_in(fields, "models") if _is_offered(entry)]
    if not isinstance(fields.get("data"), list) and not (fields.get("object") == "list" and "data" in fields):
        raise not_the_api(call, "the list of models has no data")
    return [_listed(entry) for entry in objects_in(fields, "data") if _answers_in_text(entry)]


def _answers_in_text(entry: JsonObject) -> bool:
    """Whether a model has a name and can answer in words, as far as its entry says."""
    name, answers = text_in(entry, "id"), texts_in(object_in(entry, "architecture"), "output_modalities")
    return bool(name) and not only_embeds(name) and (not answers or "text" in answers)


def _listed(entry: JsonObject) -> ListedModel:
    """Return an entry; the fields beyond `id` are OpenRouter's, LM Studio's and llama.cpp's."""
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
    """Return OpenRouter's prices, which are texts and for one token; a negative one says that it depends."""
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


def _is_offered(entry: JsonObject) -> bool:
    return bool(text_in(entry, "slug")) and text_in(entry, "visibility") != "hide"


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
