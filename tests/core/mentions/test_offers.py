import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.core.mcp.server_status import OfferedResource, ResourceTemplate, ServerStatus
from desktop_agent.core.mentions.mention_grammar import (
    TypedMention,
    mentions_in,
    paths_in,
    typed_before,
    written,
    written_path,
)
from desktop_agent.core.mentions.offers import (
    FolderPaths,
    MentionOffer,
    MentionSources,
    OfferedSession,
    completed,
    find_resource,
    offers_for,
    part_typed,
    ways_to_mention,
    with_symbols,
)

ONE = OfferedResource(uri="note://one", name="one")
PLAN = OfferedResource(uri="note://plan", name="Release plan", title="The plan")
TWINS = (OfferedResource(uri="note://1", name="twin"), OfferedResource(uri="note://2", name="twin"))
LISTED = (ONE, PLAN, *TWINS)


@pytest.mark.parametrize(
    ("target", "meant"), [("note://one", ONE), ("one", ONE), ("The plan", PLAN), ("note://2", TWINS[1]), ("two", None)]
)
def test_a_target_is_an_address_a_name_or_a_title(target: str, meant: OfferedResource | None) -> None:
    assert find_resource(target, LISTED) == meant


def test_an_address_that_is_not_listed_is_read_as_it_is() -> None:
    assert find_resource("note://2026/x", LISTED) == OfferedResource(uri="note://2026/x", name="note://2026/x")


@pytest.mark.parametrize(
    ("target", "why"),
    [("twin", "2 resources have that name."), ("note://{year}/x", "`{year}`"), ("a:" + "x" * 5000, "4,096 characters")],
)
def test_what_is_not_clear_is_refused_in_words(target: str, why: str) -> None:
    with pytest.raises(UsageError, match=r"(?s).*") as refused:
        find_resource(target, LISTED)

    assert why in str(refused.value)


def test_names_that_cannot_be_read_are_offered_by_address_or_not_at_all() -> None:
    turned = OfferedResource(uri="note://turned", name="exe\u202etxt")
    hidden = OfferedResource(uri="note://\u202e", name="\x07")
    long = OfferedResource(uri="x:" + "y" * 10_000, name="n" * 500)

    ways = ways_to_mention("docs", (*LISTED, turned, hidden, long))

    assert [way for _, way in ways] == [
        *("@docs:one", '@docs:"Release plan"', "@docs:note://1", "@docs:note://2", "@docs:note://turned"),
    ]


@given(st.lists(st.builds(OfferedResource, uri=st.text(max_size=12), name=st.text(max_size=12)), max_size=6))
def test_what_is_offered_means_the_resource_that_it_was_offered_for(listed: list[OfferedResource]) -> None:
    unique = tuple({found.uri: found for found in listed}.values())
    for found, way in ways_to_mention("docs", unique):
        (mention,) = mentions_in(way)
        assert find_resource(mention.target, unique) == found


SERVER = ServerStatus(
    name="docs",
    resources=(
        OfferedResource(uri="note://one", name="one", description="The first\u202e one"),
        OfferedResource(uri="note://hid\u200bden", name="hid\u200bden"),
    ),
    templates=(ResourceTemplate(uri_template="note://{year}/{season}", name="seasons"),),
)


def labels(typed: str, sources: MentionSources) -> list[str]:
    found = typed_before(typed, len(typed))
    assert found is not None
    return [offer.label for offer in offers_for(found, sources)]


@given(st.lists(st.text(min_size=1, max_size=12).filter(lambda name: "/" not in name), max_size=6), st.text(max_size=3))
@example(["0 ", " 0", "a\\b "], "")
def test_every_path_that_is_offered_is_written_as_it_is_read(names: list[str], query: str) -> None:
    sources = MentionSources(paths=FolderPaths([*names, *(f"folder/{name}" for name in names)]))
    paths = [offer for offer in offers_for(TypedMention(0, "", query), sources) if offer.kind in ("file", "folder")]
    for offer in paths:
        (read,) = paths_in(f"Read {offer.written} now")
        assert read.path == offer.label


def test_sessions_of_one_title_are_written_by_their_ids() -> None:
    sessions = (
        OfferedSession("01A", "Fix", "a"),
        OfferedSession("01B", "Fix", "b"),
        OfferedSession("01C", "Add it", "c"),
    )
    sources = MentionSources(paths=FolderPaths(), sessions=sessions)
    written = [offer.written for offer in offers_for(TypedMention(0, "session", ""), sources)]

    assert written == ["@session:01A", "@session:01B", '@session:"Add it"']


