"""The numbers of actions in `docs/guide/journeys.md`."""

from pathlib import Path
from typing import NamedTuple

_PAGE = Path(__file__).parents[3] / "docs" / "guide" / "journeys.md"
_COLUMNS = "| what you want | by mouse | actions | with the keyboard | actions |"


class Stated(NamedTuple):
    mouse: int
    keyboard: int


def stated_actions() -> dict[str, Stated]:
    lines = _PAGE.read_text(encoding="utf-8").partition(_COLUMNS)[2].partition("\n\n")[0].splitlines()[2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {what: Stated(int(by_mouse), int(by_keyboard)) for what, _, by_mouse, _, by_keyboard in rows}
