"""Content-addressed storage shared by all sessions. `put` returns a digest; equal bytes are stored once.

A blob is durable when `put` returns: `DIGEST.gz`, or `DIGEST` if that is no larger (`NN/DIGEST` in earlier versions).
File names come only from digests, so nothing in a journal can lead outside the folder.
"""

import os
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError, is_disk_full
from desktop_agent.core.base.ids import Digest, is_digest
from desktop_agent.core.protocol.model import BlobRef, FileImage
from desktop_agent.core.system.files import digest_of, new_hasher
from desktop_agent.core.system.private_files import make_private_folder
from desktop_agent.core.system.staged_file import StagedFile, intended_name, sync_folders

PACKED_SUFFIX = ".gz"
_PREFIX_LENGTH = 2
_WAITING_THREADS = 8
_SYNCED_AT_ONCE = 128
"""How many blobs are synced at once. Each is an open file until then, and some systems allow a process only 256."""


class BlobFile(Struct, frozen=True):
    path: Path
    digest: Digest

    @property
    def is_packed(self) -> bool:
        return (intended_name(self.path.name) or self.path.name).endswith(PACKED_SUFFIX)

    def length(self) -> int:
        """A packed file states the length at its end. Raises `OSError` and `DamagedError`."""
        if not self.is_packed:
            return self.path.stat().st_size
        with self.path.open("rb") as file:
            return stated_length(file)

    def blocks(self, size: int | None) -> Iterator[bytes]:
        """Yield the content in blocks. Raises `OSError`, and `DamagedError` if it does not match the digest."""
        hasher = new_hasher()
        total = 0
        with self.path.open("rb") as file:
            for block in self._raw_blocks(file, size):
                hasher.update(block)
                total += len(block)
                yield block
        if hasher.hexdigest() != self.digest or size not in (None, total):
            raise DamagedError(f"{total} bytes of another content")

    def is_whole(self, size: int | None = None) -> bool:
        """Whether the content is complete. Reads all of it, because disks lose data."""
        try:
            for _ in self.blocks(size):
                pass
        except (OSError, DamagedError):
            return False
        return True

    def _raw_blocks(self, file: BinaryIO, size: int | None) -> Iterator[bytes]:
        if self.is_packed:
            yield from unpacked(file, stated_length(file) if size is None else size)
            return
        if size is not None and os.fstat(file.fileno()).st_size != size:
            raise DamagedError(f"not {size} bytes long")
        while block := file.read(BLOCK_BYTES):
            yield block