def test_a_server_of_that_name_comes_before_sessions() -> None:
    server = ServerStatus(name="session", resources=(OfferedResource(uri="x://1", name="mine"),))
    sources = MentionSources(paths=FolderPaths(), sessions=(OfferedSession("1", "Fix", ""),), servers=(server,))

    assert labels("@session:", sources) == ["mine"]


def test_resources_that_hide_characters_are_not_offered_and_their_words_are_named() -> None:
    sources = MentionSources(paths=FolderPaths(), servers=(SERVER,))
    (one, template) = offers_for(TypedMention(0, "docs", ""), sources)

    assert (one.written, one.detail) == ("@docs:one", "The first⟨U+202E⟩ one")
    assert (template.written, template.is_whole) == ("@docs:note://", False)
    assert labels("@docs:note://o", sources) == ["one"]


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("note://", ("year", "", ())),
        ("note://20", ("year", "20", ())),
        ("note://2026/s", ("season", "s", (("year", "2026"),))),
        ("other://", None),
    ],
)
def test_the_part_of_a_template_that_is_typed(target: str, part: tuple[str, str, object] | None) -> None:
    found = part_typed(target, SERVER.templates)

    assert (found and (found.name, found.value, found.others)) == part


def test_what_a_server_completes_is_written_up_to_the_next_part() -> None:
    assert _completed("note://20", ["2026", "20\u200b", "2 0"]) == [("@docs:note://2026/", False)]
    assert _completed("note://2026/s", ["summer"]) == [("@docs:note://2026/summer", True)]


def _completed(target: str, values: list[str]) -> list[tuple[str, bool]]:
    part = part_typed(target, SERVER.templates)
    assert part is not None
    return [(offer.written, offer.is_whole) for offer in completed("docs", part, values)]


def test_folders_are_offered_with_what_lies_in_them() -> None:
    sources = MentionSources(paths=FolderPaths(["a/b/c.py", "a/d.py", ".hidden", "z.py"]))

    assert labels("@", sources) == ["a/", "z.py", ".hidden", "symbol:"]
    assert labels("@a/", sources) == ["a/b/", "a/d.py"]
    assert labels("@a/b", sources) == ["a/b/", "a/b/c.py"]


def test_lines_behind_a_path_are_no_question() -> None:
    assert typed_before("@a.py:10", 8) is None
    assert typed_before('@"my no', 7) == TypedMention(0, "", "my no")


def test_symbols_stand_behind_the_best_files_and_everything_else() -> None:
    sources = MentionSources(
        paths=FolderPaths([f"load{number}.py" for number in range(7)]), sessions=(OfferedSession("1", "Load it", ""),)
    )
    offers = offers_for(TypedMention(0, "", "load"), sources)
    symbols = [MentionOffer(kind="class", label="Load", written="@symbol:a.py:Load")]
    names = [offer.label for offer in with_symbols(offers, symbols)]

    assert names[4:9] == ["load4.py", "Load it", "Load", "load5.py", "load6.py"]
    assert with_symbols((), symbols) == tuple(symbols)


def test_mentions_of_sessions_are_read_as_they_are_written() -> None:
    (read,) = mentions_in('See @session:"Add it".')
    assert (read.source, read.target) == ("session", "Add it")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@docs:readme", [("docs", "readme")]),
        ("Read @docs:note://one, then go.", [("docs", "note://one")]),
        ('See (@docs:"Release \\"notes\\"").', [("docs", 'Release "notes"')]),
        ("@docs:wiki/Foo_(bar) (or @docs:b)", [("docs", "wiki/Foo_(bar)"), ("docs", "b")]),
        ("@a:x\n@b:y?", [("a", "x"), ("b", "y")]),
        ("mail me@example.org:8080 or a@docs:x", []),
        ("look at @src/app.py and @docs", []),
        ("@docs: nothing", []),
        ("`@docs:x` and ``a ` @docs:x``", []),
        ("```\n@docs:x\n```\n@docs:y", [("docs", "y")]),
        ("~~~\n @docs:x", []),
        ("@docs:...", []),
    ],
)
def test_mentions_stand_behind_a_blank_and_end_before_punctuation(text: str, meant: list[tuple[str, str]]) -> None:
    assert [(mention.source, mention.target) for mention in mentions_in(text)] == meant


