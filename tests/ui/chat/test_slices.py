"""However short a slice of the window's time is, and however low the view, all that is in view is laid out."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.text import column
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import Stage, call


@pytest.mark.parametrize("height", [90, 120, 600])
def test_a_jump_comes_to_an_end_without_any_time_for_it(
    theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, height: int
) -> None:
    stage = Stage(theme, qtbot, height=height)
    stage.show(*(call(call_id=f"call {number}") for number in range(200)))
    monkeypatch.setattr(column, "SLICE_S", 0.0)
    view = stage.view
    for share in (0.1, 0.5, 0.8):
        view.verticalScrollBar().setValue(int(share * view.verticalScrollBar().maximum()))
        view.row_layout.lay_out_gently()
        qtbot.waitUntil(lambda: not view.row_layout.is_gentle)
        edges = [
            (view.row_layout.reading.row_top(row), view.row_layout.reading.row_top(row) + view.rows.heights[row.index])
            for row in view.row_layout.widgets.live
        ]
        assert min(edges)[0] <= view.row_layout.top_edge
        assert max(edges)[1] >= view.row_layout.top_edge + view.viewport().height()
