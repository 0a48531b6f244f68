"""What the model reads in a session, and the slash commands that change it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.packing import image_digests, with_pictures, without_pictures
from desktop_agent.core.context_window import ContextManager, ContextParts
from desktop_agent.core.models.vendors import PROVIDER_IDS
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.session.aside_requests import Retries
from desktop_agent.core.session.resume import read_whole_history
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.prompt_commands import declarations_of, prompts_of, read_own_commands
from desktop_agent.core.slash.session_commands import CommandParts
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.tools.access import Access, ToolOffer
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.servers.search_tools import DefinitionBudget
from desktop_agent.core.tools.servers.session_servers import SessionServers


def build_context_manager(
    shared: SharedParts, plan: SessionPlan, log: EventLog, access: Access, limits: TurnLimits, retries: Retries
) -> ContextManager:
    """Return what makes the requests of a session, and compacts its history."""
    secrets = finder_of_secrets(plan.root, shared.environ)

    def offer(window: int, loaded: Sequence[str]) -> ToolOffer:
        return access.offer(DefinitionBudget(window, plan.settings.current.mcp.tools_share), loaded)

    def secret_at(path: Path, status: os.stat_result) -> str:
        return secrets().secret_at(path, status)

    async def pictured(request: ModelRequest, model: ModelRef) -> ModelRequest:
        if image_digests(request.messages) and await shared.takes_images(model) is False:
            return replace(request, messages=without_pictures(request.messages))
        return await with_pictures(request, shared.blobs)

    return ContextManager(
        ContextParts(
            history=plan.state.history,
            transcript=plan.state.transcript,
            log=log,
            clock=shared.clock,
            wait=retries.wait,
            settings=lambda: plan.settings.current,
            reader=GuidanceReader(plan.root, shared.paths.config, secret_at),
            calibration=shared.calibration,
            system=plan.system,
            offer=offer,
            make_definitions=access.make_definitions,
            with_pictures=pictured,
            read_history=history_reader(shared, plan),
            max_tokens=lambda: limits.max_tokens or plan.settings.current.model.max_tokens,
            known=shared.known_models.of,
            conversation=_cache_key(plan),
        )
    )


def _cache_key(plan: SessionPlan) -> str:
    """Return what requests of a session are known by in a provider's cache: a digest, so that no id of ours leaves."""
    return blake2b(plan.storage.session_id.encode(), digest_size=16).hexdigest()


def history_reader(shared: SharedParts, plan: SessionPlan) -> Callable[[], Awaitable[None]]:
    """Return what reads the part of the history that was left out because a compaction had summarised it."""
    journal = shared.journal_path(plan.storage.session_id)

    async def read() -> None:
        await asyncio.to_thread(read_whole_history, plan.state, journal, shared.blobs, yield_gil=Yielder())

    return read


def declared_commands(shared: SharedParts, root: Path) -> tuple[Declaration, ...]:
    """Return the commands of a session in a workspace: built in, then the user's and the project's. Blocks."""
    secrets = finder_of_secrets(root, shared.environ)
    own = read_own_commands(shared.paths.config, root, secrets().secret_at)
    theirs = prompts_of(shared.tools.servers.connections(root))
    return (*shared.services.commands, *declarations_of(own), *(prompt.declaration for prompt in theirs))


def build_commands(
    shared: SharedParts, plan: SessionPlan, context_manager: ContextManager, servers: SessionServers
) -> CommandParts:
    """Return what the slash commands of a session work with."""
    return CommandParts(
        transcript=plan.state.transcript,
        context_manager=context_manager,
        workspace=plan.root,
        config_folder=shared.paths.config,
        secrets=finder_of_secrets(plan.root, shared.environ),
        contents=shared.blobs.of_file,
        services=shared.services,
        provider_ids=PROVIDER_IDS,
        model_meant=shared.model_meant,
        accounts=shared.accounts,
        servers=servers.connections,
    )
