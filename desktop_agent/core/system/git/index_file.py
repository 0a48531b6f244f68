"""Git's index as bytes (gitformat-index(5), SHA-1): where its entries are, and the same index with other files."""

import hashlib
import os
from bisect import bisect
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Final

from desktop_agent.core.base.regex import regex

_HEAD: Final = Struct(">4sII")
_EXTENSION: Final = Struct(">4sI")
_TREE: Final = regex(rb"([^\0]*)\0(-?\d+) (\d+)\n")
_OID_BYTES: Final = 20
_FLAGS_AT: Final = 60
"""Where an entry has its flags: after times, device, inode, mode, owner, size and object id."""
_MODIFIED_AT: Final = 8
_EXTENDED: Final = 0x40
_LONGEST_COUNTED: Final = 0xFFF
_LARGEST_BYTES: Final = 1024 * 1024
"""With a larger index, git is faster than we are."""


def spans(index: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield each path, and where its entry begins and ends. Raises `ValueError`, `IndexError` or `struct.error`."""
    mark, version, count = _HEAD.unpack_from(index)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index of a known version")
    begin, path = _HEAD.size, b""
    for _ in range(count):
        at = begin + _FLAGS_AT + (4 if index[begin + _FLAGS_AT] & _EXTENDED else 2)
        if version == 4:
            cut, at = _variable_number(index, at)
            end = index.index(b"\0", at)
            path = path[: len(path) - cut] + index[at:end]
            end += 1
        else:
            end = index.index(b"\0", at)
            path = index[at:end]
            end += 8 - (end - begin) % 8
        yield path, begin, end
        begin = end


def _variable_number(data: bytes, at: int) -> tuple[int, int]:
    number = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        number = ((number + 1) << 7) | (data[at] & 0x7F)
    return number, at + 1


def edited(index: bytes, written_s: int, files: Mapping[str, tuple[str, str] | None]) -> bytes:
    """Return an index with other files, mode and object id, as `git update-index --index-info` would write it.

    Raises `ValueError` where git would look at files for that, which may have changed after the index was written, or
    where the index has something that we cannot keep up to date.
    """
    content, checksum = index[:-_OID_BYTES], index[-_OID_BYTES:]
    if index[4:8] != b"\0\0\0\2" or len(index) > _LARGEST_BYTES or _checksum(content) != checksum:
        raise ValueError("not a small index of version 2")
    young, end, entries = (written_s & 0xFFFFFFFF).to_bytes(4, "big"), _HEAD.size, dict[bytes, bytes]()
    for path, begin, end in spans(content):
        if path in entries or content[begin + _MODIFIED_AT : begin + _MODIFIED_AT + 4] >= young:
            raise ValueError("a file has conflicts, or is as young as the index")
        entries[path] = content[begin:end]
    changed, paths = {os.fsencode(path): file for path, file in files.items()}, list(entries)
    for path in changed.keys() - entries.keys():
        inside, at = path + b"/", bisect(paths, path + b"/")
        is_folder = at < len(paths) and paths[at].startswith(inside)
        if is_folder or not entries.keys().isdisjoint(_folders_above(path)):
            raise ValueError("a file takes the place of a folder, or a folder that of a file")
    for path, file in changed.items():
        entries.pop(path, None)
        if file is not None:
            entries[path] = _entry(path, int(file[0], 8), bytes.fromhex(file[1]))
    extension = content[end:]
    if extension:
        name, size = _EXTENSION.unpack_from(extension)
        if name != b"TREE" or len(extension) != _EXTENSION.size + size:
            raise ValueError("an extension, or one more, that would have to be updated")
        folders = {folder for path in changed for folder in _folders_above(path)}
        trees, _ = _invalidated(extension[_EXTENSION.size :], folders)
        extension = _EXTENSION.pack(name, len(trees)) + trees
    content = _HEAD.pack(b"DIRC", 2, len(entries)) + b"".join(entries[path] for path in sorted(entries)) + extension
    return content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).digest()


def _entry(path: bytes, mode: int, oid: bytes) -> bytes:
    """Return an entry without times and size, so that git looks at the file."""
    flags = min(len(path), _LONGEST_COUNTED)
    entry = bytes(24) + mode.to_bytes(4, "big") + bytes(12) + oid + flags.to_bytes(2, "big") + path
    return entry + bytes(8 - len(entry) % 8)


def _invalidated(trees: bytes, folders: set[bytes], at: int = 0, above: bytes = b"") -> tuple[bytes, int]:
    """Return the folder at `at` and those in it, without the trees of `folders`, and where the next one is."""
    found = _TREE.match(trees, at)
    if found is None:
        raise ValueError("not the extension TREE")
    name, count, below = found.groups()
    place = above + b"/" + name if above else name
    end = found.end() + (_OID_BYTES if count != b"-1" else 0)
    kept = name + b"\0-1 " + below + b"\n" if place in folders else trees[at:end]
    for _ in range(int(below)):
        inner, end = _invalidated(trees, folders, end, place)
        kept += inner
    return kept, end


def _folders_above(path: bytes) -> list[bytes]:
    """Return the folders that a file is in, the first of which is the root."""
    names = path.split(b"/")
    return [b"/".join(names[:depth]) for depth in range(len(names))]
