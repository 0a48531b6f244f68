"""The sessions of sub-agents: each works with parts and rights of the session above it (ADR 30)."""

import asyncio
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.session_context import SessionContext, SessionOptions
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import CallId, SessionId, new_session_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.base.plain_text import named, number_of
from desktop_agent.core.extensions.agent_files import AgentRole
from desktop_agent.core.models.known_model import effort_meant
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AGENTS, ModelRef, TaskOrigin
from desktop_agent.core.session.recorder import SessionState, Sink
from desktop_agent.core.session.spending import SpendingGuard, TurnLimits
from desktop_agent.core.session.subagents import Budget, NewSubagent, Parent, Subagents
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.store.session_upkeep import SessionStorage
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.workspace import identity_of
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.gate import Case
from desktop_agent.core.tools.tool import TaskOrder
from desktop_agent.core.worktrees.bring_back import unmerged_in
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree

_IN_WORKTREE = (
    "You work in a git worktree of your own, made from the last commit. Uncommitted work in the user's folder is "
    "not here. What you change stays here until the user brings it back."
)


def subagents_of(
    above: SessionContext, approvals: Approvals, cases: dict[CallId, Case], spending: SpendingGuard
) -> Subagents:
    budget = Budget()

    def parent_of(turn: int, call_id: CallId, order: TaskOrder) -> Parent:
        parent = above.options.parent
        return Parent(
            turn=turn,
            call_id=call_id,
            on_behalf_of=(turn, call_id) if parent is None or above.top is above else parent[1].on_behalf_of,
            role=order.role.name,
            title=order.title,
            log=above.recorder,
            approvals=approvals,
            cases=cases,
            spending=spending,
            budget=budget,
        )

    return Subagents(parent_of, _SubagentSessions(above).open, above.places, above.app.clock)


class _SubagentSessions(Struct, frozen=True, eq=False):
    """Makes the sessions of the sub-agents of the session `above`."""

    above: SessionContext

    async def open(self, parent: Parent, order: TaskOrder, sink: Sink) -> NewSubagent:
        """Make the session of a sub-agent. Raises `AgentError`."""
        above, session_id = self.above, new_session_id(self.above.app.clock.now())
        worktree = await self._make_worktree(order.role, session_id)
        try:
            return await self._opened(session_id, parent, order, sink, worktree)
        except BaseException:
            if worktree is not None:
                await unhurried(above.app.worktrees.unmake(worktree))
            raise

    async def _opened(
        self, session_id: SessionId, parent: Parent, order: TaskOrder, sink: Sink, worktree: Worktree | None
    ) -> NewSubagent:
        above, app, role, mode = self.above, self.above.app, order.role, self.above.state.transcript.session
        own_root = worktree.workspace if worktree is not None else None
        root = own_root or above.root
        place = _IN_WORKTREE if worktree is not None else ""
        told = "\n\n".join(filter(None, (prompt_text("subagent.md"), place, role.instructions)))
        options = SessionOptions(
            rules=(above.options.rules or CallRules()).narrowed_for(role),
            limits=TurnLimits(max_requests=role.max_requests or above.settings.current.subagents.max_requests),
            instructions=told,
            editor=above.options.editor if own_root is None else None,
            parent=(above, parent),
            own_root=own_root,
        )
        model = await self._model_of(role)
        folder = mode.folder if own_root is None else await asyncio.to_thread(identity_of, own_root)
        opened = ev.SessionOpened(
            session_id=session_id,
            workspace=str(root),
            model=model,
            approval=mode.approval,
            sandbox=mode.sandbox,
            app_version=__version__,
            purpose="subagent",
            folder=folder,
            worktree=worktree.origin if worktree is not None else mode.worktree,
            task=TaskOrigin(session_id=above.id, call_id=parent.call_id, role=role.name),
            instructions=told,
            at=app.clock.now(),
        )
        system = await asyncio.to_thread(options.system_prompt, root, opened.at)
        storage = await asyncio.to_thread(SessionStorage.create, session_id, app.catalog, app.blobs)
        try:
            title = ev.SessionRenamed(title=order.description, is_generated=True)
            context = SessionContext(
                app,
                storage,
                SessionState(),
                above.settings,
                options,
                folder=folder,
                system=system,
                opening=(opened, title),
                sink=sink,
                is_attended=above.is_attended,
            )
            conclude = partial(self._conclude, worktree) if worktree is not None else None
            # An agent of another program has its own system prompt.
            preface = told if role.agent else ""
            return NewSubagent(context.session(subagents_of), model, conclude, preface)
        except BaseException:
            storage.discard(app.catalog)
            raise

    async def _make_worktree(self, role: AgentRole, session_id: SessionId) -> Worktree | None:
        """Make a worktree if the role asks for one and may write.

        The command that sets up worktrees is not run, because it runs outside the sandbox, and the agent may have
        committed what it runs.
        """
        above = self.above
        may_write = not (role.only_reads or above.access.only_reads or above.policies.sandbox() == "strict")
        if role.agent:
            await self._require_agent(role.agent, may_write=may_write)
        if not (role.has_worktree or role.agent) or not may_write:
            return None
        worktree, _ = await above.app.worktrees.make(above.root, NewWorktree(), session_id)
        await asyncio.to_thread(above.app.trust.carry_over, above.settings.root, worktree.workspace)
        return worktree

    async def _require_agent(self, agent: str, *, may_write: bool) -> None:
        """Raise `UsageError` if there is no such agent, or if it could do more than this session may."""
        rules = self.above.options.rules or CallRules()
        if not may_write or rules != CallRules():
            title = f"{named(agent)} is an agent of another program, which cannot be kept to what this session may do."
            raise UsageError(title)
        await self.above.app.agent_meant(agent, self.above.settings.root)

    async def _conclude(self, worktree: Worktree) -> str:
        """Remove the worktree if nothing was changed in it; return what happened to it."""
        app, name = self.above.app, worktree.name
        try:
            left = await unmerged_in(app.worktrees, app.catalog, name)
            if not left.files and not left.commits:
                await app.worktrees.unmake(worktree)
                return "It changed nothing in its worktree, which was removed."
        except AgentError as error:
            return f"Its worktree {name} was kept, because it could not be compared: {error.title}"
        changed = f"{number_of(left.files, 'file')} changed, {number_of(left.commits, 'commit')}"
        return (
            f"Its changes ({changed}) are not in this folder, but in the worktree {name} ({worktree.workspace}), on "
            f"the branch {worktree.branch}. Only the user can bring them back."
        )

    async def _model_of(self, role: AgentRole) -> ModelRef:
        app, model = self.above.app, self.above.state.transcript.session.model
        assert model is not None, "the journal's first line names the model"
        if role.agent:
            return ModelRef(provider=AGENTS, model=role.agent)
        if not (role.model or role.effort):
            return model
        if role.model and (name := await app.model_called(role.model, model)):
            model = app.model_meant(NamedModel(model=name), model)
        known = await app.known_model(model) if role.effort else None
        with suppress(UsageError):  # the model does not have the level
            model = replace(model, effort=effort_meant(role.effort, known)) if known is not None else model
        return model
