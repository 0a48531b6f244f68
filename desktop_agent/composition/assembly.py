"""Puts one session together: every part of it made and handed to the parts that need it. No behaviour."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.composition.application import Application
from desktop_agent.composition.session_context import SessionContext
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.paths import place_of_spare_cache
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.packing import image_digests, with_pictures, without_pictures
from desktop_agent.core.context_window import ContextManager
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.pasted import PastedContents, PastedMentions
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions
from desktop_agent.core.models.vendors import PROVIDER_IDS
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.session.aside_requests import Retries, SessionModel, Titling
from desktop_agent.core.session.resume import close_with_snapshot, read_whole_history
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_parts import SessionParts, SessionTools
from desktop_agent.core.session.spending import SpendingGuard
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.prompt_commands import prompts_of, read_own_commands
from desktop_agent.core.slash.session_commands import CommandParts
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.telemetry.telemetry import SessionFacts, SessionTelemetry
from desktop_agent.core.tools.access import ToolOffer
from desktop_agent.core.tools.execution.executor import ToolExecutor
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.gate import ApprovalGate, LiveJudging
from desktop_agent.core.tools.judging import Judge
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.servers.asking_back import AsideModel, ServerQuestions, ServerSampling
from desktop_agent.core.tools.servers.search_tools import DefinitionBudget


def declared_commands(app: Application, root: Path) -> tuple[Declaration, ...]:
    """Return the commands of a session in a workspace: built in, then the user's and the project's. Blocks."""
    secrets = finder_of_secrets(root, app.environ)
    own = read_own_commands(app.paths.config, root, secrets().secret_at)
    theirs = prompts_of(app.tools.servers.connections(root))
    return (*app.services.commands, *(each.declaration for each in (*own, *theirs)))


def assemble(context: SessionContext) -> Session:
    app, recorder = context.app, context.recorder
    approvals = Approvals(recorder)
    retries = Retries(app.retry, recorder, app.clock)
    spending = SpendingGuard(
        state=context.state,
        limits=context.limits,
        settings=context.settings,
        approvals=approvals,
        is_attended=context.is_attended,
        others=partial(app.catalog.summaries, without=(context.id,)),
        log=recorder,
        clock=app.clock,
        before=context.state.transcript.turns.usage,
    )
    model = SessionModel(
        state=context.state,
        provider_source=app.provider_source,
        known=app.known_model,
        retries=retries,
        spending=spending,
        log=recorder,
    )
    context_manager = _context_manager(context, retries)
    facts = SessionFacts(session_id=context.id, is_tool=lambda name: name in context.registry, clock=app.clock)
    return Session(
        SessionParts(
            session_id=context.id,
            opening=context.opening,
            is_attended=context.is_attended,
            state=context.state,
            recorder=recorder,
            tools=_session_tools(context, approvals, model),
            context_manager=context_manager,
            commands=_commands(context, context_manager),
            mentions=_mentions(context),
            titling=Titling(
                context.state.transcript,
                recorder,
                app.provider_source,
                app.clock,
                lambda: app.makes_titles and context.settings.current.model.generates_titles,
            ),
            settings=context.settings,
            limits=context.limits,
            spending=spending,
            retries=retries,
            telemetry=SessionTelemetry(
                app.telemetry, lambda: context.settings.current.telemetry, recorder.observe, facts
            ),
            clock=app.clock,
            provider_source=app.provider_source,
            model_meant=app.model_meant,
            known=app.known_model,
            accounts=app.accounts,
            read_history=partial(_read_history, context),
            release=partial(_release, context),
        )
    )


def _context_manager(context: SessionContext, retries: Retries) -> ContextManager:
    app, settings, access = context.app, context.settings, context.access
    secrets = finder_of_secrets(context.root, app.environ)

    def offer(window: int, loaded: Sequence[str]) -> ToolOffer:
        return access.offer(DefinitionBudget(window, settings.current.mcp.tools_share), loaded)

    def secret_at(path: Path, status: os.stat_result) -> str:
        return secrets().secret_at(path, status)

    async def pictured(request: ModelRequest, model: ModelRef) -> ModelRequest:
        if not image_digests(request.messages):
            return request
        known = await app.known_model(model)
        if known is not None and known.takes_images is False:
            return replace(request, messages=without_pictures(request.messages))
        return await with_pictures(request, app.blobs)

    return ContextManager(
        history=context.state.history,
        transcript=context.state.transcript,
        log=context.recorder,
        clock=app.clock,
        wait=retries.wait,
        settings=lambda: settings.current,
        reader=GuidanceReader(context.root, app.paths.config, secret_at),
        calibration=app.calibration,
        system=context.system,
        offer=offer,
        make_definitions=access.make_definitions,
        with_pictures=pictured,
        read_history=partial(_read_history, context),
        max_tokens=lambda: context.limits.max_tokens or settings.current.model.max_tokens,
        known=app.known_model,
        # What a provider's cache knows the requests by: a digest, so that no id of ours leaves.
        conversation=blake2b(context.id.encode(), digest_size=16).hexdigest(),
    )


async def _read_history(context: SessionContext) -> None:
    """Read the part of the history that was left out because a compaction had summarised it."""
    app, journal = context.app, context.app.journal_path(context.id)
    await asyncio.to_thread(read_whole_history, context.state, journal, app.blobs, yield_gil=Yielder())


def _session_tools(context: SessionContext, approvals: Approvals, model: AsideModel) -> SessionTools:
    """Return what runs the calls; `model` answers the requests of servers to a model."""
    recorder, policies, clock = context.recorder, context.policies, context.app.clock
    judge = Judge(policies, context.safeguard)
    gate = ApprovalGate(approvals, policies, judge)
    questions = ServerQuestions(approvals, policies)
    sampling = ServerSampling(model, recorder, policies)
    executor = ToolExecutor(context.toolbox, gate, questions, sampling, context.effects, recorder, clock)
    return SessionTools(
        approvals=approvals,
        judging=LiveJudging(gate, approvals, judge, recorder),
        rulebook=context.rulebook,
        runtime=ToolRuntime(
            registry=context.registry,
            access=context.access,
            executor=executor,
            servers=context.servers,
            log=recorder,
            clock=clock,
        ),
        jobs=context.jobs,
        ledger=context.ledger,
        effects=context.effects,
    )


def _commands(context: SessionContext, context_manager: ContextManager) -> CommandParts:
    app = context.app
    return CommandParts(
        transcript=context.state.transcript,
        context_manager=context_manager,
        workspace=context.root,
        config_folder=app.paths.config,
        secrets=finder_of_secrets(context.root, app.environ),
        contents=app.blobs.of_file,
        services=app.services,
        provider_ids=PROVIDER_IDS,
        model_meant=app.model_meant,
        accounts=app.accounts,
        servers=context.servers.connections,
    )


def _mentions(context: SessionContext) -> PromptMentions:
    app = context.app

    async def takes_pictures() -> bool | None:
        model = context.state.transcript.session.model
        known = await app.known_model(model) if model is not None else None
        return known.takes_images if known is not None else None

    files = FileMentions(context.toolbox, context.policies)
    return PromptMentions(
        ResourceMentions(context.servers.connections, app.blobs.put_ref),
        files,
        SymbolMentions(files, context.toolbox),
        SessionMentions(app.catalog, app.blobs),
        PastedMentions(PastedContents.of(app.paths), app.blobs.put_ref),
        takes_pictures,
    )


async def _release(context: SessionContext) -> None:
    app = context.app
    async with AsyncExitStack() as stack:  # a failure does not keep the rest from being released; the lock comes last
        stack.push_async_callback(asyncio.to_thread, _release_storage, context)
        stack.callback(context.workspace.close)
        # So that no caller has to wait for it later.
        stack.push_async_callback(asyncio.to_thread, app.catalog.summary, context.id)
        stack.push_async_callback(asyncio.to_thread, close_with_snapshot, app.journal_path(context.id), app.blobs)
        stack.push_async_callback(asyncio.to_thread, _remove_temp, context.temp_folder)
        stack.push_async_callback(context.aclose)


def _release_storage(context: SessionContext) -> None:
    """Release the lock of a session; remove it if it could never be written. Blocks."""
    if context.state.transcript.session.last_seq == 0:
        context.storage.discard(context.app.catalog)
    else:
        context.storage.lock.release()


def _remove_temp(folder: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(place_of_spare_cache(folder), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
