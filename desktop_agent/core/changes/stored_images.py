"""Images and the contents behind them, which are in the blobs."""

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol.model import FileChange, FileDiff, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState


class StoredImages:
    """The states that images stand for. Its methods block."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def blob(self, digest: Digest) -> bytes:
        """A stored content by its digest. Raises `StorageError` when it is missing."""
        return self._blobs.get(digest)

    def content(self, image: FileImage | None) -> bytes | None:
        """The bytes of an image; None for an absent file. Raises `StorageError` when they are missing."""
        return self._blobs.of_file(image)

    def state(self, image: FileImage | None) -> FileState | None:
        """The whole state that an image stands for. Raises `StorageError` when its content is missing."""
        if image is None:
            return None
        return FileState(content=self.bytes_of(image), mode=image.mode, kind=image.kind, extras=image.extras)

    def diff(self, change: FileChange) -> FileDiff:
        """What a change changed. Raises `StorageError` when a content is missing."""
        return diff_change(change, self.content(change.before), self.content(change.after))

    def keep(self, state: FileState) -> None:
        """Make a content durable that no change has, such as what a user wrote where an undo clashes with it."""
        self._blobs.put(state.content)

    def bytes_of(self, image: FileImage) -> bytes:
        """The content of a file that is not absent. Raises `StorageError` when it is missing."""
        return self.content(image) or b""


def image_of(state: FileState | None) -> FileImage | None:
    """Return a state by digest; None for an absent file."""
    return None if state is None else state.image()
