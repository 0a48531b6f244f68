"""The words of the dialog for conflicts: names of the versions, and how the user settled each clash."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import Clash, FileImage, FileOutcome, Maker
from desktop_agent.ui.translation.core_words import plural

_tr = partial(QCoreApplication.translate, "ClashDialog")

Purpose = Literal["undo", "redo"]


class Resolution(NamedTuple):
    """Write `content` (`None`: delete the file), but only if the file still has the digest `expected`."""

    path: str
    content: bytes | None
    expected: Digest | None
    """The digest of the version that the user saw; `None` if there was no file."""
    purpose: Purpose
    outcome: FileOutcome
    like: FileImage | None = None
    """The version whose kind of file to write, when a whole version is chosen; None keeps the kind."""


_MOST_NAMED = 6


class Names(NamedTuple):
    """The names of the three versions, derived from their authors, and the labels of the choices."""

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
    if clash is not None:
        words = _tr("Undo conflicts with {0}") if purpose == "undo" else _tr("Redo conflicts with {0}")
        named = _by_one(clash.yours_by)
        return words.format(named[0] if named else _tr("later changes"))
    return _tr("Not undone") if purpose == "undo" else _tr("Not redone")


def _by_one(makers: Sequence[Maker]) -> tuple[str, str] | None:
    """Return the names for the work of these makers, if all are of one kind.

    The first is for a sentence, as in “Undo conflicts with turn 3”, the second is a version's title. `None` if there
    are no makers, or several kinds.
    """
    kinds = {maker.by for maker in makers}
    if len(kinds) != 1:
        return None
    is_single = len(makers) == 1
    words = {
        "person": (_tr("your edit"), _tr("Yours")),
        "agent": (_tr("turn {0}"), _tr("Turn {0}")) if is_single else (_tr("turns {0}"), _tr("Turns {0}")),
        "unknown": (_tr("what a server, or you, wrote"), _tr("A server's, or yours")),
        "other_session": (_tr("another session"), _tr("Another session's")),
        "undo": (_tr("the undo of turn {0}"), _tr("Undo of turn {0}")),
        "redo": (_tr("the redo of turn {0}"), _tr("Redo of turn {0}")),
    }
    kind = kinds.pop()
    turns = ", ".join(str(maker.turn) for maker in (makers if kind == "agent" else makers[-1:]))
    in_the_way, version = words[kind]
    return in_the_way.format(turns), version.format(turns)


def _version(makers: Sequence[Maker]) -> str:
    if named := _by_one(makers):
        return named[1]
    return " + ".join(dict.fromkeys(_version((maker,)) for maker in makers))


def summary(path: str, *, settled: str, merged_count: int, done_count: int) -> str:
    """Return a sentence about the file's state; `settled` says how it was settled, and is empty if it was not.

    `done_count` is the number of other files that are done.
    """
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
    words = plural("ClashDialog", count, "{0} of %n clash decided", "{0} of %n clashes decided").format(decided)
    return words if decided == count else f"{words} · {_tr('the result can be written once all are decided')}"


def left(numbers: Sequence[int]) -> str:
    named = ", ".join(str(number + 1) for number in numbers[:_MOST_NAMED])
    listed = f"{named}, …" if len(numbers) > _MOST_NAMED else named
    one, many = "%n clash is left to decide: number {0}.", "%n clashes are left to decide: numbers {0}."
    return plural("ClashDialog", len(numbers), one, many).format(listed)
