"""What the transcript says in words: verbs, sums, and how things ended."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.model import Aborted, Allowed, Denied

if TYPE_CHECKING:
    from desktop_agent.core.events import TurnEndReason
    from desktop_agent.core.transcript import ToolEntry, TurnEndEntry, UndoEntry

MINUS = "−"
"""The sign in front of removed lines: as wide as the plus, unlike a hyphen."""


def say(text: str) -> str:
    """Return `text` in the person's language."""
    return QCoreApplication.translate("Transcript", text)


_VERBS = {
    "apply_patch": "Edit",
    "create_file": "Create",
    "delete_file": "Delete",
    "edit_file": "Edit",
    "line_edit": "Edit",
    "template_block": "Edit",
    "write_file": "Create",
    "read_file": "Read",
    "list_files": "List",
    "rename_file": "Rename",
    "glob_file_search": "Search",
    "codebase_search": "Search",
    "grep": "Search",
    "web_search": "Search the web",
    "todo_write": "Plan",
}
_PREFIXES = {
    "read": "Read",
    "list": "List",
    "search": "Search",
    "find": "Search",
    "edit": "Edit",
    "create": "Create",
    "write": "Create",
    "delete": "Delete",
    "remove": "Delete",
    "run": "Run",
    "shell": "Run",
    "bash": "Run",
}
RUN = "Run"


def verb(tool: str) -> str:
    """Return what a tool does in one word, or its own name."""
    return say(_VERBS.get(tool) or _PREFIXES.get(tool.partition("_")[0]) or tool)


def is_command(tool: str) -> bool:
    """Whether a tool runs a program whose output is worth watching."""
    return _PREFIXES.get(tool.partition("_")[0]) == RUN


def counted(number: int, one: str, many: str) -> str:
    """Return `1 file` or `2 files`."""
    return f"{number:,} {say(one) if number == 1 else say(many)}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Return a time as people say it: `6 ms`, `3.2 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def state(entry: "ToolEntry") -> str:
    """Return the state of a call in words, for those who do not see its mark."""
    if entry.is_waiting:
        return say("waits for you")
    match entry.decision:
        case Denied():
            return say("denied")
        case Aborted():
            return say("not run")
        case _:
            pass
    match entry.state:
        case "started":
            return say("running")
        case "completed":
            return say("done")
        case "failed":
            return say("failed")


def line_counts(entry: "ToolEntry") -> tuple[int, int]:
    """Return how many lines a call added and removed."""
    return sum(change.added for change in entry.changes), sum(change.removed for change in entry.changes)


def summary(entry: "ToolEntry") -> str:
    """Return what a finished call came to: `84 lines · 6 ms`."""
    parts: list[str] = []
    metadata = entry.result.metadata if entry.result is not None else {}
    files, lines, entries = (_count(metadata.get(key)) for key in ("files", "lines", "entries"))
    matches = _count(metadata.get("total_matches", metadata.get("matches")))  # the latter in older journals
    if matches is not None and files is not None:
        parts.append(
            say("{matches} in {files}").format(
                matches=counted(matches, "match", "matches"), files=counted(files, "file", "files")
            )
        )
    elif matches is not None:
        parts.append(counted(matches, "match", "matches"))
    elif files is not None:
        parts.append(counted(files, "file", "files"))
    elif lines is not None:
        parts.append(counted(lines, "line", "lines"))
    elif entries is not None:
        parts.append(counted(entries, "entry", "entries"))
    if metadata.get("timed_out") is True:
        parts.append(say("timed out"))
    elif exit_code := _count(metadata.get("exit_code")):
        parts.append(say("exit code {code}").format(code=exit_code))
    if len(entry.changes) > 1:
        parts.append(counted(len(entry.changes), "file", "files"))
    if entry.duration_s is not None and not entry.changes:
        parts.append(duration(entry.duration_s))
    return " · ".join(parts)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def notes(entry: "ToolEntry") -> list[tuple[str, str]]:
    """Return what else must be said about a call, each with the colour role it is said in."""
    found: list[tuple[str, str]] = []
    match entry.decision:
        case Allowed(edited_command=command) if command is not None:
            found.append((say("Modified by you: {command}").format(command=command), "muted"))
        case Denied(message=message):
            text = say("You said no: {message}").format(message=message) if message else say("You said no.")
            found.append((text, "muted"))
        case Aborted(reason=reason):
            found.append((say("Not run: {reason}").format(reason=reason), "muted"))
        case _:
            pass
    found += [
        (say("⚠ {path} cannot be undone: {reason}").format(path=item.path, reason=item.reason), "warning_text")
        for item in entry.uncaptured
    ]
    return found


_TURN_ENDS: dict["TurnEndReason", str] = {
    "completed": "Done after {time}",
    "max_turns": "Reached the limit of {requests}. Send a message to go on.",
    "tool_error": "Stopped because a tool failed.",
    "fatal_tool_error": "Stopped because a tool failed beyond repair.",
    "approval_required": "Stopped: something needed an approval that nobody could give.",
    "provider_error": "Stopped because the model did not answer.",
    "storage_error": "Stopped because the session could not be saved.",
    "interrupted": "Stopped by you after {time}",
    "limit": "Stopped because a limit was reached.",
    "refused": "The model declined to answer.",
    "workspace_error": "Stopped because the folder cannot be used.",
    "internal_error": "Stopped by a fault in the application.",
}


def turn_end(entry: "TurnEndEntry") -> str:
    """Return how a turn ended, as a sentence."""
    requests = counted(entry.requests, "model request", "model requests")
    return say(_TURN_ENDS[entry.reason]).format(time=duration(entry.duration_s), requests=requests)


def undo(entry: "UndoEntry") -> str:
    """Return what an undo or redo did, as a sentence."""
    done = sum(outcome.is_done for outcome in entry.outcomes)
    left_alone = sum(outcome.state == "conflict" for outcome in entry.outcomes)
    failed = sum(outcome.state == "failed" for outcome in entry.outcomes)
    turns = {change.partition(".")[0] for outcome in entry.outcomes for change in outcome.change_ids}
    files = counted(done, "file", "files")
    pattern = say("Undid {files}") if entry.purpose == "undo" else say("Redid {files}")
    parts = [pattern.format(files=files)]
    if len(turns) == 1:
        parts[0] = say("{what} of turn {turn}").format(what=parts[0], turn=turns.pop())
    if left_alone:
        parts.append(say("{count} left alone because you changed it").format(count=left_alone))
    if failed:
        parts.append(say("{count} could not be written").format(count=failed))
    return " · ".join(parts)
