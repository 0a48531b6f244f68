"""Unsent text: one small private file per conversation. An unreadable file counts as empty."""

import errno
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, storage_error
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.regex import regex
from desktop_agent.core.store.journal.lines import open_regular
from desktop_agent.core.system.file_writes import write_private
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

DraftKey = str
"""Identifies a conversation, which may not be a session yet. Safe as a file name."""

_TURN = regex("[0-9]{1,18}")

MAX_BYTES = 64 * 2**20


def session_draft(session_id: SessionId) -> DraftKey:
    return f"session-{session_id}"


def viewing_draft(session_id: SessionId) -> DraftKey:
    """The key of a draft for a session that another process has open. That process has its own draft."""
    return f"viewing-{session_id}"


def folder_draft(workspace: Path) -> DraftKey:
    return f"folder-{digest_of(os.fsencode(workspace))[:32]}"


class SavedDraft(Struct, frozen=True):
    text: str = ""
    edits: Mapping[int, str] = field(default_factory=dict[int, str])
    sent: tuple[str, ...] = ()
    """Prompts that were sent but are in no journal yet, because their session is still being opened."""
    commit: str = ""
    """The message of a commit that was begun."""

    @property
    def is_empty(self) -> bool:
        return self == SavedDraft()

    def given_back(self) -> "SavedDraft":
        return replace(self, text="\n\n".join(text for text in (*self.sent, self.text) if text), sent=())


class Drafts:
    """The drafts of one data folder. Methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._claims: dict[DraftKey, Callable[[], object]] = {}

    def claim(self, key: DraftKey) -> DraftKey:
        """Return the key of this window's draft for the conversation, valid until `release`.

        Of several windows, the first gets the conversation's draft. Every other has its own.
        """
        if key.startswith("session-"):  # the session has a lock, which says whose the draft is
            return key
        slots = (key if number == 1 else f"{key}.{number}" for number in count(1))
        slot = next(slot for slot in slots if slot in self._claims or self._take(slot))
        if slot == key:
            self._gather(key)
        return slot

    def release(self) -> None:
        for give_up in self._claims.values():
            give_up()
        self._claims.clear()

    def load(self, key: DraftKey) -> SavedDraft:
        """Return the draft, including prompts that were sent but not recorded."""
        try:
            with open_regular(self._path(key)) as file:
                fields: object = json.loads(file.read(MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return SavedDraft()
        return _draft_in(cast("dict[str, object]", fields)).given_back() if isinstance(fields, dict) else SavedDraft()

    def save(self, key: DraftKey, draft: SavedDraft) -> None:
        """An empty draft is deleted. Raises `StorageError`."""
        path = self._path(key)
        with storage_error("The draft could not be saved.", path=path):
            if draft.is_empty:
                path.unlink(missing_ok=True)
                return
            write_private(path, _content(draft))

    def _take(self, slot: DraftKey) -> bool:
        """Lock the draft; False if another window has it. Where locking is impossible, only one window is assumed."""
        from filelock import FileLock, Timeout  # takes 9 ms to import; drafts of sessions do not need it

        try:
            make_private_folder(self._folder)
            lock = FileLock(self._folder / f"{slot}.lock", thread_local=False, mode=PRIVATE_FILE)
            lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError:
            return True
        self._claims[slot] = lock.release
        return True

    def _gather(self, key: DraftKey) -> None:
        for path in sorted(self._folder.glob(f"{key}.*.json")):
            slot = path.name.removesuffix(".json")
            if slot in self._claims or not self._take(slot):
                continue
            try:
                own, left = self.load(key), self.load(slot)
                text = "\n\n".join(part for part in (own.text, left.text) if part)
                with suppress(StorageError):  # it stays where it is
                    self.save(key, replace(own, text=text, edits={**left.edits, **own.edits}))
                    self.save(slot, SavedDraft())
            finally:
                if give_up := self._claims.pop(slot, None):
                    give_up()

    def _path(self, key: DraftKey) -> Path:
        return self._folder / f"{key}.json"


def _content(draft: SavedDraft) -> bytes:
    edits = {str(turn): text for turn, text in draft.edits.items()}
    fields = {"text": draft.text, "edits": edits, "sent": draft.sent, "commit": draft.commit}
    content = json.dumps(fields).encode()
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, "It is too long")
    return content


def _draft_in(fields: dict[str, object]) -> SavedDraft:
    text, edits, sent, commit = map(fields.get, ("text", "edits", "sent", "commit"))
    listed = cast("dict[str, object]", edits) if isinstance(edits, dict) else {}
    prompts = cast("list[object]", sent) if isinstance(sent, list) else []
    return SavedDraft(
        text if isinstance(text, str) else "",
        {int(turn): edit for turn, edit in listed.items() if _TURN.fullmatch(turn) and isinstance(edit, str)},
        tuple(prompt for prompt in prompts if isinstance(prompt, str)),
        commit if isinstance(commit, str) else "",
    )