class Blobs:
    """The store of blobs. All methods block: callers on the event loop use a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Starting threads takes as long as their work, so they are reused. They end with this object.
        self._waiting = ThreadPoolExecutor(_WAITING_THREADS)

    def put(self, content: bytes) -> Digest:
        """Store the content and return its digest. Replaces a damaged copy. Raises `StorageError`."""
        return self.put_many((content,))[0]

    def put_many(self, contents: Sequence[bytes]) -> tuple[Digest, ...]:
        """Return the digests in order, with fewer waits for the disk than `put`. Raises `StorageError`."""
        digests = tuple(digest_of(content) for content in contents)
        wanted = dict(zip(digests, contents, strict=True))
        try:
            self._put_all(wanted)
        except OSError as error:
            title = "A file's content could not be saved, so nothing was changed."
            hint = "Free some disk space, or check the permissions of the data folder."
            if is_disk_full(error):
                title = "The disk is full: a file's content could not be saved, so nothing was changed."
                hint = "Free some disk space, then go on."
            raise StorageError(title, hint=hint, detail=f"{self.folder}: {error}") from error
        return digests

    def adopt(self, path: Path, media_type: str) -> BlobRef:
        """Move a file of any size into the store without loading it into memory. It must be on the same disk."""
        try:
            digest, size = self._adopt(path)
        except OSError as error:
            title = "A command's output could not be saved."
            if is_disk_full(error):
                title = "The disk is full: a command's output could not be saved."
            hint = "Free some disk space, or check the permissions of the data folder."
            raise StorageError(title, hint=hint, detail=f"{path}: {error}") from error
        return BlobRef(blob=digest, size=size, media_type=media_type)

    def put_ref(self, content: bytes, media_type: str) -> BlobRef:
        return BlobRef(blob=self.put(content), size=len(content), media_type=media_type)

    def get(self, digest: Digest, *, size: int | None = None) -> bytes:
        """`size` is checked if given. Raises `StorageError` if the content is missing or damaged."""
        reason: Exception | None = None
        for file in chain(self._files(digest), self._unplaced(digest)):
            try:
                return b"".join(file.blocks(size))
            except FileNotFoundError:
                continue
            except (OSError, DamagedError) as error:
                reason = error
        raise _not_read(digest, reason)

    def of_file(self, image: FileImage | None) -> bytes | None:
        """Return a file's content: empty for a folder, None for an absent file. Raises `StorageError` like `get`."""
        if image is None:
            return None
        return b"" if image.kind == "folder" else self.get(image.digest, size=image.size)

    def blocks(self, digest: Digest, *, size: int | None = None) -> Iterator[bytes]:
        """Yield the content in blocks of at most 1 MiB. Raises like `get`, but may notice damage only at the end."""
        try:
            yield from self._found(digest).blocks(size)
        except (OSError, DamagedError) as error:
            raise _not_read(digest, error) from error

    def has(self, digest: Digest) -> bool:
        return is_digest(digest) and self._found(digest).path.is_file()

    def file_at(self, path: Path) -> BlobFile | None:
        """Return the file as a blob, judged by its name; None if it is not one."""
        digest = path.name.removesuffix(PACKED_SUFFIX)
        is_blob = is_digest(digest) and any(file.path == path for file in self._files(digest))
        return BlobFile(path, digest) if is_blob else None

    def draft_at(self, path: Path) -> BlobFile | None:
        name = intended_name(path.name)
        blob = self.file_at(self.folder / name) if name and path.parent == self.folder else None
        return BlobFile(path, blob.digest) if blob else None

    def place_draft(self, path: Path) -> None:
        """Rename a draft if it is complete. Call this only after the draft's writer has ended."""
        draft = self.draft_at(path)
        if draft and draft.is_whole():
            with suppress(FileNotFoundError):  # another process collects at the same time
                path.replace(self.folder / intended_name(path.name))

    def _found(self, digest: Digest) -> BlobFile:
        files = self._files(digest)
        return next((file for file in chain(files, self._unplaced(digest)) if file.path.is_file()), files[0])

    def _unplaced(self, digest: Digest) -> Iterator[BlobFile]:
        """The complete drafts whose rename a power failure undid. Slow: lists the folder."""
        try:
            drafts = [self.draft_at(path) for path in self.folder.iterdir()]
        except OSError:
            return
        yield from (draft for draft in drafts if draft and draft.digest == digest and draft.is_whole())

    def _files(self, digest: Digest) -> tuple[BlobFile, BlobFile, BlobFile]:
        if not is_digest(digest):
            raise StorageError("A stored reference to a file's content is damaged.", detail=repr(digest)[:100])
        names = (digest + PACKED_SUFFIX, digest, f"{digest[:_PREFIX_LENGTH]}/{digest}")
        packed_file, plain_file, early_file = (BlobFile(self.folder / name, digest) for name in names)
        return packed_file, plain_file, early_file

    def _put_all(self, wanted: dict[Digest, bytes]) -> None:
        self._make_folder()
        with ExitStack() as drafts:
            written: list[StagedFile] = []
            placed: list[tuple[StagedFile, Path]] = []
            for digest, content in wanted.items():
                files = self._files(digest)
                if any(_is_kept(file, len(content)) for file in files if file.path.is_file()):
                    continue
                smaller = packed(content)
                path = files[1 if smaller is None else 0].path
                draft = drafts.enter_context(StagedFile(self.folder, path.name))
                draft.write(content if smaller is None else smaller)
                written.append(draft)
                placed.append((draft, path))
                if len(written) == _SYNCED_AT_ONCE:
                    self._sync(written)
                    written.clear()
            # Also sync if nothing was written: another process may have just put the content, unsynced.
            self._sync(written, self.folder)
            for draft, path in placed:
                draft.place(path)

    def _adopt(self, path: Path) -> tuple[Digest, int]:
        self._make_folder()
        hasher = new_hasher()
        size = 0
        with (
            path.open("r+b") as file,
            StagedFile(self.folder) as draft,
        ):  # some systems sync only files that are open for writing
            deflater = zlib.compressobj(_level(os.fstat(file.fileno()).st_size), wbits=_GZIP)
            while block := file.read(BLOCK_BYTES):
                hasher.update(block)
                size += len(block)
                draft.write(deflater.compress(block))
            draft.write(deflater.flush())
            packed_file, plain_file, _ = self._files(hasher.hexdigest())
            is_smaller = is_packable(size) and draft.size < size
            if is_smaller:
                draft.sync()
                draft.place(packed_file.path)
            else:
                os.fsync(file.fileno())
        if not is_smaller:
            path.replace(plain_file.path)  # some systems cannot move an open file
        sync_folders((self.folder,))
        with suppress(OSError):  # the content is stored; a leftover only takes disk space
            path.unlink(missing_ok=True)
        return plain_file.digest, size

    def _sync(self, drafts: Sequence[StagedFile], *folders: Path) -> None:
        waits = [self._waiting.submit(draft.sync) for draft in drafts]
        waits += [self._waiting.submit(sync_folders, (folder,)) for folder in folders]
        wait(waits)
        for each in waits:
            each.result()

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            make_private_folder(self.folder)
            sync_folders((self.folder.parent,))


