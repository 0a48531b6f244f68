"""What was imported already, so that the same conversation does not come twice by mistake. Only a memory aid."""

import json
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId, is_session_id
from desktop_agent.core.base.private_files import make_private_file
from desktop_agent.core.importing.fields import read_objects
from desktop_agent.core.protocol.foreign_json import text_in
from desktop_agent.core.protocol.model import JsonObject

LOG_NAME = "imports.jsonl"


class ImportMark(Struct, frozen=True, kw_only=True):
    """One import: which file, of which conversation, became which session."""

    digest: str
    """Of the file."""
    source: str
    source_id: str
    session_id: SessionId = ""

    def is_same(self, other: "ImportMark") -> bool:
        """Whether both are of one conversation: the same file, or a later state of it."""
        has_id = bool(self.source_id)
        return self.digest == other.digest or (
            has_id and (self.source, self.source_id) == (other.source, other.source_id)
        )


def earlier_import(log: Path, mark: ImportMark, sessions: Path) -> SessionId | None:
    """Return the session that this conversation was imported as, if that is still there."""
    if not log.exists():
        return None
    for _, fields in read_objects(log, []):
        known = ImportMark(**{name: text_in(fields, name) for name in ("digest", "source", "source_id", "session_id")})
        if known.is_same(mark) and is_session_id(known.session_id) and (sessions / known.session_id).is_dir():
            return known.session_id
    return None


def remember_import(log: Path, mark: ImportMark) -> None:
    """Add an import. Raises `StorageError`."""
    try:
        make_private_file(log)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cast("JsonObject", asdict(mark))) + "\n")
    except OSError as error:
        raise StorageError("The import could not be noted.", detail=f"{log}: {error}") from error