def test_a_mention_says_where_and_how_it_stands_in_the_text() -> None:
    text = 'Say "@docs:a", and @docs:"b c".'

    assert [text[mention.start :].startswith(mention.written) for mention in mentions_in(text)] == [True, True]
    assert [mention.written for mention in mentions_in(text)] == ["@docs:a", '@docs:"b c"']


TARGETS = st.text(min_size=1, max_size=40).filter(
    lambda text: not has_hidden(text) and text.strip() and "\t" not in text
)


@given(
    TARGETS.filter(lambda text: "\n" not in text),
    st.sampled_from(["", "Read ", "(", "\n"]),
    st.sampled_from(["", " now", ". So"]),
)
def test_what_is_written_for_a_target_means_that_target(target: str, before: str, after: str) -> None:
    found = mentions_in(f"{before}{written('docs', target)}{after}")

    assert [(mention.source, mention.target) for mention in found] == [("docs", target)]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for mention in mentions_in(text):
        assert text[mention.start : mention.start + len(mention.written)] == mention.written
    typed_before(text, len(text))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("@", TypedMention(0, "", "")),
        ("see @do", TypedMention(4, "", "do")),
        ("see @docs:", TypedMention(4, "docs", "")),
        ("see @docs:note://o", TypedMention(4, "docs", "note://o")),
        ('see @docs:"Release n', TypedMention(4, "docs", "Release n")),
        ("me@do", None),
        ("@docs:one two", None),
        ('@docs:"one" two', None),
        ("`@do", None),
        ("@do\nx", None),
    ],
)
def test_what_is_being_typed_is_read_up_to_the_cursor(text: str, typed: TypedMention | None) -> None:
    assert typed_before(text + "", len(text)) == typed


@pytest.mark.parametrize(
    ("text", "path", "lines", "written"),
    [
        ("@README.md", "README.md", "", "@README.md"),
        ("See @src/app.py.", "src/app.py", "", "@src/app.py"),
        ("(@src/app.py:10-40)", "src/app.py", "10-40", "@src/app.py:10-40"),
        ("@src/app.py:7, and", "src/app.py", "7", "@src/app.py:7"),
        ("@src/app.py:40-10", "src/app.py", "10-40", "@src/app.py:40-10"),
        ("@src/core/ has", "src/core/", "", "@src/core/"),
        ("@app/(group)/page.tsx", "app/(group)/page.tsx", "", "@app/(group)/page.tsx"),
        ("@app.py's end", "app.py", "", "@app.py"),
        ('@"my notes.md":3-4 say', "my notes.md", "3-4", '@"my notes.md":3-4'),
        (r'@"a \"b\".md"', 'a "b".md', "", r'@"a \"b\".md"'),
    ],
)
def test_a_path_is_read_with_its_lines(text: str, path: str, lines: str, written: str) -> None:
    (found,) = paths_in(text)

    assert (found.path, found.lines, found.written) == (path, lines, written)
    assert found.is_certain


@pytest.mark.parametrize(
    "text",
    [
        "@property",
        "@app.route('/')",
        "@types/node",
        "@angular/core",
        "@docs:readme.md",
        "@components/Button",
        "@Makefile",
    ],
)
def test_what_may_mean_something_else_is_not_certain(text: str) -> None:
    assert [found.is_certain for found in paths_in(text)] == [False]


@pytest.mark.parametrize("text", ["me@example.org", "`@a.py`", "```\n@a.py\n```", "@ a.py", '@"" x', "@@a.py", "@..."])
def test_these_are_no_mentions(text: str) -> None:
    assert paths_in(text) == ()


@given(
    st.text(min_size=1, max_size=40).filter(
        lambda text: not has_hidden(text) and text.strip() and "\n" not in text and "\t" not in text
    ),
    st.sampled_from([("", 0, 0), (":3", 3, 3), (":10-40", 10, 40)]),
    st.sampled_from(["", "Read ", "(", "\n"]),
    st.sampled_from(["", " now", ". So"]),
)
def test_what_is_written_for_a_path_means_that_path(
    path: str, lines: tuple[str, int, int], before: str, after: str
) -> None:
    written, first, last = lines
    (found,) = paths_in(f"{before}{written_path(path)}{written}{after}")

    assert (found.path, found.first, found.last) == (path, first, last)


@given(st.text(max_size=200))
def test_any_text_can_be_read_for_paths(text: str) -> None:
    for found in paths_in(text):
        assert text[found.start : found.start + len(found.written)] == found.written
