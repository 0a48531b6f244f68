"""What a user reads about a failure in a session: a title, what to do, and a code for programs."""

from pathlib import Path

from desktop_agent.core.base.errors import (
    AccountGoneError,
    AgentError,
    CredentialsError,
    NotSignedInError,
    ProviderError,
    SignedOutError,
    StorageError,
    UnsafeSettingsError,
    WorkspaceError,
)
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AgentSignIn

UNSAFE_SETTINGS = "settings"

NO_ACCOUNT = "no_account"

SIGNED_OUT = "signed_out"

NOT_SIGNED_IN = "not_signed_in"
"""The code of the notice that an agent of another program needs a sign-in."""

NOT_FETCHED = "mention"
"""The code of the notice that a prompt was not sent, because a mention in it could not be fetched."""

_CODES: dict[type[AgentError], str] = {
    AccountGoneError: NO_ACCOUNT, SignedOutError: SIGNED_OUT, NotSignedInError: NOT_SIGNED_IN,
    CredentialsError: "no_key", WorkspaceError: "workspace", UnsafeSettingsError: UNSAFE_SETTINGS,
    StorageError: "storage",
}  # fmt: skip


def notice_of(error: AgentError, turn: int | None, agent: str = "") -> ev.Notice:
    """`agent` is the agent of another program whose turn failed, as in `ModelRef.model`."""
    known = (code for kind, code in _CODES.items() if isinstance(error, kind))
    code = error.fault if isinstance(error, ProviderError) else next(known, "error")
    ways = error.ways if isinstance(error, NotSignedInError) else ()
    return ev.Notice(
        level="error",
        code=code,
        title=error.title,
        hint=error.hint,
        detail=error.detail,
        turn=turn,
        sign_ins=tuple(
            AgentSignIn(agent=agent, id=one, name=name, is_in_terminal=is_tty) for one, name, is_tty in ways
        ),
    )


def readable_address_notice(address: str) -> ev.Notice | None:
    if not is_readable_on_the_way(address):
        return None
    return ev.Notice(
        level="warning",
        code="readable_address",
        title=f"{address_of(address)} is not encrypted: anyone on the way can read the key and the conversation.",
        hint="Use an https:// address if the server has one. This warning comes once.",
    )


def defect_notice(error: Exception, turn: int) -> ev.Notice:
    """Return the notice of an unexpected failure, without the error's message, which could quote a key."""
    return ev.Notice(
        level="error",
        code="internal_error",
        title="Something went wrong inside the application, so the turn ended.",
        hint="Your files and this conversation are safe. Try again; the details are in the log.",
        detail=f"{type(error).__name__}{_place(error)}",
        turn=turn,
    )


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
