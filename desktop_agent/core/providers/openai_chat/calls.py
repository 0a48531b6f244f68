"""The calls of one message while they arrive: told apart by their place, or by their ids where there is none."""

import json

from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, ToolUseBlock
from desktop_agent.core.providers.arguments import parse_arguments
from desktop_agent.core.providers.base import ToolInputChunk
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.surrogates import repaired
from desktop_agent.core.system.network.connections import MAX_CALLS, MAX_NAME_CHARS, oversized


class GrowingCalls:
    """Reads also what compatible servers do: no places, a call that comes whole, several calls at one place."""

    def __init__(self) -> None:
        self._calls: list[_GrowingCall] = []
        self._by_place: dict[int, _GrowingCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, fields: JsonObject) -> ToolInputChunk:
        """Take one piece of a call and return how far it is. Raises `ProviderError` for what cannot be one."""
        call = self._call_of(fields)
        call.add(object_in(fields, "function"))
        return ToolInputChunk(call_id=call.id, name=call.name, size=call.size)

    def result(self) -> list[AssistantBlock]:
        """Return the calls in the order in which they began."""
        return [call.result() for call in self._calls]

    def _call_of(self, fields: JsonObject) -> "_GrowingCall":
        place, call_id = _place_in(fields), repaired(text_in(fields, "id"))
        last = self._calls[-1] if self._calls else None
        known = self._by_place.get(place) if place is not None else last
        is_new = known is None or (bool(call_id) and call_id != known.given_id and bool(known.given_id))
        if known is not None and not is_new:
            return known
        if len(self._calls) >= MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls")
        if len(call_id) > MAX_NAME_CHARS:
            raise oversized(f"an id has {len(call_id):,} characters")
        name = repaired(text_in(object_in(fields, "function"), "name"))
        if not name:
            raise broken_off("malformed event: a call without a name")
        if len(name) > MAX_NAME_CHARS:
            raise oversized(f"a name has {len(name):,} characters")
        call = _GrowingCall(call_id, call_id or f"call_{len(self._calls)}", name)
        self._calls.append(call)
        if place is not None:
            self._by_place[place] = call
        return call


def _place_in(fields: JsonObject) -> int | None:
    place = fields.get("index")
    return place if isinstance(place, int) and not isinstance(place, bool) else None


class _GrowingCall:
    """One call. Its arguments are text until the message ends, and count only if that text is one whole object."""

    def __init__(self, given_id: str, call_id: str, name: str) -> None:
        self.given_id = given_id
        """Empty where the server gave none; the turn makes ids unique."""
        self.id = call_id
        self.name = name
        self.size = 0
        self._parts: list[str] = []

    def add(self, function: JsonObject) -> None:
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # decoded already, by some servers
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            self._parts.append(arguments)
            self.size += len(arguments)

    def result(self) -> AssistantBlock:
        arguments, rejected = parse_arguments(repaired("".join(self._parts)))
        return ToolUseBlock(id=self.id, name=self.name, arguments=arguments, rejected=rejected)
