"""What git knows about a folder, asked of git itself: its status, its files, its refs; and refs put back when lost."""

from desktop_agent.core.system.gitrepo.child import NoStatus, PinnedGit, pinned
from desktop_agent.core.system.gitrepo.finding import Repository, common_folder, find_repository, is_still_there
from desktop_agent.core.system.gitrepo.known_refs import KnownRefs
from desktop_agent.core.system.gitrepo.refs import (
    RefProblem,
    RefRecovery,
    Refs,
    StashEntry,
    changed_refs,
    keep_objects,
    read_refs,
    restore_refs,
)
from desktop_agent.core.system.gitrepo.status import (
    FileState,
    FileStatus,
    RepoStatus,
    list_files,
    parse_status,
    query_status,
    read_git,
    status_of,
)

__all__ = [
    "FileState",
    "FileStatus",
    "KnownRefs",
    "NoStatus",
    "PinnedGit",
    "RefProblem",
    "RefRecovery",
    "Refs",
    "RepoStatus",
    "Repository",
    "StashEntry",
    "changed_refs",
    "common_folder",
    "find_repository",
    "is_still_there",
    "keep_objects",
    "list_files",
    "parse_status",
    "pinned",
    "query_status",
    "read_git",
    "read_refs",
    "restore_refs",
    "status_of",
]
