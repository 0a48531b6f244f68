"""Stacked heights agree with adding them up."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.ui.chat.heights import Heights

CHANGES = st.lists(st.tuples(st.sampled_from(["set", "append", "remove", "replace", "ask"]), st.integers(0, 30)))


@given(st.lists(st.integers(0, 50), max_size=30), CHANGES)
def test_positions_are_sums_whatever_happened_before(first: list[int], changes: list[tuple[str, int]]) -> None:
    heights, plain = Heights(), list(first)
    heights.replace(0, first)
    for what, number in changes:
        at = number % len(plain) if plain else 0
        match what:
            case "set" if plain:
                heights.set(at, number)
                plain[at] = number
            case "append":
                heights.splice(len(plain), 0, (number,))
                plain.append(number)
            case "remove" if plain:
                heights.splice(at, 1, ())
                del plain[at]
            case "replace":
                heights.replace(at, [number, 7])
                plain[at:] = [number, 7]
            case _:
                assert heights.total == sum(plain)
    tops = [0, *accumulate(plain)]
    assert heights.total == tops[-1]
    assert [heights.top(index) for index in range(len(plain) + 1)] == tops
    for y in range(-5, tops[-1] + 10, 3):
        index = heights.at(y)
        if not plain:
            assert index == -1
        elif 0 <= y < tops[-1]:
            assert tops[index] <= y < tops[index + 1]
        elif y >= tops[-1]:
            assert index == len(plain) - 1
