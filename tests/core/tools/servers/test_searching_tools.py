"""Too many servers' tools in whole turns: searched for, loaded, called."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.context.tokens import tool_tokens
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, ModelRequest
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.tools.access import CallRules
from tests.core.tools.servers import tracker
from tests.harness import Ground, Open, check_conversation

MANY = 300
SMALL = ModelRef(provider="anthropic", model="claude-small")
LARGE = ModelRef(provider="openai", model="gpt-large")
WINDOWS = {SMALL: 100_000, LARGE: 1_000_000}
SEARCH: Reply = [Call("search_tools", {"query": "create an issue", "limit": 2})]
FOUND = ["tracker__create_issue", "tracker__create_issue_1"]


@pytest.fixture
def ground(ground: Ground) -> Ground:
    for model, window in WINDOWS.items():
        listed = FetchedList(
            fetched_at=ground.clock.now(), models=(ListedModel(name=model.model, context_tokens=window),)
        )
        ListCache(ground.paths.cache / MODELS_NAME).write(usual_account(model.provider), listed)
    with_tracker(ground)
    return ground


def with_tracker(ground: Ground, *, count: int = MANY, share: str = "10") -> None:
    path = ground.paths.config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    command = f'command = "{sys.executable}"\nargs = ["-S", "{tracker.__file__}", "{count}"]'
    path.write_text(f'[mcp]\ntools_share = {share}\n[[mcp.definitions]]\nname = "tracker"\n{command}\n')
    ground.live = LiveSettings.load(path, {})


@asynccontextmanager
async def session(
    ground: Ground,
    *replies: Reply,
    resume: SessionId | None = None,
    rules: CallRules | None = None,
    approval: ApprovalPolicy = "never",
) -> AsyncGenerator[Open]:
    async with ground.session(replies, resume=resume, rules=rules, approval=approval) as s:
        if resume is None:
            s.submit(ops.SetMode(model=SMALL))
        yield s


def theirs(request: ModelRequest) -> list[str]:
    """The request's tools from servers in order, after checks for duplicates and validity."""
    check_conversation(request)
    names = [tool.name for tool in request.tools]
    assert len(set(names)) == len(names)
    return [name for name in names if "__" in name]


async def test_few_tools_are_all_offered_and_nothing_is_searched(ground: Ground) -> None:
    with_tracker(ground, count=5)
    async with session(ground, [Say("ok")]) as s:
        await s.prompt()
        request = s.last_request

    assert len(theirs(request)) == 5
    assert "search_tools" not in {tool.name for tool in request.tools}
    assert "search_tools" not in request.system
    assert "- tracker__list_issue: " in request.system


async def test_many_tools_are_left_to_a_search_and_what_it_found_can_be_called_from_then_on(ground: Ground) -> None:
    call: Reply = [Call("tracker__create_issue", {"text": "It burns."})]
    async with session(ground, SEARCH, call, [Say("ok")], approval="on_write") as s:
        await s.prompt("go", answers=1)
        first, second, third = s.provider.requests
        (answer,) = s.results()
        found = s.rx.all(ev.ToolCallFinished)[0].result
        measured = [event.use for event in s.rx.all(ev.ContextMeasured)]
        left_out = [use.deferred_tools for use in measured if use is not None]

    assert theirs(first) == []
    assert first.tools[-1].name == "search_tools"
    assert first.system.endswith(f"- tracker: {MANY} tools")
    assert "tracker__" not in first.system
    assert (MANY in left_out, left_out[-1]) == (True, MANY - len(FOUND))
    assert theirs(second) == theirs(third) == FOUND
    assert "It burns." in answer.content
    assert "Create one issue of the tracker" in found.content
    assert '"description":"The number of the issue."' in found.content
    assert second.system == first.system, "the prompt stays what a provider's cache has"
    assert second.tools[: len(first.tools)] == first.tools, "definitions are added at the end only"


async def test_more_searches_add_behind_what_is_there(ground: Ground) -> None:
    more: Reply = [Call("search_tools", {"query": "export page", "limit": 1})]
    again: Reply = [Call("search_tools", {"query": "create issue", "limit": 1})]
    async with session(ground, SEARCH, more, again, [Say("ok")]) as s:
        await s.prompt()
        requests = s.provider.requests

    assert theirs(requests[2]) == [*FOUND, "tracker__export_page"]
    assert theirs(requests[3]) == theirs(requests[2]), "found again, it stays where it is"


async def test_a_tool_that_was_not_searched_for_can_be_called_by_its_name_and_stays(ground: Ground) -> None:
    call: Reply = [Call("tracker__close_branch", {"number": 7})]
    async with session(ground, call, [Say("ok")], approval="on_write") as s:
        await s.prompt("go", answers=1)
        (answer,) = s.results()

    assert '{"number": 7}' in answer.content
    assert theirs(s.last_request) == ["tracker__close_branch"]


