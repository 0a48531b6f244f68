"""What a person is told of a failure in a session: a title, what to do, and a code for programs."""

from desktop_agent.core import events as ev
from desktop_agent.core.errors import AgentError, CredentialsError, ProviderError, StorageError, WorkspaceError


def notice_of(error: AgentError, turn: int | None) -> ev.Notice:
    """Return the notice of a failure that we know."""
    match error:
        case ProviderError(fault=fault):
            code: str = fault
        case CredentialsError():
            code = "no_key"
        case WorkspaceError():
            code = "workspace"
        case StorageError():
            code = "storage"
        case _:
            code = "error"
    return ev.Notice(level="error", code=code, title=error.title, hint=error.hint, detail=error.detail, turn=turn)


def defect_notice(error: Exception, turn: int) -> ev.Notice:
    """Return the notice of a failure that nobody expected."""
    return ev.Notice(
        level="error",
        code="internal_error",
        title="Something went wrong inside the application, so the turn ended.",
        hint="Your files and this conversation are safe. Try again; the details are in the log.",
        detail=f"{type(error).__name__}: {error}",
        turn=turn,
    )
