from collections.abc import Iterable
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal


def record(number: int, title: str = "t") -> ev.SessionRenamed:
    return ev.SessionRenamed(title=f"{title}{number}").stamped(number, ev.UNSTAMPED)


def records(*numbers: int) -> list[ev.JournalEvent]:
    return [record(number) for number in numbers]


def write(path: Path, blobs: Blobs, events: Iterable[ev.JournalEvent]) -> None:
    journal = Journal.create(path, blobs)
    for event in events:
        journal.append(event, is_durable=False)
    journal.close()


def reopen_and_append(path: Path, blobs: Blobs, event: ev.JournalEvent) -> Path | None:
    """Open the journal as a session does and add a record; return the file of a torn tail."""
    journal, torn = Journal.open(path, blobs)
    journal.append(event, is_durable=True)
    journal.close()
    return torn
