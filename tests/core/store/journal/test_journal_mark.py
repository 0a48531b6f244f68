from pathlib import Path

import pytest

from desktop_agent.core.store.journal import journal_mark
from desktop_agent.core.store.journal.journal_mark import whole_lines


def test_of_a_line_that_is_too_long_only_its_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_mark, "_LIMIT", 8)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"first\n" + b"x" * 20 + b"\nlast\n" + b"y" * 20 + b"\n")
    with path.open("rb") as file:
        assert list(whole_lines(file, 0)) == [(0, 6, b"first\n"), (6, 27, b""), (27, 32, b"last\n"), (32, 53, b"")]


def test_a_line_without_its_end_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_mark, "_LIMIT", 8)
    for rest in (b"open", b"y" * 20):
        path = tmp_path / "journal.jsonl"
        path.write_bytes(b"first\n" + rest)
        with path.open("rb") as file:
            assert [line for _, _, line in whole_lines(file, 0)] == [b"first\n"]
