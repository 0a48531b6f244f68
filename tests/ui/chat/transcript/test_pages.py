"""A conversation with only the visible pages loaded reads like a whole one."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.transcript import JournalPage, PageEntry, TextEntry, ToolEntry, Transcript, replay
from desktop_agent.ui.chat.entries.entry import EntryWidget
from tests.journals import finished, said_text, started
from tests.ui.chat.stage import Stage

LINES = "\n\n".join(f"Line {number} of an answer that is long enough to be seen." for number in range(12))


def page_events(number: int) -> list[ev.KnownEvent]:
    return [
        ev.PromptSubmitted(turn=number, prompt_id="p", text=f"Prompt {number}"),
        started(number, f"c{number}"),
        finished(number, f"c{number}"),
        said_text(number, f"{LINES}\n\nThe end of page {number}, mango{number} is a fruit."),
    ]


class Session:
    def __init__(self, stage: Stage, pages: int) -> None:
        self.view = stage.view
        self.until = stage.qtbot.waitUntil
        self.transcript = Transcript()
        self.wanted: list[tuple[int, ...]] = []
        for number in range(pages):
            for event in page_events(number):
                self.transcript.apply(event)
            page = JournalPage(start=0, end=1, entries=4)
            self.transcript.page_out(page)
        for event in page_events(pages):
            self.transcript.apply(event)
        self.view.navigation.pages_wanted.connect(self.wanted.append)
        self.view.show_transcript(self.transcript)

    def load(self, number: int) -> None:
        self.view.row_layout.apply(self.transcript.expand(number, replay(page_events(number))))

    def load_wanted(self) -> bool:
        """Load what the view asks for. Whether it asked for anything."""
        wanted = self.wanted[-1] if self.wanted else ()
        missing = [number for number in wanted if not self.transcript.paged.is_loaded(number)]
        for number in missing[:1]:
            self.load(number)
        return bool(missing)

    def collapse(self, number: int) -> None:
        self.view.row_layout.apply(self.transcript.paged.collapse(number))

    def show_end(self) -> None:
        end = Transcript()
        for number in (29, 30):
            for event in page_events(number):
                end.apply(event)
        self.view.show_transcript(end)

    def y_of(self, text: str) -> int:
        for row in self.view.row_layout.widgets.live:
            if isinstance(row.entry, ev.PromptSubmitted | TextEntry) and text in row.entry.text:
                return self.view.row_layout.reading.row_top(row) - self.view.row_layout.top_edge
        raise AssertionError(f"{text} is not in sight")


@pytest.fixture
def session(stage: Stage) -> Session:
    return Session(stage, 30)


def test_only_pages_near_the_view_are_asked_for(session: Session) -> None:
    assert 29 in session.wanted[-1]
    assert 5 not in session.wanted[-1]
    session.view.row_layout.scroll_to(0)
    assert session.wanted[-1][0] == 0
    assert 29 not in session.wanted[-1]


def test_what_is_read_stays_where_it_is_while_pages_above_are_loaded_and_let_go(session: Session) -> None:
    session.view.row_layout.scroll_to_bottom()
    bar = session.view.verticalScrollBar()
    bar.setValue(bar.value() - 40)
    before = session.y_of("mango30")
    for number in (29, 28, 3):
        session.load(number)
        session.view.row_layout.flush()
        assert session.y_of("mango30") == before
    session.collapse(3)
    session.collapse(28)
    session.view.row_layout.flush()
    assert session.y_of("mango30") == before


def test_a_page_that_was_let_go_is_as_high_as_its_rows_were(session: Session) -> None:
    session.load(29)
    height = session.view.rows.heights.total
    session.collapse(29)
    assert session.view.rows.heights.total == height
    assert len(session.view.rows) == len(session.transcript.entries)


def test_any_place_is_shown_when_its_pages_came(session: Session) -> None:
    bar = session.view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    session.until(lambda: not session.load_wanted())
    assert any(isinstance(row.entry, TextEntry) for row in session.view.row_layout.widgets.live)
    layout = session.view.row_layout
    top, bottom = layout.top_edge, layout.top_edge + session.view.viewport().height()
    in_view = [row for row in layout.widgets.live if top <= layout.reading.row_top(row) < bottom]
    assert all(not isinstance(row.entry, PageEntry) for row in in_view)


def test_a_call_on_a_page_that_is_not_loaded_is_brought_into_view(session: Session) -> None:
    session.view.navigation.show_call("c7")
    session.until(lambda: not session.load_wanted())
    row = next(row for row in session.view.rows if isinstance(row.entry, ToolEntry) and row.entry.call.id == "c7")
    y = session.view.row_layout.reading.row_top(row) - session.view.row_layout.top_edge
    assert 0 <= y < session.view.viewport().height()


def test_a_search_goes_on_over_pages_that_are_not_loaded(session: Session) -> None:
    found: list[tuple[int, int]] = []

    def note(number: int, count: int) -> None:
        found.append((number, count))

    session.view.finder.found.connect(note)
    session.view.finder.find("mango12")
    session.until(lambda: not session.view.finder.is_reading)
    session.view.finder.add_pages("mango12", [12])
    assert session.view.finder.has_unread
    session.until(lambda: not session.load_wanted() and not session.view.finder.is_reading)
    assert found[-1] == (1, 1)
    assert not session.view.finder.has_unread
    assert -session.view.viewport().height() < session.y_of("mango12") < session.view.viewport().height()


def test_the_same_end_with_more_before_it_stays_where_it_was(session: Session, stage: Stage) -> None:
    session.show_end()
    bar = session.view.verticalScrollBar()
    bar.setValue(bar.value() - 60)
    before = session.y_of("mango30")
    session.transcript.expand(29, replay(page_events(29)))
    session.view.exchange_transcript(session.transcript)
    assert session.y_of("mango30") == before


def test_the_widgets_of_the_same_end_stay_when_more_comes_before_it(session: Session) -> None:
    session.show_end()
    session.view.row_layout.scroll_to_bottom()
    before = [row.widget for row in session.view.row_layout.widgets.live]
    session.transcript.expand(29, replay(page_events(29)))
    session.view.exchange_transcript(session.transcript)
    assert set(before) <= {row.widget for row in session.view.row_layout.widgets.live}
    assert [row.index for row in session.view.rows] == list(range(len(session.transcript.entries)))
    assert [row.entry for row in session.view.rows] == session.transcript.entries
    assert session.view.row_layout.reading.is_following


def test_a_conversation_that_is_shown_gently_comes_to_look_as_one_that_is_shown_at_once(
    session: Session, qtbot: QtBot
) -> None:
    for number in (28, 29):
        session.load(number)

    def in_sight() -> dict[int, int]:
        view = session.view
        tops = {
            row.index: view.row_layout.reading.row_top(row) - view.row_layout.top_edge
            for row in view.row_layout.widgets.live
        }
        return {index: top for index, top in tops.items() if 0 <= top < view.viewport().height()}

    session.view.show_transcript(session.transcript)
    at_once = in_sight()
    session.view.show_transcript(session.transcript, is_gentle=True)
    assert list(session.view.row_layout.widgets.live) == []
    qtbot.waitUntil(lambda: in_sight() == at_once)
    assert session.view.row_layout.reading.is_following


def test_a_conversation_in_which_a_turn_runs_is_shown_as_gently(session: Session, qtbot: QtBot) -> None:
    session.view.hide()
    session.view.show()  # the view is at rest: a requested layout is made at once
    session.transcript.apply(ev.TurnStarted(turn=31, model=ModelRef(provider="demo", model="demo")))
    before = len(session.view.findChildren(EntryWidget))
    session.view.show_transcript(session.transcript, is_gentle=True)
    assert len(session.view.findChildren(EntryWidget)) == before
    qtbot.waitUntil(lambda: len(session.view.row_layout.widgets.live) > 0)


def test_what_happens_to_a_call_on_a_page_is_shown_when_the_page_is_loaded(session: Session) -> None:
    late = finished(3, "c3", "came late")
    assert session.transcript.apply(late)[-1:] != []
    session.load(3)
    entry = session.transcript.paged.tool_entry("c3")
    assert entry is not None
    assert entry.result == late.result


def test_a_place_on_a_page_is_found_again_when_the_conversation_is_shown_anew(stage: Stage) -> None:
    session = Session(stage, 30)
    bar, navigation = session.view.verticalScrollBar(), session.view.navigation
    bar.setValue(bar.maximum() // 2)
    session.until(lambda: not session.load_wanted())
    bar.setValue(bar.value() + 25)
    session.until(lambda: not session.load_wanted())
    place = navigation.place
    assert place is not None
    for number in session.transcript.paged.loaded_pages:
        session.collapse(number)
    session.view.show_transcript(session.transcript)
    assert navigation.is_at_end
    navigation.go_to(place)
    session.until(lambda: not session.load_wanted())
    assert navigation.place == place
