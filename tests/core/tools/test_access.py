"""Which tools a caller may use, and what the model learns of the others."""

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import SandboxMode
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.tools.access import CAPABILITIES, Access, CallRules, ToolRegistry
from desktop_agent.core.tools.mcp_tool import DefinitionBudget
from tests.harness import BUILTIN_TOOLS, Ground

REGISTRY = ToolRegistry(BUILTIN_TOOLS)
WIDE = DefinitionBudget(200_000, 10)
READ_ONLY_RULES = CallRules(capabilities=CAPABILITIES - {"write_fs"})


def access(rules: CallRules | None = None, sandbox: SandboxMode = "restricted") -> Access:
    return Access(REGISTRY, rules or CallRules(), lambda: sandbox)


@pytest.mark.parametrize("restricted", [access(READ_ONLY_RULES), access(sandbox="strict")], ids=["rights", "sandbox"])
def test_a_tool_without_its_capability_says_so_in_its_description_not_in_its_name(restricted: Access) -> None:
    """SC-07, Z-26"""
    descriptions = {definition.name: definition.description for definition in restricted.offer(WIDE).definitions}
    assert descriptions["edit_file"].startswith("[UNAVAILABLE: Requires write_fs capability] ")
    assert "UNAVAILABLE" not in descriptions["read_file"]
    assert "- edit_file: [UNAVAILABLE: Requires write_fs capability]" in restricted.offer(WIDE).listing


@pytest.mark.parametrize(
    ("rules", "is_wanted", "is_offered"),
    [
        (CallRules(), True, True),
        (CallRules(), False, False),
        (CallRules(is_dry_run=True), True, False),
        (CallRules(capabilities=CAPABILITIES - {"network"}), True, False),
    ],
    ids=["wanted", "not wanted", "a dry run", "no network"],
)
def test_a_provider_may_search_only_where_ours_may_and_the_user_wants_it(
    rules: CallRules, is_wanted: bool, is_offered: bool
) -> None:
    definitions = Access(REGISTRY, rules, lambda: "restricted", lambda: is_wanted).offer(WIDE).definitions
    there = {definition.name: definition.hosted_tool for definition in definitions}
    assert there["web_search"] == ("web_search" if is_offered else None)
    assert {there[name] for name in there.keys() - {"web_search"}} == {None}


def test_a_provider_may_not_search_where_the_tool_is_not_permitted() -> None:
    for rules in (CallRules(blocked_tools=("web_search",)), CallRules(role="researcher")):
        definitions = Access(REGISTRY, rules, lambda: "restricted", lambda: True).offer(WIDE).definitions
        assert all(definition.hosted_tool is None for definition in definitions)


def test_a_researcher_only_gets_what_changes_nothing() -> None:  # SC-00d
    names = [definition.name for definition in access(CallRules(role="researcher")).offer(WIDE).definitions]
    assert "read_file" in names
    assert {"edit_file", "create_file", "run_terminal_cmd"}.isdisjoint(names)
    edit = REGISTRY.require("edit_file")
    assert edit is not None
    with pytest.raises(ToolError, match="not permitted") as refused:
        access(CallRules(role="researcher")).require(edit)
    assert refused.value.error_type == "permission"


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (CallRules(allowed_tools=("grep", "read_file")), ["read_file", "grep"]),
        (CallRules(allowed_tools=("grep", "read_file"), blocked_tools=("grep",)), ["read_file"]),
        (CallRules(allowed_tools=()), []),
    ],
)
def test_tools_that_a_front_excludes_are_not_told_at_all(rules: CallRules, names: list[str]) -> None:
    assert [definition.name for definition in access(rules).offer(WIDE).definitions] == names


def test_no_tools_at_all_is_said() -> None:
    assert access(CallRules(allowed_tools=())).offer(WIDE).listing.endswith("There are no tools in this session.")


async def test_the_mode_decides_from_the_next_turn_on_what_the_model_is_told(ground: Ground) -> None:
    async with ground.session([[Say("a")], [Say("b")]]) as s:
        await s.prompt()
        s.submit(ops.SetMode(sandbox="strict"))
        await s.prompt()
        systems = [request.system for request in s.provider.requests]
        assert ["UNAVAILABLE" in system for system in systems] == [False, True]
        assert all("## Available Tools" in system for system in systems)
