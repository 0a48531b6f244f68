"""What commands work with: the session they are of, and what of the application they may use."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.context_window import ContextManager
from desktop_agent.core.export import ExportForm
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FileImage, ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.declarations import BUILT_IN, Declaration
from desktop_agent.core.tools.secret_files import SecretNames
from desktop_agent.core.transcript import Transcript


class ConfigWriter(Protocol):
    """The settings, for `/config`."""

    def values(self, workspace: Path) -> Sequence[tuple[str, str]]:
        """Every setting with the value in force in this folder, as a settings file has it."""
        ...

    async def change(self, key: str, value: str, workspace: Path) -> str:
        """Check, save and apply a setting of the user's; return what to say of it, in this folder.

        Raises `UsageError` and `StorageError`.
        """
        ...


class Forker(Protocol):
    """Copies sessions, for `/fork`."""

    async def __call__(self, source_id: SessionId, *, before_turn: int | None = None) -> SessionId:
        """Return the id of the copy. Raises `AgentError`."""
        ...


class Services(Struct, frozen=True, kw_only=True):
    """What the application does beyond one session. A command whose service is missing is not offered."""

    config: ConfigWriter | None = None
    forker: Forker | None = None
    exporter: Callable[[SessionId, ExportForm, Path], Awaitable[int]] | None = None
    """Writes a session to a new file and returns its size in bytes; raises `UsageError` when there is one already."""

    @property
    def commands(self) -> tuple[Declaration, ...]:
        """The built-in commands that can be carried out."""
        missing = {
            name
            for name, service in (("config", self.config), ("fork", self.forker), ("export", self.exporter))
            if service is None
        }
        return tuple(command for command in BUILT_IN if command.name not in missing)


class CommandParts(Struct, frozen=True, kw_only=True):
    """What commands of one session work with."""

    transcript: Transcript
    context_manager: ContextManager
    workspace: Path
    config_folder: Path
    """Where the user's own commands are."""
    secrets: Callable[[], SecretNames]
    """Finds out which files of the workspace hold secrets."""
    contents: Callable[[FileImage | None], bytes | None]
    """The content of a recorded file; `None` where there is none. Blocks."""
    services: Services
    provider_ids: tuple[str, ...]
    """Whose models can be chosen."""
    model_meant: Callable[[NamedModel, ModelRef | None], ModelRef]
    """Completes a model that is named in part by the one that answers now, and by the settings."""
    accounts: AccountsFile
    """By which models can be asked."""
    servers: Callable[[], tuple[Connection, ...]]
    """The MCP servers that the session may use."""


class Performed(Struct, frozen=True):
    """What became of an op that a command asked for."""

    events: list[ev.KnownEvent]
    """What was recorded for it, and the notices that it would have shown otherwise: the command says them."""
    task: "asyncio.Task[None] | None" = None
    """What goes on in the background; `events` grows while it does."""

    @property
    def notice(self) -> ev.Notice | None:
        """Why it was not carried out, or what the user should know of it."""
        return next((event for event in self.events if isinstance(event, ev.Notice)), None)


class SessionHands(Struct, frozen=True, kw_only=True):
    """The session, as far as its commands reach."""

    perform: Callable[[ops.Op], Awaitable[Performed]]
    """Carries out an op as if a front end had asked for it."""
    prompt: Callable[[str, str], Awaitable[object]]
    """Sends a prompt, or queues it; the second text is what of it the user typed, who may mention resources there."""
    prompt_later: Callable[[str], None]
    """Sends a prompt after what the session does now: for a command that does not keep it waiting."""
    say: Callable[[ev.CommandRun], Awaitable[None]]
    """Records what a command came to."""
    is_busy: Callable[[], bool]
    """Whether the agent works."""


class Reply(Struct, frozen=True):
    """What a command says."""

    output: str
    is_error: bool = False
    opens: SessionId = ""


Answer = Reply | Awaitable[Reply]
"""What a command says, or what will say it later: the session goes on meanwhile."""


def refusal(notice: ev.Notice) -> Reply:
    """Return a notice as what the command says."""
    return Reply("\n\n".join(filter(None, (f"{notice.title} {notice.hint}".strip(), notice.detail))), is_error=True)


def no_more(words: Sequence[str], usage: str) -> None:
    """Raise `UsageError` when there are words left that mean nothing."""
    if words:
        raise UsageError(f"`{words[0]}` means nothing there.", hint=f"It is written `{usage}`.")


@contextmanager
def reported() -> Generator[None]:
    """Let a disk that fails elsewhere be what the command says. Only the session's own journal stops the session."""
    try:
        yield
    except StorageError as error:
        raise AgentError(error.title, hint=error.hint, detail=error.detail) from error
