"""What a clash is called, and how the user settled it: the words of its dialog."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import Clash, FileImage, FileOutcome, Maker
from desktop_agent.ui.translation.core_words import plural

Purpose = Literal["undo", "redo"]


class Resolution(NamedTuple):
    """Write `content` (`None`: remove the file), but only if the file still has the digest `expected`."""

    path: str
    content: bytes | None
    expected: Digest | None
    """Of the version that the user saw; `None`: there was no file."""
    purpose: Purpose
    outcome: FileOutcome
    """The outcome of the undo or redo that this settles."""
    like: FileImage | None = None
    """What kind of file to write, when a whole version is taken; None keeps the kind."""


_MOST_NAMED = 6


class Names(NamedTuple):
    """The names of the three versions, by whose each is, and of the choices between them."""

    base: str
    wanted: str
    there: str
    keep: str
    both: str
    keep_all: str


def names_of(purpose: Purpose, clash: Clash) -> Names:
    is_undo = purpose == "undo"
    is_mine = bool(clash.yours_by) and all(maker.by == "person" for maker in clash.yours_by)
    version = _version(clash.yours_by)
    return Names(
        base=(_version(clash.base_by) or _tr("Agent's version")) if is_undo else _tr("Without it"),
        wanted=_tr("After undo") if is_undo else _tr("After redo"),
        there=_tr("{0} (on disk)").format(version) if version else _tr("On disk"),
        keep=_tr("Keep yours") if is_mine else _tr("Keep what is there"),
        both=_tr("Both, yours last") if is_mine else _tr("Both, what is there last"),
        keep_all=_tr("Keep mine") if is_mine else _tr("Keep it as it is"),
    )


def title(purpose: Purpose, clash: Clash | None) -> str:
    """Return the title for a file that clashes, or that was left alone for another reason."""
    if clash is not None:
        words = _tr("Undo conflicts with {0}") if purpose == "undo" else _tr("Redo conflicts with {0}")
        return words.format(_in_the_way(clash.yours_by))
    return _tr("Not undone") if purpose == "undo" else _tr("Not redone")


def _turns(makers: Sequence[Maker]) -> str:
    return ", ".join(str(maker.turn) for maker in makers)


def _in_the_way(makers: Sequence[Maker]) -> str:
    """Return what an undo or redo clashes with, as in “Undo conflicts with turn 3”."""
    match tuple({maker.by for maker in makers}):
        case ("person",):
            return _tr("your edit")
        case ("agent",) if len(makers) == 1:
            return _tr("turn {0}").format(_turns(makers))
        case ("agent",):
            return _tr("turns {0}").format(_turns(makers))
        case ("unknown",):
            return _tr("what a server, or you, wrote")
        case ("other_session",):
            return _tr("another session")
        case ("undo",):
            return _tr("the undo of turn {0}").format(_turns(makers[-1:]))
        case ("redo",):
            return _tr("the redo of turn {0}").format(_turns(makers[-1:]))
        case _:
            return _tr("later changes")


def _version(makers: Sequence[Maker]) -> str:
    """Name a version by who made it; empty if that is not known."""
    match tuple({maker.by for maker in makers}):
        case ():
            return ""
        case ("person",):
            return _tr("Yours")
        case ("agent",) if len(makers) == 1:
            return _tr("Turn {0}").format(_turns(makers))
        case ("agent",):
            return _tr("Turns {0}").format(_turns(makers))
        case ("unknown",):
            return _tr("A server's, or yours")
        case ("other_session",):
            return _tr("Another session's")
        case ("undo",):
            return _tr("Undo of turn {0}").format(_turns(makers[-1:]))
        case ("redo",):
            return _tr("Redo of turn {0}").format(_turns(makers[-1:]))
        case _:
            return " + ".join(dict.fromkeys(_version((maker,)) for maker in makers))


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
    if is_removal:
        return _tr("Remove the file")
    return _tr("Use the undone version") if purpose == "undo" else _tr("Use the redone version")


def state(decided: int, count: int) -> str:
    """Return how many clashes are decided, with a hint while some are open."""
    words = plural("ClashDialog", count, "{0} of %n clash decided", "{0} of %n clashes decided").format(decided)
    return words if decided == count else f"{words} · {_tr('the result can be written once all are decided')}"


def left(numbers: Sequence[int]) -> str:
    """Return which clashes, counted from 0, are to be decided before the result can be written."""
    named = ", ".join(str(number + 1) for number in numbers[:_MOST_NAMED])
    listed = f"{named}, …" if len(numbers) > _MOST_NAMED else named
    one, many = "%n clash is left to decide: number {0}.", "%n clashes are left to decide: numbers {0}."
    return plural("ClashDialog", len(numbers), one, many).format(listed)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ClashDialog", text)
