"""What the dialog about clashes says. Pure."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from desktop_agent.ui.review.conflict.resolution import Purpose
from desktop_agent.ui.translation.plurals import plural

_MOST_NAMED = 6


def title(purpose: Purpose, *, is_clash: bool) -> str:
    """Return the title for a file that clashes, or that was left alone for another reason."""
    if is_clash:
        return _tr("Undo conflicts with your edit") if purpose == "undo" else _tr("Redo conflicts with your edit")
    return _tr("Not undone") if purpose == "undo" else _tr("Not redone")


def summary(path: str, *, settled: str, merged_count: int, done_count: int) -> str:
    """Return what becomes of a file: as it was `settled`, if it was. `done_count` other files are done."""
    words = [f"{path}: {settled}." if settled else _tr("{0}. Nothing has been written to it.").format(path)]
    if merged_count and not settled:
        one, many = "%n other place in it merges without a clash.", "%n other places in it merge without a clash."
        words.append(plural("ClashDialog", merged_count, one, many))
    if done_count:
        words.append(plural("ClashDialog", done_count, "%n other file is done.", "%n other files are done."))
    return " ".join(words)


def take(purpose: Purpose, *, is_removal: bool) -> str:
    """Return the words of the button that takes what the undo or redo wants."""
    if is_removal:
        return _tr("Remove the file")
    return _tr("Use the undone version") if purpose == "undo" else _tr("Use the redone version")


def state(decided: int, count: int) -> str:
    """Return how many of the clashes are decided, and what that is needed for while some are not."""
    words = plural("ClashDialog", count, "{0} of %n clash decided", "{0} of %n clashes decided").format(decided)
    return words if decided == count else f"{words} · {_tr('the result can be written once all are')}"


def left(numbers: Sequence[int]) -> str:
    """Return which clashes, counted from 0, are to be decided before the result can be written."""
    named = ", ".join(str(number + 1) for number in numbers[:_MOST_NAMED])
    listed = f"{named}, …" if len(numbers) > _MOST_NAMED else named
    one, many = "%n clash is left to decide: number {0}.", "%n clashes are left to decide: numbers {0}."
    return plural("ClashDialog", len(numbers), one, many).format(listed)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ClashDialog", text)