def _is_kept(file: BlobFile, size: int) -> bool:
    """Whether `file` is complete. If so, renew its time, so that it is not collected as unused."""
    if not file.is_whole(size):
        return False
    try:
        os.utime(file.path)
    except OSError:
        return False
    return True


def _not_read(digest: Digest, reason: Exception | None) -> StorageError:
    if isinstance(reason, DamagedError):
        return StorageError("The stored content of a file is damaged.", detail=f"{digest}: {reason}")
    if reason is None or isinstance(reason, FileNotFoundError):
        return StorageError("The stored content of a file is missing.", detail=digest)
    return StorageError("The stored content of a file could not be read.", detail=f"{digest}: {reason}")


BLOCK_BYTES = 2**20

_GZIP = 31  # zlib's sign for its largest window, wrapped as gzip
_LENGTH_BYTES = 4
_MOST_BYTES = 2 ** (8 * _LENGTH_BYTES) - 1
_LARGE_BYTES = 2**20
_MOST_EXPANSION = 1032  # deflate's own limit: 258 bytes from two bits


class DamagedError(Exception): ...


def _level(size: int) -> int:
    return 1 if size > _LARGE_BYTES else 6


def is_packable(size: int) -> bool:
    """Whether gzip can state this size: its length field is limited."""
    return 0 < size <= _MOST_BYTES


def packed(content: bytes) -> bytes | None:
    if not is_packable(len(content)):
        return None
    result = zlib.compress(content, _level(len(content)), _GZIP)
    return result if len(result) < len(content) else None


def stated_length(file: BinaryIO) -> int:
    """Return the content's length as gzip states it (RFC 1952). Raises `DamagedError` for an impossible one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LENGTH_BYTES))
    length = int.from_bytes(file.read(), "little")
    if length > size * _MOST_EXPANSION:
        raise DamagedError(f"{size} bytes cannot hold {length}")
    file.seek(0)
    return length


def unpacked(file: BinaryIO, most_bytes: int) -> Iterator[bytes]:
    """Yield the unpacked content. Raises `DamagedError` for a broken file, or for more than `most_bytes`."""
    inflater = zlib.decompressobj(_GZIP)
    total = 0
    while data := file.read(BLOCK_BYTES):
        if inflater.eof:
            break
        while True:
            try:
                block = inflater.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                raise DamagedError(str(error)) from error
            data = inflater.unconsumed_tail
            total += len(block)
            if total > most_bytes:
                raise DamagedError(f"more than {most_bytes} bytes came out")
            if block:
                yield block
            if inflater.eof or (not data and len(block) < BLOCK_BYTES):
                break
    if not inflater.eof:
        raise DamagedError("cut off")
    if data or inflater.unused_data:
        raise DamagedError("it goes on after its end")
