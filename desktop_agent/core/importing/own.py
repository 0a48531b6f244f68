"""This application's own files: what `sessions export --format jsonl` writes, and plain journals.

Permissions (answers, rules, the mode) and the undo history are not imported.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.context.history_fold import report_text
from desktop_agent.core.export.jsonl import BLOB_TYPE, END_TYPE, HEADER_TYPE, MAX_BLOB_BYTES
from desktop_agent.core.importing.conversation import ConversationWriter, FileFacts, read_objects
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.journal_reader import migrated

_SILENT = frozenset({
    "turn_started", "tool_call_started", "session_opened", "queued", "unqueued", "mode_set", "session_archived",
    "session_pinned", "session_forked", "guidance_loaded", "command_run", "review_marked", "summary_edited",
    "compaction_undone", "agent_session_opened", "agent_option_set", "subagent_started",
})  # fmt: skip
"""Records that concern only the other machine, or that follow from other records."""


def is_own(fields: JsonObject) -> bool:
    return text_in(fields, "type") == HEADER_TYPE or (
        text_in(fields, "type") == "session_opened" and "seq" in fields and "workspace" in fields
    )


def read_own(path: Path, facts: FileFacts) -> None:
    has_header = has_end = False
    for _, fields in read_objects(path, facts.problems):
        match text_in(fields, "type"):
            case "desktop_agent_export":
                has_header = True
            case "export_ended":
                has_end = True
            case "session_opened" if not facts.source_id:
                facts.source_id = text_in(fields, "session_id")
                facts.workspace = text_in(fields, "workspace")
            case "session_renamed":
                facts.title = text_in(fields, "title")
                facts.is_title_given = fields.get("is_generated") is not True
            case _:
                pass
    if has_header and not has_end:
        facts.problems.append("the end of the file is missing")


def import_own(path: Path, facts: FileFacts, conversation: ConversationWriter) -> None:
    telling = _Telling(conversation)
    for line, fields in read_objects(path, []):
        kind = text_in(fields, "type")
        if kind in (HEADER_TYPE, END_TYPE):
            continue
        try:
            if kind == BLOB_TYPE:
                telling.keep_blob(fields)
            else:
                telling.take(decode_event(migrated(fields)))
        except (MalformedLineError, Base64Error) as error:
            facts.problems.append(f"line {line.number}: {error}")


class _Telling(Struct):
    conversation: ConversationWriter
    _blobs: set[str] = field(default_factory=set[str])
    _turns: dict[int, int] = field(default_factory=dict[int, int])

    def keep_blob(self, fields: JsonObject) -> None:
        encoded = text_in(fields, "base64")
        if len(encoded) > MAX_BLOB_BYTES * 4 // 3 + 4:
            raise MalformedLineError("a content that is too large")
        digest = self.conversation.blobs.put(b64decode(encoded, validate=True))
        if digest != text_in(fields, "digest"):
            raise MalformedLineError("a content that is not what its name says")
        self._blobs.add(digest)

    def take(self, event: ev.JournalEvent) -> None:  # noqa: C901 - one closed vocabulary
        conversation = self.conversation
        match event:
            case ev.PromptSubmitted(text=text):
                conversation.prompt(text, event.at)
                self._turns[event.turn] = conversation.turn
            case ev.Steered(text=text):
                conversation.steer(text, event.at)
            case ev.MessageDone(content=content, model=model, stop_reason=reason):
                conversation.say(content, event.at, model=model.model, provider=model.provider, stop_reason=reason)
            case ev.ToolCallFinished(call_id=call_id, result=result):
                images = tuple(ref for ref in result.images if ref.blob in self._blobs)
                if missing := len(result.images) - len(images):
                    conversation.left_out["pictures that are not in the file"] += missing
                conversation.answer(call_id, result.content, event.at, is_error=result.is_error, images=images)
            case ev.SubagentEnded(call_id=call_id, result=result):
                conversation.steer(report_text(call_id, result), event.at)
            case ev.UsageReported(usage=usage):
                conversation.use(usage, event.at)
            case ev.TurnEnded(reason=reason):
                conversation.end(reason, event.at)
            case ev.Compacted(summary=summary):
                conversation.compact(summary, event.at)
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                conversation.rewind(self._turns.get(turn, conversation.turn + 1), event.at)
            case ev.Notice() | ev.Pinned() | ev.Unpinned():
                conversation.note(event, event.at)
            case ev.SessionRenamed():
                pass
            case ev.ChangesPrepared() | ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                conversation.left_out["records of changed files: nothing can be undone here"] += 1
            case ev.ChangesCommitted() | ev.CommitUndone():
                conversation.left_out["records of commits: none can be undone here"] += 1
            case ev.ApprovalRequested() | ev.ApprovalResolved() | ev.RuleRevoked():
                conversation.left_out["questions and answers about permissions"] += 1
            case _ if event.type in _SILENT:
                pass
            case _:
                conversation.left_out[f"records of the kind {event.type[:40]}"] += 1
