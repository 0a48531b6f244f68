"""Putting a session together: every part of it made and handed to the parts that need it. Composition, no behaviour."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

from desktop_agent.composition.call_parts import build_session_tools
from desktop_agent.composition.change_parts import ChangeParts, build_change_parts
from desktop_agent.composition.context_parts import build_commands, build_context_manager, history_reader
from desktop_agent.composition.mention_parts import build_mentions
from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.composition.tool_parts import ToolParts, build_tool_parts
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.paths import place_of_spare_cache
from desktop_agent.core.session.aside_requests import Retries, SessionModel, Titling
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.session.resume import close_with_snapshot
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.spending import SpendingGuard, TurnLimits
from desktop_agent.core.telemetry.telemetry import SessionFacts, SessionTelemetry


def assemble(shared: SharedParts, plan: SessionPlan) -> Session:
    """Return the session, ready to run."""
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
