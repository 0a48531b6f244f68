"""The read log: the digest that each file had when the model last read or wrote it. A fold of the journal."""

from msgspec import Struct, field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol import events as ev

DIGEST_KEY = "digest"
"""The key in a result's metadata, beside a `path`, for the digest of the file that the model was shown."""


class ReadLog(Struct):
    seen: dict[str, Digest | None] = field(default_factory=dict[str, "Digest | None"])
    """The last state of each file that the model knows; `None` if it knows that the file does not exist."""

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.PromptSubmitted(attachments=attachments) | ev.Steered(attachments=attachments):
                for attached in attachments:
                    if attached.digest is not None:
                        self.note(attached.uri, attached.digest)
            case ev.ToolCallFinished(result=result):
                path, digest = result.metadata.get("path"), result.metadata.get(DIGEST_KEY)
                if isinstance(path, str) and isinstance(digest, str):
                    self.note(path, digest)
            case ev.ChangesRecorded(changes=changes, is_offered=False):
                for change in changes:
                    if change.author == "agent":
                        self.note(change.path, change.after.digest if change.after else None)
            case _:
                pass

    def note(self, path: str, digest: Digest | None) -> None:
        self.seen[path] = digest

    def require_fresh(self, path: str, digest: Digest | None) -> None:
        if path in self.seen and self.seen[path] != digest:
            raise ToolError(
                f"{path} changed on disk since you last read it. Nothing was written. Read it again, then redo the "
                "edit against its current content."
            )
