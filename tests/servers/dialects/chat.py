"""OpenAI's Chat Completions API, as OpenAI serves it and as compatible servers do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.chat_chunks import chunk, chunks
from tests.servers.dialects.chat_habits import ChatHabits
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.dialects.openai import MODELS, error_object, key_in, models_or_nothing, refused
from tests.servers.dialects.openrouter import MODELS as OPENROUTER_MODELS
from tests.servers.dialects.openrouter import numbered_error, numbered_refusal
from tests.servers.script import Event, Garbage, Refusal, Reply, StreamError, Whole


@dataclass(frozen=True)
class ChatDialect(ChatHabits):
    """The format of `POST /chat/completions`."""

    base: str = "/v1"
    answers_at: str = "/v1/chat/completions"
    request_id_header: str = "x-request-id"
    models: Sequence[JsonObject] = MODELS

    def key(self, headers: Mapping[str, str]) -> str:
        return key_in(headers)

    def objection(self, headers: Mapping[str, str]) -> Refusal | None:
        return None

    def violations(self, path: str, body: object) -> list[str]:
        from tests.servers.validation.chat import check_request

        if path != self.answers_at:
            return []
        thinking = {f"messages.*.{field}" for field in self.thinking_fields}
        return check_request(body, self.takes | thinking, self.server_tools, alternates=self.alternates)

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return models_or_nothing(method, path, models)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        for number, each in enumerate(chunks(self, reply, ask)):
            yield self._commented(self.encoded(each, ask, number) if isinstance(each, Event) else sse(each))
        if self.has_done:
            yield self._commented(sse(b"[DONE]"))

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        """Return the data of the event; there are no names here."""
        match event:
            case Event(_, data) | Garbage(data):
                return sse(data)
            case StreamError(kind, message) if self.numbers_errors:
                failed = chunk(ask, {"role": "assistant", "content": ""}, finish_reason="error")
                return sse(failed | {"error": numbered_error(kind, message)})
            case StreamError(kind, message):
                return sse({"error": error_object(kind, message)})

    def spelled(self, refusal: Refusal) -> Whole:
        return numbered_refusal(refusal) if self.numbers_errors else refused(refusal)

    def _commented(self, event: bytes) -> bytes:
        return b": %s\n\n%s" % (self.comment.encode(), event) if self.comment else event


CHAT = ChatDialect()
OPENROUTER = ChatDialect(
    thinking="reasoning_details",
    usage_at="finish",
    comment="OPENROUTER PROCESSING",
    numbers_errors=True,
    server_tools=frozenset({"openrouter:web_search"}),
    takes=frozenset({"reasoning", "usage", "provider", "messages.*.content.*.cache_control"}),
    models=OPENROUTER_MODELS,
)
