"""The journey: a session of the library that is opened, driven, closed and opened again."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from desktop_agent import Agent, ModelRef, ops
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock, ThinkingBlock, ToolUseBlock
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.verify import verify
from tests.e2e.journeys.legs import RIGHT, Leg

ModelOf = Callable[[Leg], ModelRef]


class Journey:
    """One session in one folder, and its journal's bytes at each closing."""

    def __init__(self, workspace: Path, home: Path, model_of: ModelOf) -> None:
        self._workspace = workspace
        self._home = home
        self._model_of = model_of
        self.id = ""
        self.questions: list[str] = []
        self._written = b""

    async def travel(self, legs: list[Leg]) -> None:
        """Go all legs: after each first turn the session is closed and opened again."""
        for number, leg in enumerate(legs):
            async with self._agent(self._model_of(legs[0])) as agent:
                if number:
                    agent.submit(ops.SetMode(model=self._model_of(leg)))
                result = await agent.run(leg.task)
                assert result.text.endswith(leg.done)
                assert result.edited_files == (leg.file,)
                assert (self._workspace / leg.file).read_text(encoding="utf-8") == RIGHT
            async with self._agent(None) as agent:
                assert agent.transcript.session.model == self._model_of(leg)
                assert (await agent.run(leg.question)).text == leg.explained

    @asynccontextmanager
    async def _agent(self, model: ModelRef | None) -> AsyncGenerator[Agent]:
        """Open the session, or create it; at the end its journal must begin with the earlier one."""

        def approve(request: ev.ApprovalRequest) -> bool:
            self.questions.append(request.tool)
            return True

        model = None if self.id else model
        async with Agent(self._workspace, resume=self.id, model=model, approve=approve, home=self._home) as agent:
            self.id = agent.id
            yield agent
        before, self._written = self._written, self._catalog.journal_path(self.id).read_bytes()
        assert self._written.startswith(before)
        assert len(self._written) > len(before)

    # -- what is on disk at the end --

    @property
    def _catalog(self) -> SessionCatalog:
        return Agent(home=self._home).workbench.catalog

    def check(self, legs: list[Leg]) -> None:
        """Check that the journal is whole, with all words of all vendors in order and their models."""
        catalog = self._catalog
        assert verify(catalog, self.id).findings == ()
        events, damages = read_journal(catalog.journal_path(self.id), catalog.blobs)
        assert damages == []
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        prompts = [event.text for event in events if isinstance(event, ev.PromptSubmitted)]
        assert prompts == [prompt for leg in legs for prompt in (leg.task, leg.question)]
        models = [event.model for event in events if isinstance(event, ev.ModeSet)]
        assert models == [self._model_of(leg) for leg in legs[1:]]
        for leg in legs:
            self._check_leg(leg, [event for event in events if isinstance(event, ev.MessageDone)], events)
        assert [event.reason for event in events if isinstance(event, ev.TurnEnded)] == ["completed"] * 2 * len(legs)

    def _check_leg(self, leg: Leg, messages: list[ev.MessageDone], events: list[ev.JournalEvent]) -> None:
        said = [block for event in messages if event.model == self._model_of(leg) for block in event.content]
        texts = [block.text for block in said if isinstance(block, TextBlock)]
        assert texts == ["I look.", leg.done, leg.explained]
        assert leg.thought in [block.thinking for block in said if isinstance(block, ThinkingBlock)]
        calls = [block.id for block in said if isinstance(block, ToolUseBlock)]
        finished = [event.call_id for event in events if isinstance(event, ev.ToolCallFinished)]
        assert calls
        assert [call for call in finished if call in calls] == calls
