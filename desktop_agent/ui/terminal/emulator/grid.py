"""The rows of a screen, and what moves, erases and scrolls them."""

from desktop_agent.ui.terminal.emulator.rows import Row
from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle


class Grid:
    """As many rows as the screen is high. Places are checked by the caller."""

    def __init__(self, height: int, columns: int) -> None:
        self.rows = [Row(columns) for _ in range(height)]
        self.columns = columns

    def scroll_up(self, top: int, bottom: int, count: int, look: PrintedStyle) -> list[Row]:
        """Move the rows from `top` to `bottom` (inside) up, and return those that leave."""
        count = min(count, bottom - top + 1)
        left = self.rows[top : top + count]
        del self.rows[top : top + count]
        after = bottom - count + 1
        self.rows[after:after] = [Row(self.columns, look) for _ in range(count)]
        return left

    def scroll_down(self, top: int, bottom: int, count: int, look: PrintedStyle) -> None:
        """Move the rows from `top` to `bottom` (inside) down; those that leave are gone."""
        count = min(count, bottom - top + 1)
        del self.rows[bottom - count + 1 : bottom + 1]
        self.rows[top:top] = [Row(self.columns, look) for _ in range(count)]

    def erase(self, first: int, end: int, look: PrintedStyle) -> None:
        """Make rows blank."""
        for number in range(first, end):
            self.rows[number] = Row(self.columns, look)

    def fit(self, height: int, columns: int, cursor: int) -> list[Row]:
        """Have this size, and return the rows that leave at the top so that `cursor` stays on the screen."""
        for row in self.rows:
            row.fit(columns)
        self.columns = columns
        while len(self.rows) > max(height, cursor + 1):
            self.rows.pop()
        left = self.rows[: max(0, len(self.rows) - height)]
        del self.rows[: len(left)]
        self.rows += [Row(columns, PLAIN) for _ in range(height - len(self.rows))]
        return left
