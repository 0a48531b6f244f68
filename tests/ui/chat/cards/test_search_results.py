"""Found pages open only when clicked, and only web addresses."""

import json

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.search_results import MOST_PLACES, FoundPlace, found_in
from tests.ui.chat.stage import Stage, call, click, record

PLACES: list[dict[str, object]] = [
    {"path": "src/app.py", "line": 3, "text": "    def run(self):"},
    {"path": "src/app.py", "line": 114, "text": "app.run()"},
    {"path": "tests/test_app.py", "line": 9, "text": "run()"},
]


def search(places: object, content: str = "[]") -> ToolEntry:
    return call("grep", "run", result=ToolResult(content=content, metadata={"matches": places}))


def unfolded(stage: Stage, entry: ToolEntry) -> list[str]:
    stage.show(entry)
    click(stage.widget(0).tab_stops()[0])
    return "\n".join(stage.shown_text(0).split("\u2028")).splitlines()


def test_places_stand_below_their_file(stage: Stage) -> None:
    assert unfolded(stage, search(PLACES)) == [
        *("src/app.py", "    3  def run(self):", "  114  app.run()", "tests/test_app.py", "    9  run()"),
    ]
    assert stage.widget(0).accessibleName() == "Search run done 3 matches · 6 ms"


@pytest.mark.parametrize(
    ("word", "requested"),
    [("app.run()", ("src/app.py", 114)), ("tests/test_app.py", ("tests/test_app.py", 0))],
)
def test_a_click_asks_for_the_file_at_its_line(stage: Stage, word: str, requested: tuple[str, int]) -> None:
    unfolded(stage, search(PLACES))
    asked = record(stage.view.entry_actions.file_requested)
    stage.click_on(0, word)
    assert asked == [requested]


def test_the_keyboard_goes_from_place_to_place(stage: Stage) -> None:
    unfolded(stage, search(PLACES))
    asked = record(stage.view.entry_actions.file_requested)
    widget = stage.widget(0)
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(2):
        stage.key(Qt.Key.Key_Return, widget)
        stage.key(Qt.Key.Key_Tab, widget)
    assert asked == [("src/app.py", 0), ("src/app.py", 3)]


def test_dragging_over_places_selects_and_opens_nothing(stage: Stage) -> None:
    unfolded(stage, search(PLACES))
    asked = record(stage.view.entry_actions.file_requested)
    stage.drag(stage.point_of(0, "app.run()"), stage.point_of(0, "app.run()", at_end=True))
    assert stage.view.selected.text() == "app.run()"
    assert asked == []


def test_eight_rows_are_shown_and_the_others_on_demand(stage: Stage) -> None:
    places: list[dict[str, object]] = [{"path": "a.py", "line": number, "text": "x"} for number in range(1, 21)]
    assert len(unfolded(stage, search(places))) == 1 + 8
    height = stage.widget(0).height()
    stage.button("Show 12 more").click()
    assert len(stage.shown_text(0).split("\u2028")) == 1 + 20
    assert stage.widget(0).height() > height
    stage.button("Show fewer").click()
    assert stage.widget(0).height() == height


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (search([{"path": "a.py"}, {"path": "b.py", "line": None}]), ["a.py", "b.py"]),
        (search(16, json.dumps({"a.py": 3, "b.py": 1, "[and 7 more files]": 12})), ["a.py  3", "b.py  1"]),
        (search([{"path": "a.py", "count": 3}]), ["a.py  3"]),
        (search(1, '["a.py:1: x"]'), ["a.py:1: x"]),
        (call("web_search", "x", result=ToolResult(content="nothing", metadata={"results": []})), ["nothing"]),
    ],
    ids=["files without lines", "counts in the answer", "counts in the list", "without a list its answer", "no pages"],
)
def test_a_search_without_lines_shows_what_it_has(stage: Stage, entry: ToolEntry, shown: list[str]) -> None:
    assert unfolded(stage, entry) == shown


def test_what_a_tool_writes_is_not_trusted() -> None:
    listed: list[object] = [
        {"path": "a\n\u2028b", "line": True, "text": 7},
        {"path": 3},
        "text",
        {"path": "", "line": 1},
        {"path": "c", "line": -4, "text": "\x1b[31mx"},
    ]
    result = ToolResult(content="", metadata={"matches": listed})
    assert found_in(result) == (FoundPlace("a ⟨U+2028⟩b"), FoundPlace("c", 0, "␛[31mx"))
    assert len(found_in(ToolResult(content="", metadata={"matches": PLACES * MOST_PLACES}))) == MOST_PLACES
    assert found_in(ToolResult(content="{not json", metadata={"matches": 1})) == ()
    assert found_in(ToolResult(content="{}", metadata={})) == ()


def test_places_are_found_and_copied(stage: Stage) -> None:
    stage.show(search(PLACES))
    counts = record(stage.view.finder.found)
    stage.view.finder.find("app.run()")
    stage.qtbot.waitUntil(lambda: not stage.view.finder.is_reading)
    assert counts[-1] == (1, 1)
    assert stage.widget(0).is_column_shown
    stage.view.selected.select_all()
    assert "  114  app.run()" in stage.view.selected.text()


PAGE = {"title": "Ceiling division", "link": "https://docs.example.org/math", "snippet": "Rounds up."}


def web_search(*pages: object) -> ToolEntry:
    metadata: dict[str, object] = {"results": list(pages), "at_provider": True}
    return call("web_search", "ceil", result=ToolResult(content="{}", metadata=metadata))


def test_a_page_shows_title_site_and_what_it_says_and_its_title_leads_there(stage: Stage) -> None:
    assert unfolded(stage, web_search(PAGE)) == ["Ceiling division  docs.example.org", "Rounds up."]
    assert stage.widget(0).accessibleName() == "Search the web ceil done at the provider · 1 result · 6 ms"
    opened = record(stage.view.entry_actions.link_activated)
    stage.click_on(0, "Rounds")
    stage.click_on(0, "Ceiling")
    assert opened == [("https://docs.example.org/math",)]


@pytest.mark.parametrize("link", ["file:///etc/passwd", "javascript:alert(1)", "https://", "https://[", "", 7, None])
def test_anything_but_a_web_address_leads_nowhere(stage: Stage, link: object) -> None:
    unfolded(stage, web_search({"title": "Trap", "link": link, "snippet": "x"}))
    opened = [record(stage.view.entry_actions.link_activated), record(stage.view.entry_actions.file_requested)]
    stage.click_on(0, "Trap")
    assert opened == [[], []]


def test_five_are_shown_and_the_others_on_demand(stage: Stage) -> None:
    pages = [{"title": f"page {number}", "link": f"https://example.org/{number}"} for number in range(8)]
    assert len(unfolded(stage, web_search(*pages))) == 5
    stage.button("Show 3 more results").click()
    assert len(stage.widget(0).column.text.blocks) == 8
