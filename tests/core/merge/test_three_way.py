"""Three versions side by side, and all texts that can be chosen from them."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.merge import MAX_BYTES, Choice, ThreeWay, compare_three, merge_bytes

BASE = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def three_of(base: bytes, wanted: bytes, yours: bytes) -> ThreeWay:
    three = compare_three(base, wanted, yours)
    assert three is not None
    return three


def result(three: ThreeWay, *choices: Choice) -> str:
    return "".join(line for lines in three.pieces(choices) for line in lines)


def test_what_one_side_changed_merges_and_what_both_did_clashes() -> None:
    three = three_of(
        BASE, BASE.replace(b"one", b"1").replace(b"five", b"5"), BASE.replace(b"five", b"V").replace(b"seven", b"VII")
    )
    assert [region.origin for region in three.regions] == ["wanted", "unchanged", "clash", "unchanged", "yours"]
    assert three.merged_count == 1
    assert result(three, "undecided") == "1\ntwo\nthree\nfour\nV\nsix\nVII\n"
    assert result(three, "yours") == "1\ntwo\nthree\nfour\nV\nsix\nVII\n"
    assert result(three, "wanted") == "1\ntwo\nthree\nfour\n5\nsix\nVII\n"
    assert result(three, "both") == "1\ntwo\nthree\nfour\n5\nV\nsix\nVII\n"


def test_what_both_did_alike_is_no_clash() -> None:
    three = three_of(BASE, BASE.replace(b"two", b"2"), BASE.replace(b"two", b"2"))
    assert three.clashes == ()
    assert result(three) == BASE.replace(b"two", b"2").decode()


def test_both_does_not_glue_lines_together_at_the_end_of_a_file() -> None:
    three = three_of(b"a\nb\n", b"a\nX", b"a\nY")
    assert result(three, "both") == "a\nX\nY"
    three = three_of(b"a\r\nb\r\n", b"a\r\nX", b"a\r\nY\r\n")
    assert result(three, "both") == "a\r\nX\r\nY\r\n"


def test_versions_that_are_no_text_too_long_or_encoded_otherwise_are_settled_as_a_whole() -> None:
    assert compare_three(b"a\0", b"b\0", b"c\0") is None
    assert compare_three(b"a\n", b"b\n", "c\n".encode("utf-16")) is None
    assert compare_three(b"a\n", b"b\n", b"c" * 6_000) is None
    assert compare_three(b"a\n", b"b\n", b"c\n" * (MAX_BYTES // 2)) is None


def test_utf_16_is_text() -> None:
    three = three_of(*(text.encode("utf-16-le") for text in ("\ufeffa\n", "\ufeffb\n", "\ufeffc\n")))
    assert result(three, "wanted") == "\ufeffb\n"


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\n", "\n"]), max_size=12).map(
    lambda lines: "".join(lines).encode()
)


@given(TEXTS, TEXTS, TEXTS)
def test_rows_cover_every_line_and_clashes_are_those_of_the_merge(base: bytes, wanted: bytes, yours: bytes) -> None:
    three = three_of(base, wanted, yours)
    for source in ("base", "wanted", "yours"):
        covered = [line for region in three.regions for line in three.lines(source)[region.of(source)]]
        assert tuple(covered) == three.lines(source)
    merged = merge_bytes(base, yours, wanted)
    assert merged is not None
    clashes = [piece for piece in merged.pieces if not isinstance(piece, bytes)]
    assert len(clashes) == len(three.clashes)
    if merged.is_clean:
        assert result(three).encode() == merged.content()
    choices: list[Choice] = ["wanted"] * len(clashes)
    assert result(three, *choices).encode() == b"".join(
        piece if isinstance(piece, bytes) else b"".join(piece.theirs) for piece in merged.pieces
    )
