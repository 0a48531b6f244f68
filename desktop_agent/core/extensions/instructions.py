"""Files whose text the model gets without a question: AGENTS.md files, read off the event loop.

A workspace's files are untrusted. No link out of the workspace is followed, and no file with secrets is read.
"""

import codecs
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from msgspec import Struct

from desktop_agent.core.base.file_types import byte_order_mark
from desktop_agent.core.extensions.untrusted import HoldsSecretsError, SecretAt, read_start
from desktop_agent.core.protocol.model import GuidanceFile, GuidanceScope
from desktop_agent.core.system.private_files import FileStamp, is_unchanged

GUIDANCE_NAME = "AGENTS.md"
MAX_BYTES = 32 * 1024
MAX_FOLDERS = 24
"""How many folders can contribute guidance. In a hostile tree, every folder has a file."""

_NOT_TEXT = "it is not text in UTF-8; what cannot be read is shown as \ufffd"


class GuidanceProblem(Struct, frozen=True):
    path: str
    reason: str


class _Read(Struct, frozen=True):
    stamp: FileStamp | None
    file: GuidanceFile | None
    problem: GuidanceProblem | None


class GuidanceReader:
    def __init__(self, root: Path, person: Path, secret_at: SecretAt) -> None:
        self._secret_at = secret_at
        self._root = root
        self._person = person / GUIDANCE_NAME
        self._known: dict[Path, _Read] = {}

    def read(self, folders: Iterable[str]) -> tuple[tuple[GuidanceFile, ...], tuple[GuidanceProblem, ...]]:
        """Return the user's file, the root's, those of `folders`, and the problems with them. Blocks. Never raises."""
        found = [self._look(self._person, str(self._person), "person")]
        found.append(self._look(self._root / GUIDANCE_NAME, GUIDANCE_NAME, "workspace"))
        for folder in list(folders)[:MAX_FOLDERS]:
            name = str(PurePosixPath(folder) / GUIDANCE_NAME)
            found.append(self._look(self._root / name, name, "folder"))
        reads = [read for read in found if read is not None]
        files = tuple(read.file for read in reads if read.file is not None)
        return files, tuple(read.problem for read in reads if read.problem is not None)

    def folders_of(self, paths: Iterable[str]) -> list[str]:
        """Return the folders inside the workspace that contain these files or folders, outer ones first. Blocks."""
        found: dict[str, None] = {}
        for text in paths:
            path = Path(os.path.normpath(self._root / text))
            if not path.is_relative_to(self._root):
                continue
            place = PurePosixPath(path.relative_to(self._root).as_posix())
            inside = place if _is_folder(path) else place.parent
            chain = [inside, *inside.parents]
            found |= dict.fromkeys(str(folder) for folder in reversed(chain) if folder != PurePosixPath("."))
        return list(found)

    def _look(self, path: Path, name: str, scope: GuidanceScope) -> _Read | None:
        try:
            real = path.resolve(strict=True)
            facts = real.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):  # the last for what can be no path: a NUL in it
            self._known.pop(path, None)
            return None
        except (OSError, RuntimeError) as error:  # no permission, or links in a circle
            if getattr(error, "errno", None) == errno.ENAMETOOLONG:
                return None  # a path that the model made up: there can be no such file
            reason = getattr(error, "strerror", None) or error
            return _Read(None, None, GuidanceProblem(name, f"it cannot be read: {reason}"))
        stamp = FileStamp.of(facts)
        known = self._known.get(path)
        if known is not None and is_unchanged(stamp, known.stamp):
            return known
        if scope != "person" and not real.is_relative_to(self._root):
            read = _Read(stamp, None, GuidanceProblem(name, "it is a link that leads out of the workspace"))
        elif not stat.S_ISREG(facts.st_mode):
            read = _Read(stamp, None, GuidanceProblem(name, "it is not a file"))
        else:
            read = self._loaded(real, name, scope, stamp)
        self._known[path] = read
        return read

    def _loaded(self, path: Path, name: str, scope: GuidanceScope, stamp: FileStamp) -> _Read:
        try:
            content = read_start(path, MAX_BYTES + 1, None if scope == "person" else self._secret_at)
        except HoldsSecretsError as error:
            # Without a stamp, since it may lose its other name without a change of its own.
            return _Read(None, None, GuidanceProblem(name, str(error)))
        except OSError as error:
            return _Read(stamp, None, GuidanceProblem(name, f"it cannot be read: {error.strerror}"))
        is_cut = len(content) > MAX_BYTES
        text, is_clean = _decoded(content[:MAX_BYTES], is_cut=is_cut)
        problem = None if is_clean else GuidanceProblem(name, _NOT_TEXT)
        if not text.strip():
            return _Read(stamp, None, problem)
        return _Read(stamp, GuidanceFile(path=name, scope=scope, text=text, is_cut=is_cut), problem)


def _decoded(content: bytes, *, is_cut: bool) -> tuple[str, bool]:
    mark, encoding = byte_order_mark(content)
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(content[len(mark) :], final=not is_cut).replace("\r\n", "\n").replace("\0", "\ufffd")
    return text, "\ufffd" not in text


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
