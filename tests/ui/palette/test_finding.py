"""What the palette finds, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.ui.palette import (
    EntryKind,
    PaletteEntry,
    PaletteQuery,
    PaletteSources,
    Scope,
    query_of,
    rows_for,
)


def entry(kind: EntryKind, title: str, group: str = "", also: str = "") -> PaletteEntry:
    return PaletteEntry(kind=kind, key=title, title=title, group=group, also=also)


SOURCES = PaletteSources(
    actions=(entry("action", "New session"), entry("action", "Stop the agent"), entry("action", "Review")),
    settings=(entry("setting", "Theme", "Appearance", "ui.theme"), entry("setting", "Effort", "Model")),
    commands=(entry("command", "/compact", "Summarise the older part"), entry("command", "/review", "Look at it")),
    sessions=(entry("session", "Fix the review", "shop"), entry("session", "Fix the review", "other")),
    keys=(entry("key", "Send", "In the message", "Enter"), entry("key", "Next change", "In a diff", "N")),
    files=FolderPaths(["src/review.py", "src/theme/colours.py", "notes.txt"]),
)


def texts(query: PaletteQuery, sources: PaletteSources = SOURCES) -> list[str]:
    return [row.entry.title if row.entry is not None else row.text for row in rows_for(query, sources)]


@pytest.mark.parametrize(
    ("typed", "base", "query"),
    [
        ("", "all", PaletteQuery("all", "")),
        (" re view ", "all", PaletteQuery("all", "re view")),
        ("> stop", "all", PaletteQuery("action", "stop")),
        (">stop", "file", PaletteQuery("action", "stop")),
        ("@fix", "all", PaletteQuery("session", "fix")),
        ("/", "file", PaletteQuery("command", "")),
        (",theme", "all", PaletteQuery("setting", "theme")),
        ("?", "all", PaletteQuery("key", "")),
        ("src", "file", PaletteQuery("file", "src")),
    ],
)
def test_the_first_sign_says_what_is_searched(typed: str, base: Scope, query: PaletteQuery) -> None:
    assert query_of(typed, base) == query


def test_every_kind_that_fits_is_listed_below_its_heading() -> None:
    assert texts(PaletteQuery("all", "review")) == [
        *("Actions", "Review"),
        *("Commands", "/review"),
        *("Sessions", "Fix the review", "Fix the review"),
        *("Files", "review.py"),
    ]


def test_kinds_whose_titles_fit_come_before_those_of_which_only_the_rest_does() -> None:
    sources = PaletteSources(settings=SOURCES.settings, files=FolderPaths(["src/appearance.py"]))
    assert texts(PaletteQuery("all", "appear"), sources) == ["Files", "appearance.py", "Settings", "Theme"]


def test_single_letters_count_only_where_no_words_are_found() -> None:
    assert texts(PaletteQuery("all", "stpagnt")) == ["Actions", "Stop the agent"]
    assert texts(PaletteQuery("all", "notes")) == ["Files", "notes.txt"], "not the letters of `New session`"


def test_what_is_searched_alone_has_no_heading() -> None:
    assert texts(PaletteQuery("session", "fix")) == ["Fix the review", "Fix the review"]
    assert texts(PaletteQuery("file", "colo")) == ["colours.py"]
    assert texts(PaletteQuery("setting", "ui.theme")) == ["Theme"]


def test_what_was_used_last_comes_first_in_the_list_and_among_equals() -> None:
    recent: tuple[tuple[EntryKind, str], ...] = (("file", "notes.txt"), ("action", "Review"), ("file", "gone.txt"))
    used = PaletteSources(actions=SOURCES.actions, files=SOURCES.files, recent=recent)
    assert texts(PaletteQuery("all", ""), used) == [
        *("Recently used", "notes.txt", "Review"),
        *("Actions", "New session", "Stop the agent"),
    ]
    assert texts(PaletteQuery("action", ""), used)[:3] == ["Recently used", "Review", "Actions"]
    assert texts(PaletteQuery("action", "e"), used)[0] == "Review"
    assert texts(PaletteQuery("file", ""), used) == ["Recently used", "notes.txt"]


def test_keys_are_listed_by_where_they_work() -> None:
    assert texts(PaletteQuery("key", "")) == ["In the message", "Send", "In a diff", "Next change"]
    assert texts(PaletteQuery("key", "diff")) == ["Next change"]


@pytest.mark.parametrize(
    ("scope", "sources", "words"),
    [
        ("all", SOURCES, "Nothing matches. Try fewer letters."),
        ("file", PaletteSources(has_folder=False), "Open a folder to go to one of its files."),
        ("file", PaletteSources(), "The files of the folder are being listed…"),
    ],
)
def test_an_empty_list_says_why(scope: Scope, sources: PaletteSources, words: str) -> None:
    (row,) = rows_for(PaletteQuery(scope, "zzqq"), sources)
    assert (row.text, row.is_choice) == (words, False)


def test_what_is_emphasised_is_what_was_typed() -> None:
    (_, row) = rows_for(PaletteQuery("all", "appear"), PaletteSources(settings=SOURCES.settings))
    assert (row.title_spans, row.group_spans) == ((), ((0, 6),))
    (_, row) = rows_for(PaletteQuery("all", "theme/colo"), SOURCES)
    assert (row.title_spans, row.group_spans) == (((0, 4),), ((4, 9),))


@given(st.text(alphabet="revi wTs/.@é", max_size=8), st.sampled_from(["all", "action", "session", "file", "key"]))
def test_whatever_is_typed_gives_rows_whose_marks_lie_in_their_words(text: str, scope: Scope) -> None:
    rows = rows_for(PaletteQuery(scope, text.strip()), SOURCES)
    assert rows
    for row in rows:
        if row.entry is not None:
            assert all(0 <= start < end <= len(row.entry.title) for start, end in row.title_spans)
            assert all(0 <= start < end <= len(row.entry.group) for start, end in row.group_spans)
