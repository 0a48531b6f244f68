import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.ui.usage.usage_figures import scale_to, time_scale

amounts = st.floats(1e-6, 1e12)


@given(amounts, st.floats(0, 1))
def test_an_axis_has_few_even_steps_and_room_for_the_greatest(greatest: float, share: float) -> None:
    scale = scale_to(greatest)
    steps = {round(b - a, 9) / scale.ticks[1] for a, b in zip(scale.ticks, scale.ticks[1:], strict=False)}
    assert scale.ticks[0] == 0
    assert 2 <= len(scale.ticks) - 1 <= 5
    assert all(step == pytest.approx(1, rel=1e-3) for step in steps)
    assert greatest <= scale.ticks[-1] * (1 + 1e-6)
    assert scale.ticks[-1] <= 2 * greatest
    assert scale.place(share * greatest) == pytest.approx(share * greatest / scale.ticks[-1], abs=1e-6)


@given(st.floats(1e-4, 1e5), st.floats(1e-4, 1e5))
def test_times_are_between_round_times(one: float, other: float) -> None:
    least, greatest = sorted((one, other))
    scale = time_scale(least, greatest)
    assert len(scale.ticks) >= 2
    assert 0 <= scale.place(least) <= scale.place(greatest) <= 1
    assert scale.place(scale.ticks[0]) == 0
    assert scale.place(scale.ticks[-1]) == 1
    assert greatest <= scale.ticks[-1]


@pytest.mark.parametrize(
    ("greatest", "ticks"),
    [(20.1, (0, 5, 10, 15, 20, 25)), (3, (0, 1, 2, 3)), (0.09, (0, 0.05, 0.1)), (100, (0, 50, 100))],
)
def test_axes_end_little_above_the_greatest(greatest: float, ticks: tuple[float, ...]) -> None:
    assert scale_to(greatest).ticks == ticks


@pytest.mark.parametrize(("greatest", "ticks"), [(0, (0, 1)), (1, (0, 1)), (3, (0, 1, 2, 3))])
def test_an_axis_of_counts_has_whole_steps_also_of_nothing(greatest: float, ticks: tuple[float, ...]) -> None:
    assert scale_to(greatest, least_step=1.0).ticks == ticks
