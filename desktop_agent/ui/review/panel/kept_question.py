"""Asks before an undo of much takes back what the user decided to keep."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.ui.wording.model_words import visible

_NAMED_FILES = 3


def undo_with_care(
    transcript: Transcript, selection: ChangeSelection, undo: Callable[[ChangeSelection], None], parent: QWidget
) -> None:
    """Undo `selection`; if some of it is kept, ask first whether that is meant, too."""
    meant = _meant(transcript, selection)
    kept = _kept_paths(transcript, meant)
    if not kept or transcript.turns.is_running:
        undo(selection)
        return
    rest = [record.change.id for record in meant if kept.isdisjoint((record.change.path, record.change.moved_to))]
    box = QMessageBox(parent)
    box.setObjectName("undoKeptDialog")
    box.setWindowTitle(_tr("Undo"))
    box.setTextFormat(Qt.TextFormat.PlainText)  # of names that may look like markup
    box.setText(_tr("You decided to keep changes in {0}.").format(_named(sorted(kept))))
    box.setInformativeText(_tr("Undo them as well?"))
    every = box.addButton(_tr("Undo them, too"), QMessageBox.ButtonRole.DestructiveRole)
    every.setObjectName("undoKeptButton")
    others = box.addButton(_tr("Undo the other files"), QMessageBox.ButtonRole.AcceptRole) if rest else None
    cancel = box.addButton(_tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    if others is not None:
        others.setObjectName("undoOthersButton")

    def on_finished() -> None:
        if box.clickedButton() is every:
            undo(selection)
        elif others is not None and box.clickedButton() is others:
            undo(_of(rest))
        box.deleteLater()

    box.finished.connect(on_finished)
    box.open()


def _meant(transcript: Transcript, selection: ChangeSelection) -> list[ChangeRecord]:
    """What still stands of the selected changes."""
    records = transcript.changed.active()
    return [r for r in records if selection.includes(r.change, turn=r.turn, call_id=r.call_id)]


def _kept_paths(transcript: Transcript, records: list[ChangeRecord]) -> set[str]:
    """The files in which the user keeps something that an undo of these changes would take back."""
    paths = {record.change.moved_to or record.change.path for record in records}
    undone = {
        path: {key for r in transcript.changes.values() if r.change.path == path for key in r.undone_hunks}
        for path in paths
    }
    return {path for path in paths if transcript.changed.kept.get(path, set[str]()) - undone[path]}


def _of(change_ids: list[str]) -> ChangeSelection:
    return ChangeSelection(change_ids=tuple(change_ids))


def _named(paths: list[str]) -> str:
    names = [visible(path) for path in paths[:_NAMED_FILES]]
    if more := len(paths) - len(names):
        names.append(_tr("{0} more").format(more))
    return ", ".join(names)


def _tr(text: str) -> str:
    return QCoreApplication.translate("KeptQuestion", text)
