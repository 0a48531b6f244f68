"""How a reply's events go onto the wire: chunk by chunk, and with its fault."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.script import Fault, Reply


@dataclass(frozen=True)
class Stage:
    chunks: list[bytes]
    then: Literal["reset", "close", "end", "stall"]


def stages(reply: Reply, dialect: Dialect, ask: Ask) -> list[Stage]:
    events, fault = list(dialect.events(reply, ask)), reply.fault
    if fault is None:
        return [Stage(_chunks(events, reply), "end")]
    before, after = _split(events, fault)
    if fault.kind == "insert":
        assert fault.event is not None
        inserted = dialect.encoded(fault.event, ask, len(before))
        return [Stage(_chunks([*before, inserted, *([] if fault.is_last else after)], reply), "end")]
    first = [Stage(_chunks(before, reply), fault.kind)]
    return [*first, Stage(_chunks(after, reply), "end")] if fault.kind == "stall" else first


def body(reply: Reply, dialect: Dialect, ask: Ask) -> bytes:
    return b"".join(chunk for stage in stages(reply, dialect, ask) for chunk in stage.chunks)


def _chunks(events: Sequence[bytes], reply: Reply) -> list[bytes]:
    sizes = reply.chunk_sizes
    if not sizes:
        return list(events)
    rest, chunks = b"".join(events), list[bytes]()
    while rest:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(rest[:size])
        rest = rest[size:]
    return chunks


def _split(events: list[bytes], fault: Fault) -> tuple[list[bytes], list[bytes]]:
    if fault.size is None:
        return events[: fault.events], events[fault.events :]
    whole = b"".join(events)
    return [whole[: fault.size]], [whole[fault.size :]]
