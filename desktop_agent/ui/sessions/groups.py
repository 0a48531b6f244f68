"""How the list of sessions is arranged: by what they are grouped, how much a row says, and which groups are folded."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Literal, NamedTuple

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QLocale

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import SessionSummary

Grouping = Literal["nearby", "folder", "day", "state"]
"""This folder before all others; one group for each folder, for each span of days, or for each state."""


class Arrangement(Struct, frozen=True):
    """What the user chose for the list."""

    grouping: Grouping = "nearby"
    is_detailed: bool = False
    """Whether every row has a second line: folder, turns, cost."""
    folded: frozenset[str] = frozenset()
    """Keys of the groups of which only the heading is shown."""


class SessionGroup(NamedTuple):
    """Some sessions, the most recently used first, and the heading above them; the first group may have none."""

    key: str
    heading: str
    sessions: Sequence[SessionSummary]
    says_folder: bool = False
    """Whether each row has to say of which folder it is."""


def grouped(
    sessions: Iterable[SessionSummary], workspace: str | None, grouping: Grouping, now: datetime
) -> list[SessionGroup]:
    """Return the groups in their order: what is pinned first, what was put away last.

    `workspace` is the open folder. What is today depends on the time zone of `now`.
    """
    ordered = sorted(sessions, key=_active_at, reverse=True)
    pinned = [session for session in ordered if session.is_pinned and not session.is_archived]
    archived = [session for session in ordered if session.is_archived]
    others = [session for session in ordered if not session.is_pinned and not session.is_archived]
    groups = _by(grouping, others, workspace, now)
    if not pinned and grouping == "nearby" and groups and groups[0].key == "here":
        groups[0] = groups[0]._replace(heading="")
    ends = (
        SessionGroup("pinned", _tr("Pinned"), pinned, True),
        SessionGroup("archived", _tr("Archived"), archived, True),
    )
    return [group for group in (ends[0], *groups, ends[1]) if group.sessions]


def _by(
    grouping: Grouping, sessions: Sequence[SessionSummary], workspace: str | None, now: datetime
) -> list[SessionGroup]:
    match grouping:
        case "nearby":
            here = [session for session in sessions if session.workspace == workspace]
            elsewhere = [session for session in sessions if session.workspace != workspace]
            return [
                SessionGroup("here", _tr("This folder"), here),
                SessionGroup("elsewhere", _tr("Other folders"), elsewhere, True),
            ]
        case "folder":
            folders = _split((session.workspace, session) for session in sessions)
            first = sorted(folders, key=lambda folder: folder != workspace)  # the others stay by their last use
            names = _names(first)
            return [SessionGroup(f"folder:{folder}", names[folder], folders[folder]) for folder in first]
        case "day":
            days = _split((_span(session.active_at, now), session) for session in sessions)
            return [SessionGroup(f"day:{span}", _span_words(span), found, True) for span, found in days.items()]
        case "state":
            states = _split((session.state, session) for session in sessions)
            words = {"waiting": _tr("Waiting for you"), "working": _tr("Working"), "idle": _tr("Done")}
            return [SessionGroup(f"state:{state}", words[state], states.get(state, ()), True) for state in words]


def _split(pairs: Iterable[tuple[str, SessionSummary]]) -> Mapping[str, list[SessionSummary]]:
    found: dict[str, list[SessionSummary]] = {}
    for key, session in pairs:
        found.setdefault(key, []).append(session)
    return found


def _names(folders: Sequence[str]) -> Mapping[str, str]:
    """Return a name for each folder; folders of the same name have the one above in it, too."""
    names = [PurePath(folder).name for folder in folders]
    return {
        folder: named("/".join(PurePath(folder).parts[-2:]) if names.count(name) > 1 else name) or folder
        for folder, name in zip(folders, names, strict=True)
    }


def _span(moment: datetime, now: datetime) -> str:
    day = moment.astimezone(now.tzinfo).date()
    days = (now.date() - day).days
    if days < 7:
        return "today" if days <= 0 else "yesterday" if days == 1 else "week"
    return "month" if days < 31 else str(day.year) if day.year != now.year else "year"


def _span_words(span: str) -> str:
    words = {
        "today": _tr("Today"),
        "yesterday": _tr("Yesterday"),
        "week": _tr("The last 7 days"),
        "month": _tr("The last 30 days"),
        "year": _tr("Earlier this year"),
    }
    return words.get(span) or QLocale().toString(int(span)).replace(QLocale().groupSeparator(), "")


def _active_at(session: SessionSummary) -> datetime:
    return session.active_at


def _tr(text: str) -> str:
    return QCoreApplication.translate("SessionGroups", text)
