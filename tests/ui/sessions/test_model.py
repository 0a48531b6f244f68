"""The rows of the session list, checked by Qt's own model tester."""

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester

from desktop_agent.ui.sessions.session_list_model import SessionListModel, grouped
from tests.ui.sessions.conftest import HERE, NOW

if TYPE_CHECKING:
    from tests.ui.sessions.conftest import MakeSession


def a_model() -> SessionListModel:
    return SessionListModel(lambda: NOW, lambda session_id, title: None)


def shown(model: SessionListModel) -> list[object]:
    return [model.index(row).data() for row in range(model.rowCount())]


def test_a_row_that_moves_stays_the_same_row(make_session: "MakeSession", qtmodeltester: ModelTester) -> None:
    model = a_model()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    old, new = make_session("a", "first", ago=timedelta(hours=1)), make_session("b", "second", ago=timedelta(hours=2))
    model.show([old, new], HERE)
    second = QPersistentModelIndex(model.index(1))
    model.show([old, make_session("b", "second, renamed")], HERE)
    assert (second.row(), second.data()) == (0, "second, renamed")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 9), st.booleans()), max_size=6), max_size=4)
)
def test_any_list_follows_any_other(
    make_session: "MakeSession", qtmodeltester: ModelTester, lists: list[list[tuple[str, int, bool]]]
) -> None:
    model = a_model()
    qtmodeltester.check(model)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    for items in lists:
        by_id = {
            name: make_session(name, f"{name}{hours}", ago=timedelta(hours=hours), workspace=HERE if here else "/other")
            for name, hours, here in items
        }
        model.show(by_id.values(), HERE)
        fresh = a_model()
        fresh.show(by_id.values(), HERE)
        assert shown(model) == shown(fresh)


def test_a_screen_reader_hears_what_a_session_is_doing(make_session: "MakeSession") -> None:
    model = a_model()
    model.show(
        [
            make_session("a", "Fix it", state="waiting"),
            make_session("b", "Build it", state="working", ago=timedelta(hours=1)),
            make_session("c", state="idle", workspace="/home/ada/website"),
        ],
        HERE,
    )
    heard = [str(model.index(row).data(Qt.ItemDataRole.AccessibleTextRole)) for row in range(model.rowCount())]
    assert heard[:3] == ["Fix it, waits for you", "Build it, is working", "Other folders"]
    assert heard[3].startswith("New session, ")
    assert heard[3].endswith(", website")


@pytest.mark.parametrize(
    ("failure", "said"), [("authentication", "key refused"), ("no_key", "no key"), ("network", "failed")]
)
def test_a_session_whose_last_turn_failed_says_how(make_session: "MakeSession", failure: str, said: str) -> None:
    model, session = a_model(), replace(make_session("a", "Fix it"), failure=failure)
    assert model.status(session) == said
    model.show([session], HERE)
    assert f"Fix it, {said}, " in str(model.index(0).data(Qt.ItemDataRole.AccessibleTextRole))
    assert [group.heading for group in grouped([session], HERE, "state", NOW)] == ["Failed"]
    assert model.status(replace(session, state="working")) == "runs"


def test_the_heading_cannot_be_chosen_or_edited(make_session: "MakeSession") -> None:
    model = a_model()
    model.show([make_session("a", workspace="/other")], HERE)
    assert model.flags(model.index(0)) == Qt.ItemFlag.ItemIsEnabled
    assert not model.setData(model.index(0), "another title")


def test_a_new_title_is_passed_on_and_not_shown_before_it_is_true(make_session: "MakeSession") -> None:
    renamed: list[tuple[str, str]] = []
    model = SessionListModel(lambda: NOW, lambda session_id, title: renamed.append((session_id, title)))
    model.show([make_session("a", "before")], HERE)
    model.setData(model.index(0), "  after  ")
    model.setData(model.index(0), "   ")
    model.setData(model.index(0), "before")
    assert renamed == [("a", "after")]
    assert shown(model) == ["before"]
