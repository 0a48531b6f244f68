"""A file that went and one that came are one that was renamed, as far as that can be determined."""

from collections.abc import Collection, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.capture.transitions import Entry, Touched, with_renames

PATHS = st.sets(st.sampled_from([f"{folder}/{name}" for folder in "abcd" for name in "xyz"]))


class NothingElse:
    """A folder in which the command touched every file."""

    def contents(self, sizes: Collection[int]) -> Mapping[str, Collection[str]]:
        del sizes
        return {}

    def neighbours(self, folder: str, sizes: range) -> Sequence[Entry]:
        del folder, sizes
        return ()


def entry(path: str, inode: int, digest: str = "same") -> Entry:
    return Entry(path=path, signature=(1, inode, 5, inode, 0o100644), digest=digest)


def moves(gone: list[str], came: list[str]) -> dict[str, str]:
    """What is found renamed when files of one content go and come, each with an inode of its own."""
    touched = [Touched(path, entry(path, number), None) for number, path in enumerate(gone, 1)]
    touched += [Touched(path, None, entry(path, 10**6 + number)) for number, path in enumerate(came)]
    found = with_renames(touched, lambda _: b"equal", NothingElse())
    pairs = {item.path: item.moved_to for item in found if item.moved_to}
    assert {item.moved_from: item.path for item in found if item.moved_from} == pairs
    return pairs


def test_of_files_with_one_content_those_of_a_name_are_paired() -> None:
    assert moves(["a/x", "a/y"], ["b/y", "b/x"]) == {"a/x": "b/x", "a/y": "b/y"}


def test_the_last_two_are_paired_whatever_they_are_called() -> None:
    assert moves(["a/x", "a/y"], ["b/x", "b/z"]) == {"a/x": "b/x", "a/y": "b/z"}


def test_which_of_two_with_one_name_went_where_is_not_guessed() -> None:
    assert moves(["a/x", "b/x"], ["c/x", "d/x"]) == {}
    assert moves(["a/x", "b/x"], ["c/x"]) == {}


@given(PATHS, PATHS)
def test_no_file_goes_to_two_places_and_none_is_the_end_of_two(gone: set[str], came: set[str]) -> None:
    pairs = moves(sorted(gone), sorted(came - gone))
    assert pairs.keys() <= gone
    assert len(set(pairs.values())) == len(pairs)


def test_thousands_of_files_with_one_content_are_told_apart_by_name() -> None:
    gone, came = [f"a/{number}" for number in range(20_000)], [f"b/{number}" for number in range(20_000)]
    assert len(moves(gone, came)) == 20_000
