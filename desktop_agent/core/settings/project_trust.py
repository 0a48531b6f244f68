"""What the user answered about the settings of projects: trusted or ignored, for exactly the content they saw.

One file a project, in the user's own folder, where no command in a sandbox can write. It keeps the trusted content
itself, so that a file that is changed later does not loosen anything until the user has looked at the change.
"""

import json
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.settings.plain_file import read_plain
from desktop_agent.core.settings.project import digest_of_text
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.files import digest_of

Answer = Literal["trusted", "ignored"]

_LARGEST_BYTES = 2**20
"""A project's file has 64 KiB at most, and six signs stand for one at most."""


class Trust(Struct, frozen=True):
    """What was answered last about one project."""

    digest: str = ""
    """Of the content that the answer was about."""
    answer: Answer | None = None
    text: str = ""
    """The content that was trusted last; empty when none was."""
    is_broken: bool = False
    """Whether there is an answer that cannot be read."""

    def answer_to(self, text: str) -> Answer | None:
        """Return the answer about this content; None when there was none."""
        return self.answer if self.answer is not None and self.digest == digest_of_text(text) else None


class ProjectTrust:
    """The answers of one user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_for(self, root: Path) -> Path:
        """Where the answer about the project in `root` is kept."""
        return self._folder / f"{digest_of(str(root).encode(errors='surrogateescape'))[:32]}.json"

    def read(self, root: Path) -> Trust:
        """Return what was answered about the project in `root`. Blocks. What cannot be read `is_broken`."""
        try:
            found: object = json.loads(read_plain(self.path_for(root), _LARGEST_BYTES))
        except FileNotFoundError:
            return Trust()
        except (OSError, ValueError, RecursionError):
            return Trust(is_broken=True)
        values = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        digest, answer, text = values.get("digest"), values.get("answer"), values.get("text")
        if values.get("folder") != str(root) or not isinstance(digest, str) or not isinstance(text, str):
            return Trust(is_broken=True)
        return Trust(digest, answer, text) if answer in ("trusted", "ignored") else Trust(is_broken=True)

    def remember(self, root: Path, text: str, answer: Answer) -> None:
        """Keep the answer about this content. Blocks. Raises `StorageError` when that is not possible."""
        record = {
            "folder": str(root),
            "digest": digest_of_text(text),
            "answer": answer,
            "text": text if answer == "trusted" else "",
        }
        path = self.path_for(root)
        try:
            make_private_folder(path.parent)
            write_atomically(
                path, json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace"), mode=PRIVATE_FILE
            )
        except OSError as error:
            raise StorageError("Your answer about the project could not be kept.", detail=f"{path}: {error}") from error
