"""The parts that a session works with, made by `desktop_agent.composition.session_context`."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from desktop_agent.core.agents.connection import SessionAgents
from desktop_agent.core.approvals import Approvals, RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.context_window import ContextManager
from desktop_agent.core.extensions.hook_runs import Hooks
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.provider import ProviderSource
from desktop_agent.core.session.aside_requests import Retries, Titling
from desktop_agent.core.session.recorder import Recorder, SessionState
from desktop_agent.core.session.spending import SpendingGuard, TurnLimits
from desktop_agent.core.session.subagents import Subagents
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.session_commands import CommandParts
from desktop_agent.core.telemetry.telemetry import SessionTelemetry
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.gate import LiveJudging


class SessionParts(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    opening: tuple[ev.KnownEvent, ...]
    """The first records: the first record of a new journal, or the problems found in an existing one."""
    is_attended: bool
    """Whether a user can answer questions of an earlier process. Otherwise their turn ends."""
    state: SessionState
    recorder: Recorder
    approvals: Approvals
    judging: LiveJudging
    rulebook: RuleBook
    runtime: ToolRuntime
    subagents: Subagents
    hooks: Hooks
    jobs: Jobs
    ledger: Ledger
    effects: Effects
    context_manager: ContextManager
    commands: CommandParts
    mentions: PromptMentions
    titling: Titling
    settings: WorkspaceSettings
    limits: TurnLimits
    spending: SpendingGuard
    retries: Retries
    telemetry: SessionTelemetry
    clock: Clock
    provider_source: ProviderSource
    agents: SessionAgents
    started_early: Callable[[ModelRef], AbstractAsyncContextManager[None]]
    """Keeps the process running that requests to a model need, if they need one."""
    model_meant: Callable[[NamedModel, ModelRef | None], ModelRef]
    """Returns the complete reference of a partly named model."""
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    """Returns the model's known properties, without a network request."""
    accounts: AccountsFile
    read_history: Callable[[], Awaitable[None]]
    """Folds the records that were omitted because a compaction had summarised them."""
    release: Callable[[], Awaitable[None]]
    """Called once when the session has closed: ends its jobs and releases its lock."""
