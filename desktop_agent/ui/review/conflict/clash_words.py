"""What the dialog about clashes says. Pure."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.ui.review.conflict.resolution import Purpose


def title(purpose: Purpose, *, is_clash: bool) -> str:
    """Return the title for a file that clashes, or that was left alone for another reason."""
    if is_clash:
        return _tr("Undo conflicts with your edit") if purpose == "undo" else _tr("Redo conflicts with your edit")
    return _tr("Not undone") if purpose == "undo" else _tr("Not redone")


def summary(path: str, *, settled: str, merged_count: int, done_count: int) -> str:
    """Return what becomes of a file: as it was `settled`, if it was. `done_count` other files are done."""
    words = [f"{path}: {settled}." if settled else _tr("{0}. Nothing has been written to it.").format(path)]
    if merged_count and not settled:
        one = _tr("1 other place in it merges without a clash.")
        words.append(
            one if merged_count == 1 else _tr("{0} other places in it merge without a clash.").format(merged_count)
        )
    if done_count:
        one = _tr("1 other file is done.")
        words.append(one if done_count == 1 else _tr("{0} other files are done.").format(done_count))
    return " ".join(words)


def take(purpose: Purpose, *, is_removal: bool) -> str:
    """Return the words of the button that takes what the undo or redo wants."""
    if is_removal:
        return _tr("Remove the file")
    return _tr("Use the undone version") if purpose == "undo" else _tr("Use the redone version")


def state(decided: int, count: int) -> str:
    """Return how many of the clashes are decided, and what becomes of the rest."""
    words = _tr("{0} of {1} clashes decided").format(decided, count)
    return words if decided == count else f"{words} · {_tr('your version stays for the rest')}"


def _tr(text: str) -> str:
    return QCoreApplication.translate("ClashDialog", text)
