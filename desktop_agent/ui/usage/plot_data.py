"""What plots show: plain values with their words. Made beside the window's thread, drawn in it."""

from collections.abc import Callable

from msgspec import Struct

from desktop_agent.ui.usage.scales import Scale


class Series(Struct, frozen=True, kw_only=True):
    """One part of every column, such as a model."""

    name: str
    colour: str
    """A role of the palette."""
    total: str
    """Of all columns, in words."""


class PlotColumn(Struct, frozen=True, kw_only=True):
    """One moment of a plot over time."""

    tick: str
    """What stands below it where there is room."""
    name: str
    """The day, or the days, in full."""
    parts: tuple[float, ...]
    """One for each series."""
    texts: tuple[str, ...]
    """The parts, in words."""
    total: str
    unknown: str = ""
    """What is missing in it because it is not known, in words; drawn as a hatched end."""


class ColumnData(Struct, frozen=True, kw_only=True):
    """A plot over time."""

    series: tuple[Series, ...]
    columns: tuple[PlotColumn, ...]
    scale: Scale
    tick_text: Callable[[float], str]
    """How the axis writes a value."""
    total: str
    """Of all columns, in words."""
    unknown: str = ""
    """What is missing in all of them."""


class PlotBar(Struct, frozen=True, kw_only=True):
    """One row of a plot: from nothing to `value`, or a range from `value` to `end`."""

    name: str
    value: float | None
    """None where it is not known."""
    end: float | None = None
    text: str
    """What stands at its end."""
    detail: str
    """All of it, in words."""


class BarData(Struct, frozen=True, kw_only=True):
    """A plot with a row for each thing, the largest first."""

    bars: tuple[PlotBar, ...]
    scale: Scale
    tick_text: Callable[[float], str]
    colour: str = "accent"
    note: str = ""
    """What the plot says of itself: what its marks are, or how many things are in the table only."""
    nothing: str = ""
    """What it says without a row."""
