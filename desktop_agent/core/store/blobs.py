"""Content-addressed payloads, shared by all sessions: put bytes in, get a digest; the same bytes are stored once.

A blob is durable when `put` returns, and never changes afterwards. Names come from digests only, so nothing that a
journal says can lead outside the folder.
"""

import os
from pathlib import Path

from desktop_agent.core.errors import StorageError
from desktop_agent.core.files import digest_of, new_hasher, write_atomically
from desktop_agent.core.ids import Digest, is_digest
from desktop_agent.core.model import BlobRef

_BLOCK_BYTES = 2**20


class Blobs:
    """The blob folder. All methods block: callers on the event loop use a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, content: bytes) -> Digest:
        """Store `content` and return its digest. What is damaged under that name is replaced.

        Raises `StorageError` when it cannot be made durable.
        """
        digest = digest_of(content)
        path = self._path(digest)
        try:
            if not _holds(path, content):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, content, mode=0o600)
        except OSError as error:
            raise StorageError(
                "A file's content could not be saved, so nothing was changed.",
                hint="Free some disk space, or check the permissions of the data folder.",
                detail=f"{path}: {error}",
            ) from error
        return digest

    def adopt(self, path: Path, media_type: str) -> BlobRef:
        """Move a file of any size into the store, without reading it into memory. It must be on the same disk."""
        hasher = new_hasher()
        size = 0
        try:
            with path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    hasher.update(block)
                    size += len(block)
                os.fsync(file.fileno())
            target = self._path(hasher.hexdigest())
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        except OSError as error:
            raise StorageError("A command's output could not be saved.", detail=f"{path}: {error}") from error
        return BlobRef(blob=hasher.hexdigest(), size=size, media_type=media_type)

    def put_ref(self, content: bytes, media_type: str) -> BlobRef:
        """Store `content` and return a reference for the journal."""
        return BlobRef(blob=self.put(content), size=len(content), media_type=media_type)

    def get(self, digest: Digest) -> bytes:
        """Return the content. Raises `StorageError` when it is missing or is not what its name says."""
        try:
            content = self._path(digest).read_bytes()
        except OSError as error:
            raise StorageError("A stored file content is missing.", detail=f"{digest}: {error}") from error
        if digest_of(content) != digest:
            raise StorageError("A stored file content is damaged.", detail=digest)
        return content

    def has(self, digest: Digest) -> bool:
        """Whether the content is there."""
        return is_digest(digest) and self._path(digest).is_file()

    def _path(self, digest: Digest) -> Path:
        if not is_digest(digest):
            raise StorageError("A stored reference is not a digest.", detail=repr(digest)[:100])
        return self._folder / digest[:2] / digest


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file has exactly this content. The name alone does not say: a disk may have lost what was in it."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False
