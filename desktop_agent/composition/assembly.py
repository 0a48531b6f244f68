"""Puts one session together: every part of it made and handed to the parts that need it. No behaviour."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.composition.tool_parts import (
    ChangeParts,
    ToolParts,
    build_change_parts,
    build_mentions,
    build_session_tools,
    build_tool_parts,
)
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.paths import place_of_spare_cache
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.packing import image_digests, with_pictures, without_pictures
from desktop_agent.core.context_window import ContextManager, ContextParts
from desktop_agent.core.models.vendors import PROVIDER_IDS
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.session.aside_requests import Retries, SessionModel, Titling
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.session.resume import close_with_snapshot, read_whole_history
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.spending import SpendingGuard, TurnLimits
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.prompt_commands import declarations_of, prompts_of, read_own_commands
from desktop_agent.core.slash.session_commands import CommandParts
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.telemetry.telemetry import SessionFacts, SessionTelemetry
from desktop_agent.core.tools.access import Access, ToolOffer
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.servers.search_tools import DefinitionBudget
from desktop_agent.core.tools.servers.session_servers import SessionServers


def build_context_manager(
    shared: SharedParts, plan: SessionPlan, log: EventLog, access: Access, limits: TurnLimits, retries: Retries
) -> ContextManager:
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


def assemble(shared: SharedParts, plan: SessionPlan) -> Session:
    state, limits = plan.state, plan.limits or TurnLimits()
    last_seq = state.transcript.session.last_seq
    recorder = Recorder(plan.storage.journal, shared.clock, last_seq=last_seq, folds=(state.apply,), sink=plan.sink)
    changes = build_change_parts(shared, plan, recorder)
    parts = build_tool_parts(shared, plan, changes, recorder)
    approvals = Approvals()
    retries = Retries(shared.retry, recorder, shared.clock)
    spending = _spending_guard(shared, plan, limits, approvals, recorder)
    model = SessionModel(
        state=state,
        provider_source=shared.provider_source,
        known=shared.known_models.of,
        retries=retries,
        spending=spending,
        log=recorder,
    )
    tools = build_session_tools(shared, changes, parts, recorder, approvals, model)
    context_manager = build_context_manager(shared, plan, recorder, parts.access, limits, retries)
    return Session(
        SessionParts(
            session_id=plan.storage.session_id,
            opening=plan.opening,
            is_attended=plan.is_attended,
            state=state,
            recorder=recorder,
            tools=tools,
            context_manager=context_manager,
            commands=build_commands(shared, plan, context_manager, parts.servers),
            mentions=build_mentions(shared, plan, parts),
            titling=_titling(shared, plan, recorder),
            settings=plan.settings,
            limits=limits,
            spending=spending,
            retries=retries,
            telemetry=_telemetry(shared, plan, parts, recorder),
            clock=shared.clock,
            provider_source=shared.provider_source,
            model_meant=shared.model_meant,
            takes_images=shared.takes_images,
            efforts_of=shared.known_models.efforts,
            accounts=shared.accounts,
            read_history=history_reader(shared, plan),
            release=_release(shared, plan, changes, parts),
        )
    )


def _spending_guard(
    shared: SharedParts, plan: SessionPlan, limits: TurnLimits, approvals: Approvals, recorder: Recorder
) -> SpendingGuard:
    return SpendingGuard(
        state=plan.state,
        limits=limits,
        settings=plan.settings,
        approvals=approvals,
        is_attended=plan.is_attended,
        others=partial(shared.catalog.summaries, without=(plan.storage.session_id,)),
        log=recorder,
        clock=shared.clock,
        before=plan.state.transcript.turns.usage,
    )


def _telemetry(shared: SharedParts, plan: SessionPlan, parts: ToolParts, recorder: Recorder) -> SessionTelemetry:
    facts = SessionFacts(
        session_id=plan.storage.session_id, is_tool=lambda name: name in parts.registry, clock=shared.clock
    )
    return SessionTelemetry(shared.telemetry, lambda: plan.settings.current.telemetry, recorder.observe, facts)


def _titling(shared: SharedParts, plan: SessionPlan, recorder: Recorder) -> Titling:
    def is_wanted() -> bool:
        return shared.makes_titles and plan.settings.current.model.generates_titles

    return Titling(plan.state.transcript, recorder, shared.provider_source, shared.clock, is_wanted)


def _remove_temp(folder: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(place_of_spare_cache(folder), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _release_storage(shared: SharedParts, plan: SessionPlan) -> None:
    """Release the lock of a session; remove it if it could never be written. Blocks."""
    if plan.state.transcript.session.last_seq == 0:
        plan.storage.discard(shared.catalog)
    else:
        plan.storage.lock.release()


def _release(
    shared: SharedParts, plan: SessionPlan, changes: ChangeParts, parts: ToolParts
) -> Callable[[], Awaitable[None]]:
    session_id = plan.storage.session_id

    async def release() -> None:
        async with AsyncExitStack() as stack:  # whatever fails, the rest is let go, last the lock
            stack.push_async_callback(asyncio.to_thread, _release_storage, shared, plan)
            stack.callback(changes.workspace.close)
            # So that no caller has to wait for it later.
            stack.push_async_callback(asyncio.to_thread, shared.catalog.summary, session_id)
            journal = shared.journal_path(session_id)
            stack.push_async_callback(asyncio.to_thread, close_with_snapshot, journal, shared.blobs)
            temp = shared.temp_folder(session_id)
            stack.push_async_callback(asyncio.to_thread, _remove_temp, temp)
            stack.push_async_callback(parts.aclose)

    return release
