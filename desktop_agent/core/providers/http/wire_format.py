"""What a wire format is: how a request is written, how its answer is read, and what its refusals mean.

A format is plain translation, without connection, key or clock. `HttpProvider` does the rest, the same for all.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.vendors import WireName
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.base import Completion, StreamPiece
from desktop_agent.core.providers.http.pictures import EncodedPictures
from desktop_agent.core.providers.http.refusals import FailedCall, Refusal, RefusedError


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

    def completion(self) -> Completion:
        """Return the whole message, or raise `ProviderError` if any of it is missing."""
        ...


class TokenCounting(Protocol):
    """Counting the tokens of a request without asking for an answer, where an API offers it."""

    @property
    def path(self) -> str:
        """Where tokens are counted, below the address."""
        ...

    def encode(self, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        """Return the body of the question."""
        ...

    def read(self, answer: bytes, call: FailedCall) -> int:
        """Return what was counted. Raises `ProviderError` for an answer that has no count."""
        ...


class WireFormat(Protocol):
    """One of the three formats, as one vendor speaks it."""

    @property
    def name(self) -> WireName:
        """Which of them."""
        ...

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

    def reader(self) -> MessageReader:
        """Return what reads one answer."""
        ...

    def refusal(self, error: RefusedError) -> Refusal:
        """Return what a status other than success means, by its body."""
        ...

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
