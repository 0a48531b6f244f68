"""OpenAI's Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.dialects.openai import MODELS, error_object, key_in, models_or_nothing, refused
from tests.servers.dialects.response_items import ARGUMENTS_DELTA, Item, Piece, item_of
from tests.servers.dialects.response_object import diagnostics, ended, response_object
from tests.servers.script import Event, Fault, Garbage, Refusal, Reply, StreamError, Whole


@dataclass(frozen=True)
class ResponsesDialect:
    """The format of `POST /responses`."""

    base: str = "/v1"
    answers_at: str = "/v1/responses"
    request_id_header: str = "x-request-id"
    models: Sequence[JsonObject] = MODELS
    thinking: Literal["summary", "text"] = "summary"
    calls: Literal["fragments", "whole"] = "fragments"
    """Whether the arguments of a call come in deltas, or only when they are complete, as xAI has it."""
    repeats_output: bool = True
    fails_with: Literal["error", "nested error", "response.failed"] = "error"
    is_plan: bool = False

    def key(self, headers: Mapping[str, str]) -> str:
        return key_in(headers)

    def objection(self, headers: Mapping[str, str]) -> Refusal | None:
        return None

    def violations(self, path: str, body: object) -> list[str]:
        from tests.servers.validation.responses import check_request

        return check_request(body, is_plan=self.is_plan) if path == self.answers_at else []

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return models_or_nothing(method, path, models)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        for number, event in enumerate(_Stream(self, reply, ask).events()):
            if isinstance(event, Piece):
                yield _event(event.name, sequence_number=number, **event.fields)
            else:
                yield self.encoded(event, ask, number)

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        match event:
            case Event(name, data):
                return sse(data, name) if isinstance(data, bytes) else _event(name, **data)
            case StreamError(kind, message):
                return self._failure(error_object(kind, message), ask, number)
            case Garbage(data):
                return sse(data, "response.output_text.delta")

    def spelled(self, refusal: Refusal) -> Whole:
        return refused(refusal)

    def _failure(self, error: JsonObject, ask: Ask, number: int) -> bytes:
        code, message = error["code"] or error["type"], error["message"]
        if self.fails_with == "error":
            return _event("error", code=code, message=message, param=None, sequence_number=number)
        if self.fails_with == "nested error":
            return _event("error", error=error, sequence_number=number)
        response = response_object(ask, "failed") | {"error": {"code": code, "message": message}}
        return _event("response.failed", response=response, sequence_number=number)


RESPONSES = ResponsesDialect()
CHATGPT_PLAN = ResponsesDialect(is_plan=True)


class _Stream:
    """One response, event by event."""

    def __init__(self, dialect: ResponsesDialect, reply: Reply, ask: Ask) -> None:
        self._dialect = dialect
        self._reply = reply
        self._ask = ask
        self._output: list[JsonObject] = []

    def events(self) -> Iterator[Piece | Event]:
        begun = response_object(self._ask, "in_progress")
        yield Piece("response.created", {"response": begun})
        yield Piece("response.in_progress", {"response": begun})
        for position, part in enumerate(self._reply.parts):
            if isinstance(part, Event):
                yield part
            elif not isinstance(part, Fault):
                item = item_of(part, self._reply, self._ask, position, self._dialect.thinking)
                yield from self._item(item)
        if self._reply.stop_reason is not None:
            status, details = ended(self._reply.stop_reason)
            output = self._output if self._dialect.repeats_output else []
            response = response_object(self._ask, status, output=output, spent=self._reply.spent) | details
            response["prompt_cache_diagnostics"] = diagnostics(self._ask, self._reply.missed)
            yield Piece(f"response.{status}", {"response": response})

    def _item(self, item: Item) -> Iterator[Piece]:
        place: JsonObject = {"output_index": len(self._output)}
        yield Piece("response.output_item.added", place | {"item": item.begun})
        for piece in item.pieces:
            if self._dialect.calls == "whole" and piece.name == ARGUMENTS_DELTA:
                continue
            yield Piece(piece.name, {"item_id": item.done.get("id")} | place | piece.fields)
        yield Piece("response.output_item.done", place | {"item": item.done})
        self._output.append(item.done)


def _event(name: str, /, **data: object) -> bytes:
    return sse({"type": name} | data, name)
