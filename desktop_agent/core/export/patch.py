"""What a session changed in its folder, as one patch for `git apply`. Exact bytes: nothing is masked."""

from collections.abc import Iterator

from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.export.export_source import ExportSource
from desktop_agent.core.store.journal.journal_reader import Readable, read_each_line
from desktop_agent.core.transcript import ChangeState

_TELLING = frozenset({"session_opened", "turn_started", "changes_recorded", "changes_undone", "changes_redone"})


def export_patch(source: ExportSource) -> Iterator[bytes]:
    """Yield the patch. A missing file is named at the top, in a line that git skips."""
    state = ChangeState()
    for _, found in read_each_line(source.journal, source.blobs):
        if isinstance(found, Readable) and found.event.type in _TELLING:
            state.apply(found.event, turn=0, tool=None)
    files: list[PatchFile] = []
    held = source.blobs.of_file
    records = list(state.changes.values())
    last = {record.change.path: record.change.after for record in records if not record.change.needs_own_question}
    for row in net_changes(record for record in records if record.change.is_by_agent):
        if row.state == "undone":
            continue
        change = row.change
        if row.state == "partly" and row.path in last:  # as it was after the last undo or redo of a part of it
            change = replace(change, after=last[row.path])
        try:
            files.append(PatchFile(change, held(change.before), held(change.after)))
        except StorageError:
            yield f"# not in this patch: {row.path!a}, whose content is no longer on disk\n".encode()
    yield make_patch(files)
