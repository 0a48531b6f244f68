"""Which of the changed files are listed: by who wrote them, by what was decided, by their path. Pure."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from desktop_agent.ui.review.changed_files import ChangedFile

AuthorFilter = Literal["", "agent", "shell", "mcp", "person", "unknown"]
StateFilter = Literal["", "undecided", "kept", "undone", "conflict"]


class FileFilter(NamedTuple):
    """What a file must be to be listed; an empty criterion asks nothing."""

    author: AuthorFilter = ""
    state: StateFilter = ""
    text: str = ""
    """Words that the path has, in any order and case."""

    @property
    def is_empty(self) -> bool:
        """Whether every file is listed."""
        return not (self.author or self.state or self.text.strip())

    def passes(self, file: ChangedFile) -> bool:
        """Whether `file` is listed."""
        return self._has_author(file) and self._has_state(file) and self._has_text(file)

    def select(self, files: Iterable[ChangedFile]) -> list[ChangedFile]:
        """Return the files that are listed."""
        return list(files) if self.is_empty else [file for file in files if self.passes(file)]

    def _has_author(self, file: ChangedFile) -> bool:
        return not self.author or self.author in file.authors

    def _has_state(self, file: ChangedFile) -> bool:
        match self.state:
            case "":
                return True
            case "undecided":
                return file.mark in ("pending", "partly", "conflict")
            case state:
                return file.mark == state

    def _has_text(self, file: ChangedFile) -> bool:
        paths = f"{file.path}\n{file.moved_from}".lower()
        return all(word in paths for word in self.text.lower().split())
