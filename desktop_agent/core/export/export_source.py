"""The input of an export: a stored session, the facts above the conversation, and its turns."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.codec import MalformedLineError
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import Damage, Readable, read_each_line, read_line
from desktop_agent.core.store.journal.journal_scan import head_of
from desktop_agent.core.store.journal.lines import open_regular, read_lines
from desktop_agent.core.transcript import Entry, SessionInfo, Transcript, TurnState

MAX_FILE_BYTES = 512 * 2**10
"""How many bytes a file may have for a document to show its changes."""

_HEADING = frozenset(
    {b"session_opened", b"session_renamed", b"mode_set", b"prompt_submitted", b"usage_reported", b"turn_started"}
)


class ExportSource(Struct, frozen=True):
    journal: Path
    blobs: Blobs


class Facts(Struct):
    session: SessionInfo = field(default_factory=SessionInfo)
    turns: TurnState = field(default_factory=TurnState)
    damages: list[Damage] = field(default_factory=list[Damage])


def read_facts(source: ExportSource) -> Facts:
    """Return the facts above the conversation. Reads the journal once. Raises `StorageError`."""
    facts = Facts()
    try:
        with open_regular(source.journal) as file:
            for line in read_lines(file):
                head = head_of(line.content) if line.content is not None else None
                if head is None or head.kind not in _HEADING:
                    continue
                found = read_line(line, source.blobs)
                if isinstance(found, Readable):
                    facts.session.apply(found.event)
                    facts.turns.apply(found.event, is_known_call=False)
    except (OSError, MalformedLineError) as error:
        raise StorageError("The session could not be read.", detail=f"{source.journal}: {error}") from error
    return facts


def read_turns(source: ExportSource, facts: Facts) -> Iterator[list[Entry]]:
    """Yield the entries of each turn. Afterwards `facts` describe the unreadable lines, and have the plan."""
    damages = facts.damages
    part = Transcript()
    for line, found in read_each_line(source.journal, source.blobs):
        if isinstance(found, Damage):
            damages.append(found)
            continue
        damages += [Damage(line.number, reason) for reason in found.lost]
        if isinstance(found.event, PromptSubmitted) and part.entries:
            yield part.entries
            turns = part.turns
            part = Transcript(turns=TurnState(turn=turns.turn, plan=turns.plan, todos=turns.todos))
        part.apply(found.event)
    if part.entries:
        yield part.entries
    facts.turns.plan = part.turns.plan
