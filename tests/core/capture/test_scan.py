"""A folder is halved, and what two walks found is put together again."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.capture.scan import Known, KnownFolder, Scan, Signature, below, half_of, pieces_of_scan


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=5), st.integers(0, 400)), max_size=40))
def test_a_half_is_never_more_than_half_and_no_folder_is_in_it_twice(
    folders: list[tuple[list[str], int]],
) -> None:
    known: Known = {"": KnownFolder(mode=0)}
    for parts, files in folders:
        for depth in range(1, len(parts) + 1):
            path, parent = "/".join(parts[:depth]), "/".join(parts[: depth - 1])
            if path not in known:
                known[path] = KnownFolder(mode=0)
                known[parent].folders += (parts[depth - 1],)
        known["/".join(parts)].files = dict.fromkeys(map(str, range(files)), (0, 0, 0, 0, 0))
    half = list(below(known, half_of(known)))
    assert len({path for path, _ in half}) == len(half)
    cost = sum(len(folder.files) + 5 for _, folder in half)
    whole = sum(len(folder.files) + 5 for folder in known.values())
    assert cost <= whole / 2
    left = [sum(len(below_it.files) + 5 for _, below_it in below(known, [name])) for name in known[""].folders]
    assert half or not left or min(left) > whole / 2


def test_a_result_in_pieces_is_the_same_result() -> None:
    signature: Signature = (1, 2, 3, 4, 33_188)
    files: dict[str, Signature] = {f"{number}.txt": signature for number in range(5000)}
    scan = Scan(
        7,
        changed={f"a/{name}": signature for name in files},
        gone=["b"],
        file_count=5000,
        folders_left=3,
        unread={"a/1.txt"},
    )
    scan.listed = {"a": KnownFolder(mode=0, files=files), "c": KnownFolder(mode=0)}
    first, *rest = pieces_of_scan(scan)
    assert len(rest) == 5
    for piece in rest:
        first.add(piece)
    assert first == scan
