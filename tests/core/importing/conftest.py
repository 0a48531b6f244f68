from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from desktop_agent.core.importing import Imported, ImportPlan, import_conversation
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.store.journal.journal_reader import read_journal

SAMPLES = Path(__file__).parent / "samples"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Importing:
    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.blobs = Blobs(self.data / "blobs")
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        self._numbers: Iterator[int] = count()

    def sample(self, name: str) -> Path:
        target = self.data.parent / name
        text = (SAMPLES / name).read_text(encoding="utf-8")
        target.write_text(text.replace("WORKSPACE", str(self.workspace)), encoding="utf-8")
        return target

    def file(self, content: str | bytes, name: str = "file.jsonl") -> Path:
        target = self.data.parent / name
        target.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return target

    def run(
        self, file: Path, *, workspace: Path | None = None, fallback: Path | None = None, is_again: bool = False
    ) -> Imported:
        plan = ImportPlan(
            session_id=f"20261121-120000-{next(self._numbers):06}",
            now=NOW,
            model=ModelRef(provider="anthropic", model="m"),
            approval="on_write",
            sandbox="restricted",
            app_version="1",
            workspace=workspace,
            fallback=fallback,
            is_again=is_again,
        )
        return import_conversation(file, self.data, self.blobs, plan)

    def events(self, imported: Imported) -> list[ev.JournalEvent]:
        path = self.data / "sessions" / imported.session_id / JOURNAL_NAME
        events, damages = read_journal(path, self.blobs)
        assert damages == []
        return events


@pytest.fixture
def ground(tmp_path: Path) -> Importing:
    return Importing(tmp_path)
