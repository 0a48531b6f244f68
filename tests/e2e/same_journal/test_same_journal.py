"""The same conversation leaves the same journal in every front end."""

from pathlib import Path

import pytest

from tests.e2e.same_journal.conversation import NOTES, prepare, replies
from tests.e2e.same_journal.journals import JsonValue, normalised
from tests.e2e.same_journal.ways import WAYS, Way, library
from tests.servers.threaded import serve

REACHED = [
    "approval_requested", "approval_resolved", "changes_prepared", "changes_recorded", "changes_undone", "message_done",
    "prompt_submitted", "session_opened", "tool_call_finished", "turn_ended", "usage_reported",
]  # fmt: skip
"""The events that every journal must have, so that the comparison is meaningful."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    expected_logs.append("the window stands still")  # a test process is slow, and shares its cores


def journal_of(way: Way, root: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, JsonValue]]:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(root / "home"))
    folder = prepare(root / "app")
    with serve(*replies()) as server:
        way(folder, server.url)
        assert server.violations == []
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == {"notes.txt": NOTES}
    (journal,) = root.rglob("journal.jsonl")
    return normalised(journal, folder, server.url)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", [name for name in WAYS if name != "library"])
def test_a_conversation_leaves_the_same_journal_as_in_the_library(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = journal_of(library, tmp_path / "library", monkeypatch)
    found = journal_of(WAYS[name], tmp_path / name, monkeypatch)
    assert {*REACHED} <= {record["type"] for record in expected}
    assert [record["type"] for record in found] == [record["type"] for record in expected]
    for one, other in zip(found, expected, strict=True):
        assert one == other
