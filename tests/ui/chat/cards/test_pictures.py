"""Pictures are read in a thread, with a limit on size, and broken ones are named."""

from PySide6.QtCore import Qt

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.model import BlobRef, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.result_pictures import PictureButton
from tests.ui.chat.cards.loads import Loads, png
from tests.ui.chat.stage import Stage, answer, call, click, long_text, record


def look(*refs: BlobRef) -> ToolEntry:
    return call("view_image", "shot.png", result=ToolResult(content="{}", images=refs))


def pictures(stage: Stage) -> list[PictureButton]:
    return stage.widget(0).findChildren(PictureButton)


def test_a_picture_is_shown_small_with_what_it_is(stage: Stage, loads: Loads) -> None:
    stage.show(look(loads.picture("a", png(1600, 900))))
    [button] = pictures(stage)
    assert button.accessibleName() == "Picture shot.png: Loading…"
    assert not button.isEnabled()
    loads.finish()
    size = len(loads.blobs["a" * 64])
    assert button.accessibleName() == f"Picture shot.png: 1600 × 900 · PNG · {size / 1000:.0f} kB"
    assert button.isVisible()
    assert button.height() <= 240 + 22
    assert stage.widget(0).height() >= button.geometry().bottom()
    assert button.grab().toImage().pixelColor(100, 100).name() == "#0e7c70"


def test_a_small_picture_is_not_enlarged_and_pressing_it_asks_for_it_in_large(stage: Stage, loads: Loads) -> None:
    ref = loads.picture("a", png(40, 30))
    entry = look(ref)
    stage.show(entry)
    loads.finish()
    assert pictures(stage)[0].height() == 30 + 22
    asked = record(stage.view.entry_actions.picture_requested)
    click(pictures(stage)[0])
    stage.key(Qt.Key.Key_Return, pictures(stage)[0])
    assert asked == [(ref, entry), (ref, entry)]


def test_a_broken_or_missing_picture_says_so(stage: Stage, loads: Loads) -> None:
    refs = [loads.picture("a", b"no picture"), loads.picture("b", png(40, 30)[:60])]
    stage.show(look(*refs))
    loads.finish()
    names = [button.accessibleName() for button in pictures(stage)]
    assert names == [
        "Picture shot.png: This picture cannot be shown here.",
        "Picture shot.png: This picture is damaged and cannot be shown.",
    ]
    assert not any(button.isEnabled() for button in pictures(stage))
    loads.error = StorageError("The stored content of a file is missing.")
    stage.show(look(loads.picture("a", png(40, 30))))
    loads.finish()
    assert pictures(stage)[0].accessibleName() == "Picture shot.png: The stored content of a file is missing."


def test_it_is_fetched_once_and_not_while_it_is_folded(stage: Stage, loads: Loads) -> None:
    stage.show(look(loads.picture("a", png(40, 30))))
    stage.widget(0).refresh()
    loads.finish()
    stage.widget(0).refresh()
    assert loads.asked == ["a"]
    click(stage.widget(0).tab_stops()[0])
    assert not pictures(stage)[0].isVisible()
    assert stage.widget(0).height() == 32


def test_what_arrives_for_a_card_that_is_gone_is_kept_for_its_return(stage: Stage, loads: Loads) -> None:
    stage.show(look(loads.picture("a", png(40, 30))), *(answer(long_text(20)) for _ in range(6)))
    stage.view.row_layout.scroll_to(0)
    stage.view.row_layout.scroll_to_bottom()
    loads.finish()
    stage.view.row_layout.scroll_to(0)
    assert pictures(stage)[0].isEnabled()


def test_a_drawing_is_not_shown_because_it_could_load_other_files(stage: Stage, loads: Loads) -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="9" height="9"/></svg>'
    stage.show(look(loads.picture("a", drawing)))
    loads.finish()
    assert pictures(stage)[0].accessibleName() == "Picture shot.png: This picture cannot be shown here."