async def test_what_is_not_found_is_answered_with_what_to_do(ground: Ground) -> None:
    mistakes = (
        Call("tracker__clos_branch", {}),
        Call("search_tools", {"query": "zebra"}),
        Call("tracker__close_branch", {"number": "seven"}),
    )
    async with session(ground, *([call] for call in mistakes), [Say("ok")]) as s:
        await s.prompt()
        name, words, arguments = (event.result for event in s.rx.all(ev.ToolCallFinished))
        requests = s.provider.requests

    assert "Did you mean 'tracker__close_branch'?" in name.content
    assert f"and {MANY} tools of MCP servers, which search_tools finds." in name.content
    assert len(name.content) < 1_000
    assert f"No tool fits 'zebra'. Try other words, or the name of a server:\n- tracker: {MANY} tools" in words.content
    assert arguments.is_error
    assert "'seven' is not of type 'integer'" in arguments.content
    assert [theirs(request) for request in requests] == [[], [], [], ["tracker__close_branch"]]


async def test_a_session_that_is_opened_again_has_the_tools_that_it_had_found(ground: Ground) -> None:
    async with session(ground, SEARCH, [Say("ok")]) as s:
        await s.prompt()
        before = s.last_request

    async with session(ground, [Say("ok")], resume=s.id) as again:
        await again.prompt()
        request = again.last_request

    assert theirs(request) == FOUND
    assert request.tools == before.tools
    assert request.system == before.system


async def test_a_model_with_a_large_window_is_offered_all_and_a_small_one_again_what_was_found(ground: Ground) -> None:
    async with session(ground, SEARCH, [Say("ok")], [Say("ok")], [Say("ok")]) as s:
        await s.prompt()
        s.submit(ops.SetMode(model=LARGE))
        await s.prompt()
        large = s.last_request
        s.submit(ops.SetMode(model=SMALL))
        await s.prompt()
        small = s.last_request

    assert len(theirs(large)) == MANY
    assert "search_tools" not in {tool.name for tool in large.tools}
    assert theirs(small) == FOUND


async def test_going_back_to_before_a_search_lets_go_of_what_it_found(ground: Ground) -> None:
    async with session(ground, [Say("ok")], SEARCH, [Say("ok")], [Say("ok")]) as s:
        await s.prompt()
        await s.prompt()
        await s.carry_out(ops.RewindTo(turn=2, scope="conversation"), ev.Rewound)
        await s.prompt()

    assert theirs(s.last_request) == []


async def test_a_summary_lets_go_of_what_only_the_summarised_turns_found(ground: Ground) -> None:
    summary = "## Goal\n- go\n## Done\n- found tools\n## State\n- all is well\n## Next\n- go on"
    used: Reply = [Call("tracker__export_page", {"number": 1})]
    replies = (SEARCH, [Say("ok")], used, [Say("ok")], [Say("ok")], [Say("ok")], [Say(summary)], [Say("ok")])
    async with session(ground, *replies) as s:
        for _ in range(4):
            await s.prompt()
        assert theirs(s.last_request) == [*FOUND, "tracker__export_page"]
        compacted = await s.carry_out(ops.Compact(), ev.Compacted)
        await s.prompt()
        after = theirs(s.last_request)
        await s.carry_out(ops.UndoCompaction(), ev.CompactionUndone)
        await s.prompt()
        undone = theirs(s.last_request)

    assert after == ([] if compacted.through_turn > 1 else ["tracker__export_page"])
    assert undone == [*FOUND, "tracker__export_page"]


@pytest.mark.parametrize(
    ("share", "is_searched"), [("0", True), ("100", False), ("60", False)], ids=["always", "never", "enough"]
)
async def test_the_user_says_how_much_definitions_may_take(ground: Ground, share: str, is_searched: bool) -> None:
    with_tracker(ground, share=share)
    async with session(ground, [Say("ok")]) as s:
        await s.prompt()

    assert (theirs(s.last_request) == []) == is_searched


async def test_without_the_search_everything_is_offered(ground: Ground) -> None:
    async with session(ground, [Say("ok")], rules=CallRules(blocked_tools=("search_tools",))) as s:
        await s.prompt()

    assert len(theirs(s.last_request)) == MANY


async def test_a_list_of_allowed_tools_holds_for_what_is_found(ground: Ground) -> None:
    rules = CallRules(allowed_tools=("read_file", "tracker"), blocked_tools=("tracker/create_issue",))
    async with session(ground, SEARCH, [Say("ok")], rules=rules) as s:
        await s.prompt()
        first, second = s.provider.requests

    assert [tool.name for tool in first.tools] == ["read_file", "search_tools"]
    assert "tracker__create_issue" not in theirs(second)
    assert len(theirs(second)) == 2


async def test_what_is_shown_of_the_context_says_what_is_left_out(ground: Ground) -> None:
    async with session(ground, SEARCH, [Say("ok")]) as s:
        await s.prompt()
        report = (await s.carry_out(ops.InspectContext(), ev.ContextInspected)).report
        request = s.last_request

    tools = next(section for section in report.sections if section.kind == "tools")
    assert len(report.deferred_tools) == MANY - len(FOUND)
    assert report.use.deferred_tools == MANY - len(FOUND)
    assert report.deferred_tokens > 10 * tools.tokens / len(request.tools)
    assert tool_tokens(request.tools) < WINDOWS[SMALL] / 10
