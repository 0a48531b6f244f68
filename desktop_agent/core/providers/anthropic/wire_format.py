"""Anthropic's Messages API as a wire format. Source: https://platform.claude.com/docs/en/api/messages"""

from collections.abc import Collection, Mapping, Sequence

from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import WireName
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.anthropic.models import read_count, read_models
from desktop_agent.core.providers.anthropic.refusals import read_refusal
from desktop_agent.core.providers.anthropic.request import Shape, encode_count, encode_request
from desktop_agent.core.providers.anthropic.stream import AnthropicReader
from desktop_agent.core.providers.http.hosted_search import HostedSearch
from desktop_agent.core.providers.http.left_out import LeftOut
from desktop_agent.core.providers.http.pictures import EncodedPictures
from desktop_agent.core.providers.http.refusals import FailedCall, Refusal, RefusedError

API_VERSION = "2026-10-21"

ONLY_AT_HOME = frozenset({"diagnostics"})
"""What gateways that speak this format need not know."""


class AnthropicCounting:
    """The count of tokens, which is free."""

    path = "/v1/messages/count_tokens"

    def __init__(self, hosted_search: HostedSearch) -> None:
        """`hosted_search` knows with which tools the request will be sent."""
        self._hosted_search = hosted_search

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body of the question."""
        return encode_count(request, pictures, Shape(searches=self._hosted_search.is_offered(request)))

    def read(self, answer: bytes, call: FailedCall) -> int:
        """Return what was counted."""
        return read_count(answer, call)


class AnthropicFormat:
    """Messages, streamed."""

    name: WireName = "anthropic"
    answers_path = "/v1/messages"
    models_path = "/v1/models?limit=1000"  # the API's largest page, the newest first

    def __init__(self, *, never: Collection[str] = (), searches: bool = False) -> None:
        """`never` names the fields that are left out of every request; `searches` says that the API can search."""
        self.headers: Mapping[str, str] = {"anthropic-version": API_VERSION}
        self._left_out = LeftOut("diagnostics", never=never)
        self._hosted_search = HostedSearch(is_there=searches)
        self.counting = AnthropicCounting(self._hosted_search)

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body of a request."""
        left_out = self._left_out.for_model(request.model)
        return encode_request(request, pictures, Shape(left_out, searches=self._hosted_search.is_offered(request)))

    def reader(self) -> AnthropicReader:
        """Return what reads one answer."""
        return AnthropicReader()

    def refusal(self, error: RefusedError) -> Refusal:
        """Return what a status other than success means."""
        return read_refusal(error)

    def leave_out(self, refusal: Refusal, model: str) -> bool:
        """Return whether the request is worth sending without an optional field, or the search, that was refused."""
        return self._left_out.add(refusal, model) or self._hosted_search.is_refused(refusal, model)

    def sends_effort(self, model: str) -> bool:
        """Return that the level of effort is always sent: why it is refused is shown."""
        return True

    def read_models(self, page: bytes, call: FailedCall) -> Sequence[ListedModel]:
        """Return the models of a list that are not retired."""
        return read_models(page, call)
