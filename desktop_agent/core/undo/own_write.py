"""What a file becomes that the user writes."""

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.renaming import is_a_name


def draft_write(transcript: Transcript, ledger: Ledger, op: ops.WriteFile) -> FileTransition | None:
    """Return what `op` makes of its file; None when it changes nothing. Blocks.

    Raises `AgentError` when the file is not what the user saw, or cannot become that.
    """
    ledger.require_root()
    if not is_a_name(op.path) or not ledger.files.is_inside(op.path):
        raise AgentError("The file does not lie in the folder of this conversation.", hint="Nothing was written.")
    try:
        before = ledger.files.current(op.path)
    except OSError as error:
        raise AgentError(f"{op.path} cannot be read.", hint="Nothing was written.", detail=str(error)) from error
    if (before.digest if before else None) != op.expected:
        raise AgentError(
            f"{op.path} was changed in the meantime, so it was not written.",
            hint="Look at it again; your text is still where you wrote it.",
        )
    content = op.content
    if content is not None and op.like is None and before is not None and not _can_hold(before, content):
        raise AgentError(f"{op.path} is a {before.kind} and cannot hold this.", hint="Nothing was written.")
    if any(item.change_id not in transcript.changes for item in op.reverts):
        raise AgentError(f"No such change of {op.path} is on record.", hint="Nothing was written.")
    if op.content is None:
        after = None
    elif op.like is not None:
        after = FileState(content=op.content, mode=op.like.mode, kind=op.like.kind)
    elif before is None:
        after = FileState(content=op.content, mode=new_file_mode())
    else:
        after = before.with_content(op.content)
    return FileTransition(op.path, before, after) if after != before or op.reverts else None


def _can_hold(file: FileState, content: bytes) -> bool:
    """Whether this may be written there: a folder has no content, and a symlink leads to a name."""
    return file.kind == "file" or (file.kind == "symlink" and content != b"" and b"\0" not in content)
