"""Phrases used in several places: modes, moments, folders, and reasons for reading a prompt again."""

from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import ApprovalPolicy, CacheMiss, CacheMissReason, Flaw, SandboxMode
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.context_meter import counted

_POLICIES: dict[ApprovalPolicy, tuple[str, str, str]] = {
    "always": ("Asks before every call", "Asks always", "Reads also ask."),
    "on_write": (
        "Asks before writing",
        "Asks to write",
        "Reads run freely. Edits, commands that may change something, and network access ask first.",
    ),
    "on_request": (
        "Asks to leave the sandbox",
        "Asks to leave",
        "Edits in this folder and sandboxed commands run freely. Anything else asks first.",
    ),
    "never": ("Never asks", "Never asks", "Nothing is asked: anything that needs approval is refused."),
}
_MODES: dict[SandboxMode, tuple[str, str, str]] = {
    "restricted": (
        "Sandbox: this folder",
        "This folder",
        "Commands can write only this folder and a temporary one. No network.",
    ),
    "strict": ("Sandbox: read-only", "Read-only", "Commands cannot write anything. No network."),
    "none": ("No sandbox", "No sandbox", "Commands can do anything your account can."),
}
"""The name, the short name and the meaning of each sandbox mode."""

PLANNING = "plan"
_PLANNING = (
    "Plans first",
    "Plans",
    "The agent reads, asks and writes a plan. It changes nothing before you accept the plan.",
)
POLICIES = tuple(_POLICIES)
MODES = tuple(_MODES)
"""The sandbox modes, repeated here because the window is painted before the core is imported."""

_mode_text = partial(QCoreApplication.translate, "Modes")
_tr_branch = partial(QCoreApplication.translate, "Branches")


def escalation_words() -> str:
    return _mode_text("Runs outside the sandbox, with all the rights of your account")


def approval_words(policy: ApprovalPolicy) -> tuple[str, str]:
    name, _, explanation = _POLICIES[policy]
    return _mode_text(name), _mode_text(explanation)


def planning_words() -> tuple[str, str]:
    name, _, explanation = _PLANNING
    return _mode_text(name), _mode_text(explanation)


def sandbox_words(mode: SandboxMode) -> tuple[str, str]:
    name, _, explanation = _MODES[mode]
    return _mode_text(name), _mode_text(explanation)


def short_words(mode: str) -> str:
    words: dict[str, tuple[str, str, str]] = {**_POLICIES, **_MODES, PLANNING: _PLANNING}
    return _mode_text(words[mode][1])


_cache_text = partial(QCoreApplication.translate, "CacheMiss")


def cache_miss_words(miss: CacheMiss) -> str:
    reasons: dict[CacheMissReason, str] = {
        "model": _cache_text("the model changed"),
        "system": _cache_text("the instructions changed"),
        "tools": _cache_text("the tools changed"),
        "messages": _cache_text("the earlier conversation changed"),
        "compaction": _cache_text("older turns were summarised"),
        "options": _cache_text("an option of the request changed"),
        "unknown": _cache_text("the provider does not say why, and keeps its cache only briefly"),
    }
    why = reasons[miss.reason]
    if not miss.tokens:
        return _cache_text("The last turn was not in the provider's cache: {0}.").format(why)
    text = _cache_text("About {0} tokens of the last turn were not in the provider's cache: {1}.")
    return text.format(counted(miss.tokens), why)


_flaw_text = partial(QCoreApplication.translate, "Flaw")


def flaw_words(flaw: Flaw) -> str:
    words: dict[Flaw, str] = {
        "calls_at_one_index": _flaw_text("several tool calls under one number"),
        "calls_in_text": _flaw_text("tool calls written as text"),
        "changing_call_id": _flaw_text("a tool call whose ID changed"),
        "control_characters": _flaw_text("unescaped line breaks in arguments"),
        "encoded_twice": _flaw_text("arguments encoded twice"),
        "no_end_event": _flaw_text("an answer without the events that end it"),
        "no_stop_reason": _flaw_text("an answer without a finish reason"),
        "not_utf8": _flaw_text("bytes that are not UTF-8"),
        "other_stop_reason": _flaw_text("tool calls with the wrong finish reason"),
        "thoughts_in_text": _flaw_text("thinking written into the answer"),
        "whole_answer": _flaw_text("an answer that was not streamed"),
        "whole_message": _flaw_text("a complete message in place of stream chunks"),
    }
    return words[flaw]


def local_now() -> datetime:
    return datetime.now().astimezone()


def short_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    """Return, for example, `14:05`, `Tue`, `12 Nov` or `Nov 2025`. The zone of `now` decides which day is today."""
    moment = moment.astimezone(now.tzinfo)
    days = (now.date() - moment.date()).days
    if days == 0:
        return locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)
    date = QDate(moment.year, moment.month, moment.day)
    if 0 < days < 7:
        return locale.dayName(date.dayOfWeek(), QLocale.FormatType.ShortFormat)
    return locale.toString(date, _date_pattern("d MMM") if moment.year == now.year else _date_pattern("MMM yyyy"))


def long_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    moment = moment.astimezone(now.tzinfo)
    date = locale.toString(QDate(moment.year, moment.month, moment.day), QLocale.FormatType.ShortFormat)
    return f"{date} {locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)}"


def _date_pattern(pattern: str) -> str:
    """Return the pattern with day and month in the order of the user's language."""
    return QCoreApplication.translate("Dates", pattern)


def short_path(folder: str) -> str:
    """Return a path with `~` for the home folder, and with names instead of invisible characters."""
    path, home = Path(folder), Path.home()
    short = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) and path != home else folder
    return named(short)


def branch_words(status: RepoStatus) -> str:
    """Say what is checked out, and how it stands to its upstream."""
    if not status.branch:
        return _tr_branch("No branch is checked out. You are at the commit {0}.").format(status.commit[:12])
    if not status.upstream:
        return _tr_branch("{0} follows no branch of a remote.").format(status.branch)
    ahead = plural("Branches", status.ahead, "%n commit ahead", "%n commits ahead") if status.ahead else ""
    behind = plural("Branches", status.behind, "%n commit behind", "%n commits behind") if status.behind else ""
    apart = ", ".join(filter(None, (ahead, behind))) or _tr_branch("nothing to push or pull")
    return _tr_branch("{0} follows {1}: {2}").format(status.branch, status.upstream, apart)
