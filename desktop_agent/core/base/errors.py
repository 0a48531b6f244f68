"""One exception tree: what a user reads, what a model reads, and nothing else.

```
Exception
├── AgentError                 title, hint, detail: shown to the user as they are
│   ├── UsageError             a command line, setting or argument that cannot be used
│   │   └── UnsafeSettingsError  settings or rules that safety depends on cannot be read
│   ├── StorageError           the journal, a blob or a lock could not be written or read
│   │   ├── SessionBusyError   another process writes this session
│   │   └── SessionNotFoundError
│   ├── WorkspaceError         the folder is missing, a file, or unreadable
│   ├── SandboxError           a command cannot be confined as asked, so it is not run
│   ├── CredentialsError       no key, or the keyring refused
│   │   ├── SignedOutError     a sign-in is over; only the user can sign in again
│   │   ├── NotSignedInError   an agent of another program needs a sign-in
│   │   └── AccountGoneError   the account that a session names is not there any more
│   ├── ServerError            an MCP server could not be started or reached, or broke off
│   └── ProviderError          the model could not be reached or refused the request
└── ToolError                  a tool call failed; the message is written for the model
    └── ArgumentsError         its arguments are not what the tool takes
```

Everything else is a defect: it propagates to the front end's one handler and to the log.
"""

import errno
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

ToolErrorType = Literal["validation", "recoverable", "permission", "not_found", "fatal"]
"""Why a tool call failed. `fatal` ends the turn; everything else goes back to the model."""

ProviderFault = Literal[
    "authentication", "permission", "not_found", "invalid_request", "too_large", "rate_limited", "overloaded",
    "server", "network", "stream", "billing", "configuration", "unacceptable", "no_answer",
]  # fmt: skip
"""What went wrong between the application and the model. The turn retries only faults that can be temporary."""

_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}

TRANSIENT_FAULTS: frozenset[ProviderFault] = frozenset({"rate_limited", "overloaded", "server", "network", "stream"})


class AgentError(Exception):
    exit_code: ClassVar[int] = 1

    def __init__(self, title: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.title} {self.hint}".strip()


class UsageError(AgentError):
    exit_code = 2


class UnsafeSettingsError(UsageError):
    """Something that safety depends on is unreadable, so nothing runs; `detail` names each mistake's file and line."""

    def __init__(self, mistakes: Sequence[object]) -> None:
        super().__init__(
            "Nothing runs: settings or rules that safety depends on cannot be read.",
            hint="Fix what is named below. Nothing is silently replaced with a default.",
            detail="\n".join(map(str, mistakes)),
        )


class StorageError(AgentError): ...


@contextmanager
def storage_error(title: str, *, hint: str = "", path: Path | None = None) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(title, hint=hint, detail=f"{path}: {error}" if path else str(error)) from error


def is_disk_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    return getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"


class SessionBusyError(StorageError):
    exit_code = 2


class SessionNotFoundError(StorageError):
    exit_code = 2


class WorkspaceError(AgentError):
    exit_code = 2


class SandboxError(AgentError): ...


class CredentialsError(AgentError): ...


class SignedOutError(CredentialsError): ...


class NotSignedInError(CredentialsError):
    """`ways` are the sign-ins that can be carried out here: their ids, their names, and whether in a terminal."""

    def __init__(self, title: str, *, ways: Sequence[tuple[str, str, bool]], hint: str = "", detail: str = "") -> None:
        super().__init__(title, hint=hint, detail=detail)
        self.ways = tuple(ways)


class AccountGoneError(CredentialsError): ...


class ServerError(AgentError): ...


class ProviderError(AgentError):
    """The model was not reached or refused. `fault` decides whether to retry, after `retry_after_s` if given."""

    def __init__(
        self, title: str, *, fault: ProviderFault, hint: str = "", detail: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(title, hint=hint, detail=detail)
        self.fault: ProviderFault = fault
        self.retry_after_s = retry_after_s

    @property
    def is_transient(self) -> bool:
        return self.fault in TRANSIENT_FAULTS


class ToolError(Exception):
    """A tool call failed. The model reads `str(error)`: what failed, and how to do it right."""

    def __init__(self, message: str, *, error_type: ToolErrorType = "recoverable") -> None:
        super().__init__(message)
        self.error_type: ToolErrorType = error_type


class ArgumentsError(ToolError):
    """A call's arguments do not fit its tool. `fields` names the wrong ones, such as `todos.0.status`."""

    def __init__(self, message: str, fields: Sequence[str]) -> None:
        super().__init__(message, error_type="validation")
        self.fields = tuple(fields)
