"""What a file becomes when the user writes it, and what becomes of changes that are overwritten with it."""

from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.stored_images import image_of
from desktop_agent.core.diff.hunks import WHOLE_FILE, all_keys
from desktop_agent.core.merge.merge import missing_keys
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FileChange, Reverted
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo.renaming import is_a_name
from desktop_agent.core.undo.whereabouts import as_edit


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


def written_over(
    transcript: Transcript, ledger: Ledger, op: ops.WriteFile, transition: FileTransition
) -> tuple[Reverted, ...]:
    """Return what is undone of other changes of the file once a clash is settled like this.

    Blocks. A change, or a hunk of one, is gone if the file had it before and has nothing of it afterwards. If it were
    left standing, it would wait for a decision about nothing, and its own undo would clash again.
    """
    settled = {item.change_id for item in op.reverts}
    found: list[Reverted] = []
    for record in transcript.changes.values():
        change = record.change
        if change.path != op.path or change.author == "undo" or change.id in settled or record.is_undone:
            continue
        edit = as_edit(change, (other.change for other in transcript.changes.values()))
        gone = _gone(record, edit, ledger, transition)
        if gone:
            # A redo can only record hunks as undone.
            is_whole = gone[1] and op.purpose == "undo"
            found.append(Reverted(change_id=change.id, hunks=() if is_whole else gone[0]))
    return tuple(found)


def _gone(
    record: ChangeRecord, edit: FileChange, ledger: Ledger, transition: FileTransition
) -> tuple[tuple[HunkKey, ...], bool] | None:
    """Return the hunks of a change that are undone then, and whether they are all of it; None if none are."""
    before, after = transition.before, transition.after
    everything = (WHOLE_FILE,), True
    if image_of(after) == edit.after:
        return None
    if after is None or before is None or {before.kind, after.kind} != {"file"}:
        return everything if image_of(before) == edit.after else None
    try:
        diff = ledger.images.diff(edit)
    except StorageError:
        return None
    if not diff.edits:
        return everything if image_of(before) == edit.after and before.content != after.content else None
    lost = missing_keys(diff, after.content) - missing_keys(diff, before.content)
    if not lost:
        return None
    undone = record.undone_hunks | lost
    return tuple(sorted(undone)), not record.change.moved_from and undone >= set(all_keys(diff))


def _can_hold(file: FileState, content: bytes) -> bool:
    """Whether this may be written there: a folder has no content, and a symlink leads to a name."""
    return file.kind == "file" or (file.kind == "symlink" and content != b"" and b"\0" not in content)
