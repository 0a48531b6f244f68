"""Saves a draft for each conversation, and sent prompts until they are in the journal."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QTimer

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.store.drafts import DraftKey, Drafts, SavedDraft, session_draft

_PAUSE_MS = 500

logger = logging.getLogger(__name__)


class DraftAutosave(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._composer = composer = self._panels.composer
        self._view = view = self._panels.transcript
        self._drafts = Drafts(self._bench.paths.data / "drafts")
        self._key: DraftKey = ""
        self._written: dict[DraftKey, SavedDraft] = {}
        self._slots: dict[DraftKey, DraftKey] = {}
        """By conversation, the key under which its draft is stored. Another window may show the same conversation."""
        self._unsaved: set[DraftKey] = set()
        self._along = ""
        self._saving = asyncio.Lock()
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._save_soon)
        composer.text_changed.connect(self._on_text_changed)
        view.entry_actions.edit_changed.connect(self._on_edit_changed)
        view.entry_actions.edit_closed.connect(self._on_edit_closed)
        review = self._panels.review
        review.kept_message = lambda session_id: self._written.get(session_draft(session_id), SavedDraft()).commit
        review.message_changed.connect(self._on_message_changed)

    async def fetch(self, key: DraftKey) -> None:
        if key not in self._written:
            slot = self._slots[key] = await asyncio.to_thread(self._drafts.claim, key)
            draft = await asyncio.to_thread(self._drafts.load, slot)
            self._written.setdefault(key, draft)

    def enter(self, key: DraftKey) -> None:
        """Show a conversation's draft, with the text of `bring_along` or the text written before any conversation."""
        along, self._along = self._along, ""
        if key == self._key:
            self._view.row_layout.show_edits(self._shown.edits)  # it is drawn again
            return
        homeless = self._taken_out(along) if self._key else self._composer.text()
        self._key = ""  # text put into the field from now on was not typed
        draft = self._written.get(key, SavedDraft())
        text = "\n\n".join(part for part in (draft.text, homeless) if part)
        if self._composer.text() != text:
            self._composer.set_text(text)
        self._view.row_layout.show_edits(draft.edits)
        self._key = key
        self._note(replace(draft, text=text))
        self._save_soon()

    def bring_along(self, text: str) -> None:
        """Move this text to the next shown conversation, if the field still ends with it then."""
        self._along = text

    def _taken_out(self, text: str) -> str:
        if not text or not self._shown.text.endswith(text):
            return ""
        self._note(replace(self._shown, text=self._shown.text.removesuffix(text).rstrip()))
        return text

    def adopt(self, source: DraftKey, key: DraftKey) -> None:
        """Append the draft `source` to the draft `key`. Both must have been fetched."""
        found, own = self._written.pop(source, SavedDraft()), self._written.get(key, SavedDraft())
        if not found.is_empty:
            text = "\n\n".join(part for part in (own.text, found.text) if part)
            self._written[key] = replace(own, text=text, edits={**found.edits, **own.edits})
            self._unsaved |= {source, key}
            self._save_soon()

    def move(self, key: DraftKey) -> None:
        draft = self._written.pop(self._key, SavedDraft())
        self._unsaved.add(self._key)
        self._key = key
        self._note(draft)
        self._save_soon()

    def note_sent(self, key: DraftKey, prompts: Sequence[str]) -> None:
        """Save these sent prompts, which are not in the journal yet, instead of the earlier ones."""
        draft = self._written.get(key, SavedDraft())
        if draft.sent == tuple(prompts):
            return
        self._written[key] = replace(draft, sent=tuple(prompts))
        self._unsaved.add(key)
        if prompts:
            self._pause.start()  # until then what was typed is on disk, and the session writes it down before that
        else:
            self._save_soon()  # the journal has the prompt: a saved copy would appear again in the field after a crash

    def give_back(self, key: DraftKey) -> None:
        draft = self._written.get(key, SavedDraft())
        if not draft.sent:
            return
        draft = self._written[key] = draft.given_back()
        self._unsaved.add(key)
        if key == self._key:
            self._composer.set_text(draft.text)
        self._save_soon()

    async def aclose(self) -> None:
        """Save everything. Later text in the field is ignored, because the user did not type it."""
        self._key = ""
        self._pause.stop()
        await self._save()
        await asyncio.to_thread(self._drafts.release)

    def _on_text_changed(self) -> None:
        if self._key:
            self._note(replace(self._shown, text=self._composer.text()))

    def _on_edit_changed(self, turn: int, text: str) -> None:
        self._note(replace(self._shown, edits={**self._shown.edits, turn: text}))

    def _on_edit_closed(self, turn: int) -> None:
        edits = {other: text for other, text in self._shown.edits.items() if other != turn}
        self._note(replace(self._shown, edits=edits))

    def _on_message_changed(self, session_id: SessionId, text: str) -> None:
        if self._key:
            key = session_draft(session_id)
            self._written[key] = replace(self._written.get(key, SavedDraft()), commit=text)
            self._unsaved.add(key)
            self._pause.start()

    @property
    def _shown(self) -> SavedDraft:
        return self._written.get(self._key, SavedDraft())

    def _note(self, draft: SavedDraft) -> None:
        if self._key and draft != self._shown:
            self._written[self._key] = draft
            self._unsaved.add(self._key)
            self._pause.start()

    def _save_soon(self) -> None:
        self._pause.stop()
        if self._unsaved:
            self._panels.spawner.spawn(self._save())

    async def _save(self) -> None:
        async with self._saving:
            while self._unsaved:
                key = self._unsaved.pop()
                try:
                    slot = self._slots.get(key, key)
                    await asyncio.to_thread(self._drafts.save, slot, self._written.get(key, SavedDraft()))
                except StorageError as error:
                    logger.warning("%s %s", error.title, error.detail)
