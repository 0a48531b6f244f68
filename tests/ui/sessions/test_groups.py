"""Groups of sessions, for each choice of the user."""

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol.model import TaskOrigin
from desktop_agent.ui.sessions.session_list_model import Grouping, grouped
from tests.ui.sessions.conftest import HERE, NOW

if TYPE_CHECKING:
    from tests.ui.sessions.conftest import MakeSession


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        ("nearby", [("Pinned", "p"), ("This folder", "wu"), ("Other folders", "iy"), ("Archived", "z")]),
        ("folder", [("Pinned", "p"), ("pagination", "wu"), ("b/site", "i"), ("c/site", "y"), ("Archived", "z")]),
        ("day", [("Pinned", "p"), ("Today", "w"), ("Yesterday", "i"), ("The last 30 days", "u"), ("2024", "y"),
                 ("Archived", "z")]),
        ("state", [("Pinned", "p"), ("Waiting for you", "w"), ("Working", "i"), ("Done", "uy"), ("Archived", "z")]),
    ],
)  # fmt: skip
def test_pinned_come_first_and_archived_last_whatever_is_between(
    make_session: "MakeSession", grouping: Grouping, expected: list[tuple[str, str]]
) -> None:
    day = timedelta(days=1)
    sessions = [
        replace(make_session("p", ago=9 * day), is_pinned=True),
        replace(make_session("z"), is_archived=True, is_pinned=True),
        make_session("y", ago=800 * day, workspace="/c/site"),
        make_session("u", ago=20 * day),
        make_session("i", ago=day, workspace="/b/site", state="working"),
        make_session("w", state="waiting"),
    ]
    groups = grouped(sessions, HERE, grouping, NOW)
    assert [(group.heading, "".join(session.id for session in group.sessions)) for group in groups] == expected


def test_the_sessions_of_the_open_folder_need_no_heading_above_all_others(make_session: "MakeSession") -> None:
    [here, elsewhere] = grouped([make_session("a"), make_session("b", workspace="/b")], HERE, "nearby", NOW)
    assert (here.heading, elsewhere.heading) == ("", "Other folders")
    assert (here.says_folder, elsewhere.says_folder) == (False, True)


def test_a_sub_agent_is_below_its_parent_wherever_that_is(make_session: "MakeSession") -> None:
    def of(parent: str) -> TaskOrigin:
        return TaskOrigin(session_id=parent, call_id="c", role="general")

    sessions = [
        make_session("parent", ago=timedelta(days=3)),
        replace(make_session("child"), task=of("parent")),
        replace(make_session("pinned"), task=of("parent"), is_pinned=True),
        replace(make_session("orphan", ago=timedelta(days=5)), task=of("gone")),
        replace(make_session("ring", ago=timedelta(days=6)), task=of("ring")),
        make_session("other", ago=timedelta(days=4)),
    ]
    pinned, rest = grouped(sessions, HERE, "nearby", NOW)
    assert [session.id for session in pinned.sessions] == ["pinned"]
    assert [session.id for session in rest.sessions] == ["parent", "child", "other", "orphan", "ring"]
