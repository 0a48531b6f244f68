"""What git says about a folder and its files, or why it says nothing."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

FileState = Literal["modified", "added", "deleted", "renamed", "untracked", "conflicted", "ignored"]
"""What happened to a file since the last commit, staged or not. `ignored` is said of what git leaves alone."""


class FileStatus(Struct, frozen=True, kw_only=True):
    """One path that git has something to say about."""

    state: FileState
    renamed_from: str = ""
    is_folder: bool = False
    """The state is that of everything below: a folder that is untracked or ignored as a whole."""


class RepoStatus(Struct, frozen=True, kw_only=True):
    """Branch and changed files at one moment. Paths are relative to the folder that was asked about, with `/`.

    Names that are not UTF-8 carry surrogate escapes, like the names that `os` returns.
    """

    branch: str = ""
    """Empty while HEAD is detached."""
    files: Mapping[str, FileStatus] = field(default_factory=dict[str, FileStatus])
    is_complete: bool = True
    """False when there were more changed files than `STATUS_LIMIT_BYTES` holds."""


class NoStatus(Struct, frozen=True, kw_only=True):
    """Why git has nothing to say about a folder. `detail` is git's own first line, for people."""

    reason: Literal["not_a_repository", "git_missing", "too_slow", "failed", "replaced"]
    detail: str = ""
