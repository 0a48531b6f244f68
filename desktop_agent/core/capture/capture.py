"""What stands between a command and what it changed: a snapshot before it, a report after it."""

from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.protocol.model import Uncaptured
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
    is_released: bool = False
    """Whether the snapshot was let go of, because nothing had to be reported."""


class CaptureStoppedError(Exception):
    """The caller stopped a look at the folder before it was done. Nothing of it was kept."""
