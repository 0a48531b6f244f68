"""The seam between a command and what it changed: a snapshot before it, a report after it.

`StatCapture` serves it by looking through the folder. A copy-on-write overlay, which would know exactly what a command
wrote, can take its place: only the composition root knows which it is.
"""

from collections.abc import Callable, Iterable, Mapping
from threading import Event
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.protocol.model import FileImage, Uncaptured
from desktop_agent.core.system.files import FileTransition

OnChange = Callable[[FileTransition], None]


class Snapshot(Struct, frozen=True):
    """What the folder held at one moment. Its number is good in every process, also after this one has died."""

    number: int


class CaptureReport(Struct, frozen=True):
    """What could not be captured: files that changed without a copy, and what cannot be watched at all."""

    lost: tuple[Uncaptured, ...]
    out_of_reach: tuple[Uncaptured, ...]
    repositories: tuple[str, ...] = ()
    """What git takes for a repository now and did not before: paths of `.git`, or of folders like its inside."""


class CaptureStoppedError(Exception):
    """The caller stopped a look at the folder before it was done. Nothing of it was kept."""


class Capture(Protocol):
    """Finds what a command changed in one workspace. Methods block: use a thread, and one call at a time.

    Any number of these, in any number of processes, may share a folder: each snapshot stays what it was until it is
    released, whatever the others do.
    """

    def begin(self, stop: Event | None = None) -> Snapshot:
        """Take a snapshot, before a command runs. Raises `CaptureStoppedError` soon after `stop` is set."""
        ...

    def collect(self, snapshot: Snapshot, on_change: OnChange) -> CaptureReport:
        """Report what is different from the snapshot now, in an order in which it could be done again.

        A created folder comes before what is in it, a deleted one after. Left out is what `note_written` announced
        meanwhile. The snapshot stays: until it is released, the same can be reported again.
        """
        ...

    def advance(self, snapshots: Iterable[Snapshot], to: Snapshot) -> None:
        """Let `snapshots` be of the folder as the last report about `to` found it, once that is on record.

        Their numbers stay. For commands that are looked at again and again while they run.
        """
        ...

    def release(self, snapshot: Snapshot) -> None:
        """Let go of a snapshot whose report is on record. Doing it twice is no harm."""
        ...

    def repositories(self) -> frozenset[str]:
        """Return what git would take for a repository, as of the last look: paths of `.git`, or of folders like it."""
        ...

    def images(self, paths: Iterable[str]) -> Mapping[str, FileImage]:
        """Return how these files were when last looked at; those missing were absent, too large or not watched."""
        ...

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Announce what we wrote ourselves (an edit, an undo, a save by the user): it is no command's work."""
        ...

    def close(self) -> None:
        """End the worker process, if there is one, and return when it is gone. What is asked later is answered, too."""
        ...
