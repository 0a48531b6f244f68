"""Chat Completions as a wire format. Source: https://platform.openai.com/docs/api-reference/chat"""

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
from desktop_agent.core.providers.openai_chat.request import (
    CACHE_KEY,
    PARALLEL,
    Body,
    EffortField,
    LimitField,
    request_body,
)
from desktop_agent.core.providers.openai_chat.stream import ChatReader


class ChatFormat:
    """Chat Completions, streamed."""

    name: WireName = "openai-chat"
    answers_path = "/chat/completions"
    models_path = "/models"
    counting = None

    def __init__(
        self,
        limit_field: LimitField,
        *,
        reports_cost: bool = False,
        allows_several_calls: bool = False,
        cache_marks_for: tuple[str, ...] = (),
        never: Collection[str] = (),
        searches: bool = False,
        effort_field: EffortField = "reasoning_effort",
    ) -> None:
        """`limit_field` is what the vendor calls the longest answer: OpenAI's own models know the newer name only.

        `reports_cost` says that the usage of an answer has its cost in US dollars, `allows_several_calls` that a
        request must say that there may be several calls. `cache_marks_for` are beginnings of the names of models that
        cache only what is marked. `never` names the fields that are left out of every request. `searches` says that
        the vendor is a router that searches the web, `effort_field` where the effort stands.
        """
        self.headers: Mapping[str, str] = {}
        self._limit_field: LimitField = limit_field
        self._reports_cost = reports_cost
        self._cache_marks_for = cache_marks_for
        self._allows_several_calls = allows_several_calls
        self._hosted_search = HostedSearch(is_there=searches)
        self._left_out = LeftOut("stream_options", PARALLEL, CACHE_KEY, effort_field, never=never)
        self._effort_field: EffortField = effort_field

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body of a request."""
        shape = Body(
            self._limit_field,
            self._left_out.for_model(request.model),
            marks_cache=request.model.startswith(self._cache_marks_for),
            searches=self._hosted_search.is_offered(request),
            effort_field=self._effort_field,
            allows_several_calls=self._allows_several_calls,
        )
        return encode_body(request, lambda each, data: request_body(each, data, shape), pictures)

    def reader(self) -> ChatReader:
        """Return what reads one answer."""
        return ChatReader(reports_cost=self._reports_cost)

    def refusal(self, error: RefusedError) -> Refusal:
        """Return what a status other than success means."""
        return read_refusal(error)

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        """Return whether the request is worth sending without an optional field, or the search, that was refused."""
        return self._left_out.add(refusal, model) or self._hosted_search.is_refused(refusal, model)

    def sends_effort(self, model: str) -> bool:
        """Return whether the level of effort goes with requests of a model."""
        return self._effort_field not in self._left_out.for_model(model)

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a list."""
        return read_models(page, call)
