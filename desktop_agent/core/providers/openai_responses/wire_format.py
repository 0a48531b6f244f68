"""OpenAI's Responses as a wire format. Source: https://platform.openai.com/docs/api-reference/responses"""

from collections.abc import Collection, Mapping, Sequence

from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import WireName
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.http.hosted_search import HostedSearch
from desktop_agent.core.providers.http.left_out import LeftOut
from desktop_agent.core.providers.http.pictures import EncodedPictures, encode_body
from desktop_agent.core.providers.http.refusals import FailedCall, Refusal, RefusedError
from desktop_agent.core.providers.openai.models import read_models
from desktop_agent.core.providers.openai.refusals import read_refusal
from desktop_agent.core.providers.openai_responses.caching import CACHE_FIELDS, CACHE_OPTIONS, COMPARED
from desktop_agent.core.providers.openai_responses.request import Shape, request_body
from desktop_agent.core.providers.openai_responses.stream import ResponsesReader

NOT_ON_A_PLAN = frozenset({"max_output_tokens", *CACHE_FIELDS})
"""What is refused of us when a request counts against a ChatGPT plan. It wants `stream` and no `store`, as we have it.

Source: https://developers.openai.com/siwc/token-sharing-open-source/models-and-inference
"""

_EFFORT = frozenset({"reasoning", "reasoning.effort"})
"""The field of the level of effort, and the one that it is in."""


class ResponsesFormat:
    """Responses, streamed and not stored."""

    name: WireName = "openai-responses"
    answers_path = "/responses"
    models_path = "/models"
    counting = None

    def __init__(self, *, never: Collection[str] = (), searches: bool = False, names_sources: bool = False) -> None:
        """`never` names the fields that are left out of every request; `searches` says that the API searches the web.

        `names_sources` says that a search tells which pages it found.
        """
        self.headers: Mapping[str, str] = {}
        self._hosted_search = HostedSearch(is_there=searches)
        self._names_sources = names_sources
        # Models that do not think refuse `reasoning` and `include`; a summary also needs an organisation that was
        # verified. Older models do not know `prompt_cache_options`.
        self._left_out = LeftOut(
            "include",
            "reasoning.summary",
            *_EFFORT,
            "max_output_tokens",
            *CACHE_FIELDS,
            f"{CACHE_OPTIONS}.{COMPARED}",
            never=never,
        )

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body of a request."""
        shape = Shape(
            self._left_out.for_model(request.model),
            searches=self._hosted_search.is_offered(request),
            names_sources=self._names_sources,
        )
        return encode_body(request, lambda each, data: request_body(each, data, shape), pictures)

    def reader(self) -> ResponsesReader:
        """Return what reads one answer."""
        return ResponsesReader()

    def refusal(self, error: RefusedError) -> Refusal:
        """Return what a status other than success means."""
        return read_refusal(error)

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        """Return whether the request is worth sending without an optional field, or the search, that was refused."""
        return self._left_out.add(refusal, model) or self._hosted_search.is_refused(refusal, model)

    def sends_effort(self, model: str) -> bool:
        """Return whether the level of effort goes with requests of a model."""
        return self._left_out.for_model(model).isdisjoint(_EFFORT)

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a list."""
        return read_models(page, call)
