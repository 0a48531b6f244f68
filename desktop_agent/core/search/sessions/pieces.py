"""Cuts the lines of a journal into pieces that can be found, each with what kind it is and which file it is about.

Lines are taken as they come, without checking them against the vocabulary: a search is no place to refuse anything.
What is very long is cut to its beginning and its end.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import HitKind, JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_mark import fields_of
from desktop_agent.core.store.journal.payloads import internalise
from desktop_agent.core.terminal.printout import plain_text

COMMAND_TOOL = "run_terminal_cmd"
_HEAD_CHARS = 16_000
_TAIL_CHARS = 8_000
_LARGEST_OUTPUT = 256 * 1024
_LARGEST_FILE = 512 * 1024
"""Of one side of a change; of larger ones only the path is found."""
_TYPES_WITH_PIECES = (
    b'"type":"session_opened"',
    b'"type":"prompt_submitted"',
    b'"type":"steered"',
    b'"type":"message_done"',
    b'"type":"tool_call_started"',
    b'"type":"tool_call_finished"',
    b'"type":"approval_resolved"',
    b'"type":"changes_recorded"',
    b'"type":"session_renamed"',
    b'"type":"command_run"',
)


class SessionPiece(NamedTuple):
    """Something that can be found."""

    kind: HitKind
    text: str
    tool: str = ""
    file: str = ""


class UnansweredCall(NamedTuple):
    """A tool call, as long as its result has not come."""

    tool: str
    title: str
    file: str


class PieceReader:
    """Reads one journal from front to back; remembers which calls are open."""

    def __init__(self, blobs: Blobs, calls: dict[str, UnansweredCall]) -> None:
        """`calls` are those that were open before the first line, by their id."""
        self._blobs = blobs
        self.calls = calls

    def fields(self, line: bytes) -> JsonObject:
        """Return a line with what was moved out of it; nothing for one that has no pieces."""
        if line.startswith(b'{"v":') and not any(kind in line[:140] for kind in _TYPES_WITH_PIECES):
            return {}
        try:
            return internalise(fields_of(line), self._blobs)[0]
        except (ValueError, RecursionError, StorageError):
            return {}

    def pieces(self, fields: JsonObject) -> list[SessionPiece]:
        """Return what can be found in a line."""
        return [piece for piece in self._pieces(fields) if piece.text.strip()]

    def _pieces(self, fields: JsonObject) -> Iterator[SessionPiece]:
        match fields.get("type"):
            case "prompt_submitted" | "steered":
                yield SessionPiece("prompt", _cut(text_in(fields, "text")))
            case "session_renamed":
                yield SessionPiece("title", _cut(text_in(fields, "title")))
            case "command_run":
                yield SessionPiece("command", _cut(f"{text_in(fields, 'text')}\n{text_in(fields, 'output')}"))
            case "message_done":
                texts = (
                    text_in(block, "text") for block in objects_in(fields, "content") if block.get("type") == "text"
                )
                yield SessionPiece("reply", _cut("\n\n".join(texts)))
            case "tool_call_started":
                yield from self._started(object_in(fields, "call"), text_in(fields, "title"))
            case "approval_resolved":
                yield SessionPiece(
                    "command", _cut(text_in(object_in(fields, "decision"), "edited_command")), COMMAND_TOOL
                )
            case "tool_call_finished":
                yield self._finished(text_in(fields, "call_id"), object_in(fields, "result"))
            case "changes_recorded":
                call = self.calls.get(text_in(fields, "call_id"))
                for change in objects_in(fields, "changes"):
                    yield SessionPiece(
                        "change", self._change(change), call.tool if call else "", text_in(change, "path")
                    )
            case _:
                pass

    def _started(self, call: JsonObject, title: str) -> Iterator[SessionPiece]:
        tool, arguments = text_in(call, "name"), object_in(call, "arguments")
        file = next((value for key in ("path", "file_path", "file") if (value := text_in(arguments, key))), "")
        if call_id := text_in(call, "id"):
            self.calls[call_id] = UnansweredCall(tool, "" if tool == COMMAND_TOOL else title, file)
        if tool == COMMAND_TOOL:
            yield SessionPiece("command", _cut(text_in(arguments, "command")), tool)

    def _finished(self, call_id: str, result: JsonObject) -> SessionPiece:
        call = self.calls.pop(call_id, UnansweredCall("", "", ""))
        content = self._whole_output(object_in(result, "output")) or text_in(result, "content")
        file = call.file or text_in(object_in(result, "metadata"), "path")
        return SessionPiece("output", f"{call.title}\n{_cut(content)}".lstrip(), call.tool, file)

    def _whole_output(self, reference: JsonObject) -> str:
        """Return what a command printed, as a terminal shows it: as the model and the user read it."""
        size = reference.get("size")
        if not isinstance(size, int) or size > _LARGEST_OUTPUT:
            return ""
        try:
            return plain_text(self._blobs.get(text_in(reference, "blob"), size=size).decode("utf-8", "replace"))
        except StorageError:
            return ""

    def _change(self, change: JsonObject) -> str:
        """Return the path of a changed file and the lines that went and came."""
        moved = text_in(change, "moved_from") or text_in(change, "moved_to")
        before, after = self._lines(object_in(change, "before")), self._lines(object_in(change, "after"))
        gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
        lines = [f"-{line}" for line in before if line in gone] + [f"+{line}" for line in after if line in come]
        return "\n".join(filter(None, (text_in(change, "path"), moved, _cut("\n".join(lines)))))

    def _lines(self, image: JsonObject) -> list[str]:
        size = image.get("size")
        if image.get("kind", "file") != "file" or not isinstance(size, int) or size > _LARGEST_FILE:
            return []
        try:
            content = self._blobs.get(text_in(image, "digest"), size=size)
        except StorageError:
            return []
        return [] if b"\0" in content[:8192] else content.decode("utf-8", "replace").splitlines()


def call_id_of(fields: JsonObject) -> str:
    """Return the id of the tool call that a line is about, if it is about one."""
    return text_in(fields, "call_id") or text_in(object_in(fields, "call"), "id")


def _cut(text: str) -> str:
    return text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
