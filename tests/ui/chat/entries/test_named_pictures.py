"""A picture named in an answer loads after a click, below the words that name it."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.ui.chat.cards.result_pictures import PictureButton
from desktop_agent.ui.theme import Theme
from tests.ui.chat.cards.loads import Loads, png
from tests.ui.chat.stage import Stage, answer, click, long_text, record
from tests.ui.ink import ink_rect

LOCAL, REMOTE = "shots/a%20b.png", "https://cats.example/1.png"
TEXT = f"Before.\n\n- Look: ![the window]({LOCAL})\n\nBetween ![a cat]({REMOTE}).\n\nAfter."


@pytest.fixture
def stage(theme: Theme, qtbot: QtBot, loads: Loads) -> Stage:
    loads.blobs = {LOCAL: png(200, 100), REMOTE: png(60, 40)}
    stage = Stage(theme, qtbot, loader=loads.loader)
    stage.view.row_layout.files.set_files("/open", frozenset(), {})
    return stage


def pictures(stage: Stage) -> list[PictureButton]:
    return [button for button in stage.widget(0).findChildren(PictureButton) if button.isVisible()]


def click_on(stage: Stage, word: str) -> None:
    stage.click_on(0, word)
    stage.view.row_layout.flush()


def test_a_click_loads_a_picture_and_shows_it_below_and_another_one_closes_it(stage: Stage, loads: Loads) -> None:
    stage.show(answer(TEXT))
    assert stage.shown_text(0).splitlines()[1:3] == [
        "Look: Picture: the window (shots/a b.png)",
        "Between Picture: a cat (cats.example).",
    ]
    loads.finish()
    assert loads.asked == []
    before, height = stage.point_of(0, "Between").y(), stage.widget(0).height()
    click_on(stage, "the window")
    [button] = pictures(stage)
    assert button.accessibleName() == "Picture shots/a b.png: Loading…"
    loads.finish()
    stage.view.row_layout.flush()
    assert loads.asked == [f"/open: {LOCAL}"]
    assert "200 × 100 · PNG" in button.accessibleName()
    top = button.mapTo(stage.view.viewport(), button.rect().topLeft()).y()
    assert stage.point_of(0, "the window").y() < top
    assert stage.point_of(0, "Between").y() == before + button.height() + 8
    assert top + button.height() < stage.point_of(0, "Between").y()
    click_on(stage, "the window")
    assert pictures(stage) == []
    assert stage.widget(0).height() == height


def test_pressing_it_opens_the_file_or_the_browser(stage: Stage, loads: Loads) -> None:
    stage.show(answer(TEXT))
    files, links = (record(getattr(stage.view.entry_actions, each)) for each in ("file_requested", "link_activated"))
    for word in ("the window", "a cat"):
        click_on(stage, word)
    loads.finish()
    stage.view.row_layout.flush()
    local, remote = sorted(pictures(stage), key=lambda button: button.y())
    click(local)
    click(remote)
    assert (files, links) == ([("shots/a b.png", 0)], [(REMOTE,)])


def test_why_one_cannot_be_shown_is_said_and_the_next_click_tries_again(stage: Stage, loads: Loads) -> None:
    loads.error = WorkspaceError("This picture is not there.")
    stage.show(answer(TEXT))
    click_on(stage, "the window")
    loads.finish()
    assert pictures(stage)[0].accessibleName() == "Picture shots/a b.png: This picture is not there."
    loads.error = None
    for _ in range(2):
        click_on(stage, "the window")
    loads.finish()
    assert "200 × 100" in pictures(stage)[0].accessibleName()


def test_it_stays_open_while_it_is_out_of_sight_and_while_the_answer_grows(stage: Stage, loads: Loads) -> None:
    conversation = stage.talk()
    conversation.stream(f"{TEXT}\n\n")
    stage.view.row_layout.flush()
    stage.click_on(1, "the window")
    loads.finish()
    conversation.stream(long_text(40))
    stage.view.row_layout.flush()
    height = stage.widget(1).height()
    conversation.finish(TEXT + "\n\n" + long_text(40))
    conversation.end_turn()
    conversation.ask("And then?")
    conversation.finish(long_text(80))
    stage.view.row_layout.flush()
    stage.view.row_layout.scroll_to_bottom()
    assert stage.row(1).widget is None
    stage.view.row_layout.scroll_to(0)
    stage.view.row_layout.flush()
    assert [button.isVisible() for button in stage.widget(1).findChildren(PictureButton)] == [True]
    assert height > 200
    assert loads.asked == [f"/open: {LOCAL}"]


def test_several_stand_in_the_order_of_the_words_that_name_them(stage: Stage, loads: Loads, chosen: Theme) -> None:
    loads.blobs = {"z.png": png(40, 20), "a.png": png(40, 20)}
    stage.show(answer("First ![the last letter](z.png), then ![the first letter](a.png)."))
    for word in ("the first", "the last"):
        click_on(stage, word)
        loads.finish()
    stage.view.row_layout.flush()

    def order() -> list[str]:
        shown = sorted(pictures(stage), key=lambda button: button.y())
        return [button.accessibleName().partition(":")[0] for button in shown]

    assert order() == ["Picture z.png", "Picture a.png"]
    chosen.choose("dark")  # every entry is made again
    stage.view.row_layout.flush()
    assert order() == ["Picture z.png", "Picture a.png"]


def test_a_long_reason_is_wrapped_into_its_box(stage: Stage, loads: Loads) -> None:
    loads.error = WorkspaceError("This picture is not there: the file was moved or deleted, or never existed.")
    stage.window.resize(300, 400)
    stage.show(answer(TEXT))
    click_on(stage, "the window")
    loads.finish()
    stage.view.row_layout.flush()
    (button,) = pictures(stage)
    inner = button.rect().adjusted(4, 4, -4, -4)
    assert inner.contains(ink_rect(button, inner.adjusted(-2, 0, 2, 0)))
