"""Why an undo or redo leaves a file alone, in the words that the user and the model read.

`draft` refuses with these before anything is written, `execute` where a change may be another session's. What is
refused at the very moment of writing is said in `core/changes/ledger`, how contents clash in `core/merge/file_merge`.
That nothing is undone at all, because the agent is working, is said in `core/session/change_ops`; what the review does
not offer, in `ui/review/panel/file_decisions`.
"""

from typing import Final, Literal

from desktop_agent.core.merge.merge import CHANGED_SINCE as CHANGED_SINCE
from desktop_agent.core.merge.merge import GONE as GONE
from desktop_agent.core.merge.merge import PLACE_TAKEN as PLACE_TAKEN

Direction = Literal["undo", "redo"]

RENAMED_SINCE: Final = "It was renamed to {} since. Undo that first."
LINK_ABOVE: Final = "A symlink has taken the place of the folder {}."
FILE_ABOVE: Final = "Something else has taken the place of the folder {}."
OUTSIDE: Final = "Its folder does not lie in the workspace any more."
UNREADABLE: Final = "It cannot be read: {}."
CONTENT_MISSING: Final = "Its earlier content is missing from the data folder."
NO_SUCH_CHANGE: Final = "There is no such change in it."
FOREIGN_LINES: Final = "Lines of the user or of another change stand among them."
NOT_THE_AGENTS: Final = "It is not the agent's, so it was left alone. It is undone only when asked for explicitly."
MAYBE_NOT_THE_AGENTS: Final = (
    "It may be a running server's or yours, so it was left alone. It is undone only when asked for explicitly."
)
CHANGED_SINCE_SEEN: Final = "It changed a moment ago. Look at it again first."
SEVERAL_FILES: Final = "Several files had this path in turn. Undo all of it, or choose between the versions."
OTHER_SESSION: Final = (
    "Another session's command ran at the same time, so it may be its work. Select the file by itself to undo it."
)

STAYS_WITH_FILES: Final = "It stays for as long as files are in it."
"""Of a folder whose removal is in force while files in it are not removed."""

OTHER_EXTRAS: Final = "Its owner or extended attributes were changed since; those were left alone."
"""Of a file that is undone but for these."""
