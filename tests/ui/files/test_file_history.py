from datetime import UTC, datetime

import pytest

from desktop_agent.core.protocol.model import Author, FileChange
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.files.path_actions import turn_words, turns_of

pytestmark = pytest.mark.usefixtures("qapp")


def record(
    turn: int, path: str, added: int, *, author: Author = "agent", was: str = "", is_undone: bool = False
) -> ChangeRecord:
    change = FileChange(
        id=f"{turn}.{path}", path=path, kind="modified", author=author, before=None, after=None, added=added, removed=1,
        moved_from=was,
    )  # fmt: skip
    call = "" if author == "person" else f"call-{turn}"
    return ChangeRecord(change, turn, call, datetime(2026, 11, 26, tzinfo=UTC), is_undone=is_undone)


def test_the_turns_that_changed_a_file_are_listed_the_last_first_under_all_its_names() -> None:
    records = [
        record(0, "old.py", 1, author="person"),
        record(1, "other.py", 9),
        record(2, "old.py", 3),
        record(2, "old.py", 4, is_undone=True),
        record(3, "new.py", 0, was="old.py"),
        record(4, "new.py", 2, is_undone=True),
        record(4, "new.py", 7, author="undo"),
    ]
    turns = turns_of("new.py", records)
    assert [turn_words(turn) for turn in turns] == [
        "Turn 4 · +2 −1 · undone",
        "Turn 3 · +0 −1",
        "Turn 2 · +7 −2",
        "Before the first message · you · +1 −1",
    ]
    assert [(turn.call_id, turn.path) for turn in turns][2:] == [("call-2", "old.py"), ("", "old.py")]
    assert turns_of("none.py", records) == []
