"""A provider's web search in a session: shown live, saved, sent back after a restart, and dropped."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from desktop_agent import Agent, ModelRef, ops
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.export.export_source import ExportSource
from desktop_agent.core.export.markdown import export_markdown
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.store.verify import verify
from desktop_agent.core.transcript import ToolEntry
from tests.e2e.journeys.legs import LEGS
from tests.servers.model_server import ModelServer
from tests.servers.script import Page, reply, search, text

PAGE = Page("https://docs.python.org/3/", "Python", quote="rounded half to even")
ANSWER = reply(
    text("Let me look."), search("bankers rounding", PAGE), text("To the "), text("even one.", cites=(PAGE,))
)


class Kept(NamedTuple):
    """What a vendor's later requests must contain, and a part that another vendor's must not."""

    back: tuple[str, ...]
    own: str


VENDORS = {
    "anthropic": Kept(("server_tool_use", "bankers rounding", "c2VhbGVk", "aW5kZXg="), "server_tool_use"),
    "openai": Kept(("web_search_call", "bankers rounding"), "web_search_call"),
}


@pytest.mark.parametrize(("vendor", "other"), [("anthropic", "openai"), ("openai", "anthropic")])
async def test_a_search_of_the_provider_is_part_of_the_conversation(
    workspace: Path, isolated_home: Path, vendor: str, other: str
) -> None:
    settings = AppPaths.from_environment({"DESKTOP_AGENT_HOME": str(isolated_home)}).settings_file()
    save_setting(settings, "model.web_search", value="provider")
    async with AsyncExitStack() as running:
        first, second = LEGS[vendor], LEGS[other]
        here = await running.enter_async_context(
            ModelServer(ANSWER, reply(text("Yes.")), dialect=first.dialect, key=first.key)
        )
        there = await running.enter_async_context(
            ModelServer(reply(text("Indeed.")), dialect=second.dialect, key=second.key)
        )
        model = ModelRef(provider=vendor, model=first.model, base_url=here.url)

        async with Agent(workspace, model=model, home=isolated_home) as agent:
            shown = [event async for event in agent.stream("How is 2.5 rounded?")]
            session_id = agent.id
        live = [event.call.state for event in shown if isinstance(event, ev.HostedCallReported)]
        assert live == ["started", "completed"]
        assert not any(isinstance(event, ev.ApprovalRequested) for event in shown)

        async with Agent(workspace, resume=session_id, home=isolated_home) as agent:
            [entry] = [each for each in agent.transcript.entries if isinstance(each, ToolEntry)]
            assert (entry.call.name, entry.title, entry.state) == ("web_search", "bankers rounding", "completed")
            assert agent.transcript.turns.usage.web_searches == 1
            assert (await agent.run("Are you sure?")).text == "Yes."
            agent.submit(ops.SetMode(model=ModelRef(provider=other, model=second.model, base_url=there.url)))
            assert (await agent.run("And you?")).text == "Indeed."
            catalog = agent.workbench.catalog

        again, elsewhere = str(here.messages[-1].body), str(there.messages[-1].body)
        assert [mark for mark in VENDORS[vendor].back if mark not in again] == []
        assert VENDORS[vendor].own not in elsewhere
        assert PAGE.url not in elsewhere
        assert "even one." in elsewhere
        assert (here.violations, there.violations) == ([], [])
    assert verify(catalog, session_id).findings == ()
    exported = "".join(export_markdown(ExportSource(catalog.journal_path(session_id), catalog.blobs)))
    assert "bankers rounding" in exported
    assert PAGE.url in exported
