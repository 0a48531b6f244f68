"""What git knows about a folder, asked of git itself: its status, its files, its refs; and refs put back when lost."""

from desktop_agent.core.gitrepo.child import NoStatus
from desktop_agent.core.gitrepo.refs import (
    RefProblem,
    RefRecovery,
    Refs,
    StashEntry,
    changed_refs,
    keep_objects,
    read_refs,
    restore_refs,
)
from desktop_agent.core.gitrepo.status import (
    FileState,
    FileStatus,
    Repository,
    RepoStatus,
    common_folder,
    find_repository,
    list_files,
    parse_status,
    query_status,
    read_git,
    read_status,
)

__all__ = [
    "FileState",
    "FileStatus",
    "NoStatus",
    "RefProblem",
    "RefRecovery",
    "Refs",
    "RepoStatus",
    "Repository",
    "StashEntry",
    "changed_refs",
    "common_folder",
    "find_repository",
    "keep_objects",
    "list_files",
    "parse_status",
    "query_status",
    "read_git",
    "read_refs",
    "read_status",
    "restore_refs",
]
