"""A plot with its title, and what is said of its current item beside it."""

from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.usage.bar_plot import BarPlot
from desktop_agent.ui.usage.column_plot import ColumnPlot
from desktop_agent.ui.usage.legend import Legend
from desktop_agent.ui.usage.plot import Plot
from desktop_agent.ui.usage.plot_data import BarData, ColumnData
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.wording.tooltips import plain_tooltip


class _Card(QWidget):
    """A title, a line of words, and a plot below. What the line says is the description of the plot, too."""

    def __init__(self, title: str, plot: Plot, object_name: str) -> None:
        super().__init__()
        self._plot = plot
        plot.setObjectName(object_name)
        plot.setAccessibleName(title)
        self._heading = make_label(title, role="strong")
        self._heading.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._said = ElidedLabel()
        self._said.setProperty("role", "secondary")
        self._said.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        plot.current_changed.connect(self._on_current)

    def say(self, text: str) -> None:
        """Say this of the current item, or of all."""
        self._said.setText(text.replace("\N{NARROW NO-BREAK SPACE}", " "))  # a label names what cannot be seen
        self._said.setToolTip(plain_tooltip(text))  # all of it, where there is no room for it
        self._plot.setAccessibleDescription(text)

    def show_data(self, data: ColumnData | BarData) -> None:
        """Show this, which is of the card's own kind."""
        raise NotImplementedError

    def _on_current(self, current: int) -> None:
        raise NotImplementedError


class ColumnCard(_Card):
    """A plot over time with its legend, which has the values of the current column."""

    def __init__(self, theme: Theme, title: str, object_name: str) -> None:
        self._columns = ColumnPlot(theme)
        super().__init__(title, self._columns, object_name)
        self._legend = Legend(theme)
        self._data: ColumnData | None = None
        head = hbox(self._heading, (self._said, 1), spacing=Space.M)
        vbox(head, hbox((self._columns, 1), self._legend, spacing=Space.M), on=self, spacing=Space.XS)

    def show_data(self, data: ColumnData | BarData) -> None:
        assert isinstance(data, ColumnData)
        self._data = data
        self._columns.show_columns(data)

    def _on_current(self, current: int) -> None:
        if (data := self._data) is None:
            return
        self._legend.show_values(data, current)
        if current < 0:
            self.say(data.total)
            return
        column = data.columns[current]
        self.say(f"{column.name} · {column.total}")
        named = zip(data.series, column.parts, column.texts, strict=True)
        parts = [f"{series.name} {text}" for series, part, text in named if part or column.unknown]
        if column.unknown:
            parts.append(self.tr("price of {0} not known").format(column.unknown))
        self._columns.setAccessibleDescription(", ".join([f"{column.name}: {column.total}", *parts]))


class BarCard(_Card):
    """A plot with a row for each thing."""

    def __init__(self, theme: Theme, title: str, object_name: str) -> None:
        self._bars = BarPlot(theme)
        super().__init__(title, self._bars, object_name)
        self._data: BarData | None = None
        vbox(self._heading, self._said, self._bars, on=self, spacing=Space.XS)

    def show_data(self, data: ColumnData | BarData) -> None:
        assert isinstance(data, BarData)
        self._data = data
        self._bars.show_bars(data)

    def _on_current(self, current: int) -> None:
        if (data := self._data) is None:
            return
        if current < 0:
            self.say(data.note if data.bars else data.nothing)
            return
        bar = data.bars[current]
        self.say(bar.detail)
        self._bars.setAccessibleDescription(f"{bar.name}: {bar.detail}")
