"""Which tools of servers a request has, and how they are found: for any tools, names and words."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.server_status import OfferedTool
from desktop_agent.core.tools.access import Access, CallRules, ToolRegistry
from desktop_agent.core.tools.mcp_tool import DefinitionBudget, McpTool, SearchTools, best_tools, chosen
from tests.core.tools.servers import tracker
from tests.harness import BUILTIN_TOOLS

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
TOOLS = st.lists(st.tuples(NAMES, st.text(max_size=200)), max_size=12, unique_by=lambda pair: pair[0])
BUDGETS = st.builds(DefinitionBudget, st.integers(0, 4_000), st.integers(0, 100))


def connection(name: str) -> Connection:
    definition = ServerDefinition(name=name, reached_by=Program(command="never", args=()))
    return ServerPool(SystemClock(), {}, Path("unused")).lease(definition, Path()).connection


def tools_of(server: str, *named: tuple[str, str]) -> tuple[McpTool, ...]:
    here = connection(server)
    return tuple(McpTool(here, OfferedTool(name=name, description=about, input_schema={})) for name, about in named)


def of_tracker(count: int) -> tuple[McpTool, ...]:
    here, listed = connection("tracker"), map(tracker.tool, range(count))
    offered = (OfferedTool(name=t["name"], description=t["description"], input_schema=t["inputSchema"]) for t in listed)
    return tuple(McpTool(here, tool) for tool in offered)


@given(first=TOOLS, second=TOOLS, budget=BUDGETS, data=st.data())
def test_whatever_was_found_every_offered_tool_is_valid_once_and_callable(
    first: list[tuple[str, str]], second: list[tuple[str, str]], budget: DefinitionBudget, data: st.DataObject
) -> None:
    registry = ToolRegistry((*BUILTIN_TOOLS, SearchTools(tuple)))
    registry.put("one", tools_of("one", *first))
    registry.put("two", tools_of("two", *second))
    access = Access(registry, CallRules(), lambda: "restricted")
    names = [tool.name for tool in access.of_servers()]
    loaded = data.draw(st.lists(st.sampled_from([*names, "gone__tool", "read_file"]), unique=True))

    offer = access.offer(budget, loaded)

    offered = [definition.name for definition in offer.definitions]
    assert len(set(offered)) == len(offered)
    for name in (*offered, *offer.deferred):
        assert registry.require(name).name == name
    for definition in offer.definitions:
        json.dumps(definition.input_schema)
        assert definition.input_schema.get("type") == "object"
    own = [tool.name for tool in BUILTIN_TOOLS]
    assert offered[: len(own)] == own
    assert ("search_tools" in offered) == bool(offer.deferred)
    assert set(offered) | set(offer.deferred) == {*own, *names} | ({"search_tools"} if offer.deferred else set())
    assert set(offered).isdisjoint(offer.deferred)


@given(tools=TOOLS, budget=BUDGETS, data=st.data())
def test_one_more_that_is_found_comes_behind_those_that_stay(
    tools: list[tuple[str, str]], budget: DefinitionBudget, data: st.DataObject
) -> None:
    made = tools_of("one", *tools)
    order = data.draw(st.permutations([tool.name for tool in made]))
    before: list[str] = []
    for count in range(len(order) + 1):
        choice = chosen(made, budget, order[:count])
        if not choice.deferred:
            break
        now = [tool.name for tool in choice.offered]
        kept = [name for name in before if name in now]
        assert now[: len(kept)] == kept
        assert now[len(kept) :] == order[count - 1 : count]
        assert sum(tool.tokens for tool in choice.offered) <= budget.for_found or len(now) == 1
        before = now


def test_all_are_offered_up_to_the_share_and_searched_beyond_it() -> None:
    tools = of_tracker(100)
    tokens = sum(tool.tokens for tool in tools)
    enough = DefinitionBudget(round(tokens * 10) + 1, 10)

    assert not chosen(tools, enough, ()).deferred
    assert chosen(tools, DefinitionBudget(enough.window - 20, 10), ()).deferred == tools
    assert not chosen(tools, DefinitionBudget(1, 100), ()).deferred
    assert chosen(tools, DefinitionBudget(10**9, 0), ()).deferred == tools


def test_a_search_finds_by_name_by_server_by_description_and_by_the_beginning_of_a_word() -> None:
    mail = ("send", "Deliver a message to somebody."), ("sendLater", "Put it into the outbox.")
    git = ("list_branches", "Which branches there are."), ("git_log", "History of commits.")
    tools = (*tools_of("mail", *mail), *tools_of("git", *git))

    def found(query: str) -> list[str]:
        return [tool.shown_name for tool in best_tools(tools, query, 10)]

    assert found("branch") == ["git/list_branches"]
    assert found("branches") == ["git/list_branches"]
    assert found("sendlater") == ["mail/sendLater"]
    assert found("later") == ["mail/sendLater"]
    assert found("outbox") == ["mail/sendLater"]
    assert found("commit history") == ["git/git_log"]
    assert set(found("mail")) == {"mail/send", "mail/sendLater"}
    assert found("deliv") == ["mail/send"]
    assert found("git__list_branches")[0] == "git/list_branches"
    assert found("mail/sendLater")[0] == "mail/sendLater"
    assert found("send")[0] == "mail/send", "a name that is the whole word goes before a longer one"
    assert found("zebra") == []
    hub = tools_of("GitHub", ("list_issues", "List issues that were written in JavaScript."))
    assert [len(best_tools(hub, query, 10)) for query in ("github", "hub", "javascript", "script")] == [1, 1, 1, 1]
    assert found("…") == []


@given(query=st.text(max_size=500), limit=st.integers(1, 20))
def test_a_search_is_bounded_finds_each_once_and_always_the_same(query: str, limit: int) -> None:
    tools = of_tracker(40)
    found = best_tools(tools, query, limit)
    assert len(found) <= limit
    assert len({tool.name for tool in found}) == len(found)
    again = best_tools(tuple(reversed(tools)), query, limit)
    assert [tool.name for tool in again] == [tool.name for tool in found]
