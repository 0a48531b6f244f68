"""Pages that were found lead to the web only when they are clicked, and only to the web."""

import pytest

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.transcript import ToolEntry
from tests.ui.chat.stage import Stage, call, click, record

PAGE = {"title": "Ceiling division", "link": "https://docs.example.org/math", "snippet": "Rounds up."}


def search(*pages: object) -> ToolEntry:
    return call("web_search", "ceil", result=ToolResult(content="{}", metadata={"results": list(pages)}))


def unfolded(stage: Stage, entry: ToolEntry) -> list[str]:
    stage.show(entry)
    click(stage.widget(0).tab_stops()[0])
    return "\n".join(stage.shown_text(0).split("\u2028")).splitlines()


def press(stage: Stage, word: str) -> None:
    at = stage.point_of(0, word)
    stage.press(at)
    stage.release(at)


def test_a_page_shows_title_site_and_what_it_says(stage: Stage) -> None:
    assert unfolded(stage, search(PAGE)) == ["Ceiling division  docs.example.org", "Rounds up."]
    assert stage.widget(0).accessibleName() == "Search the web ceil done 1 result · 6 ms"


def test_a_search_of_the_provider_says_that_it_ran_there(stage: Stage) -> None:
    result = ToolResult(content="", metadata={"results": [PAGE], "at_provider": True})
    stage.show(call("web_search", "ceil", result=result))
    assert stage.widget(0).accessibleName() == "Search the web ceil done at the provider · 1 result · 6 ms"


def test_a_title_leads_to_its_page(stage: Stage) -> None:
    unfolded(stage, search(PAGE))
    opened = record(stage.view.entry_actions.link_activated)
    press(stage, "Rounds")
    press(stage, "Ceiling")
    assert opened == [("https://docs.example.org/math",)]


@pytest.mark.parametrize("link", ["file:///etc/passwd", "javascript:alert(1)", "https://", "https://[", "", 7, None])
def test_anything_but_a_web_address_leads_nowhere(stage: Stage, link: object) -> None:
    unfolded(stage, search({"title": "Trap", "link": link, "snippet": "x"}))
    opened = [record(stage.view.entry_actions.link_activated), record(stage.view.entry_actions.file_requested)]
    press(stage, "Trap")
    assert opened == [[], []]


def test_five_are_shown_and_the_others_on_demand(stage: Stage) -> None:
    pages = [{"title": f"page {number}", "link": f"https://example.org/{number}"} for number in range(8)]
    assert len(unfolded(stage, search(*pages))) == 5
    stage.button("Show 3 results more").click()
    assert len(stage.widget(0).column.text.blocks) == 8


def test_a_result_without_pages_is_shown_as_text(stage: Stage) -> None:
    result = ToolResult(content="nothing found", metadata={"results": []})
    assert unfolded(stage, call("web_search", "ceil", result=result)) == ["nothing found"]
