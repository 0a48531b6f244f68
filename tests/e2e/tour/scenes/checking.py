"""A language server checks what the agent wrote: the new error is marked in the review, and the page lists the server.

The server is Ruff's own, as it is installed for the tests.
"""

import os
import sys
from pathlib import Path

from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.parts import visible_texts
from tests.servers.script import reply, text, tool_use

_TOTAL = "    def total(self):\n        total = 0\n"
_SUM = "    def total(self):\n        total = Decimal(0)\n"
_RETURN = "line.price\n        return total\n"
_ROUNDED = "line.price\n        return to_cents(total)\n"


def _install(_: Path) -> None:
    programs = Path.home() / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "ruff").symlink_to(Path(sys.executable).parent / "ruff")
    os.environ["PATH"] = f"{programs}:/usr/bin:/bin"


async def _play(tour: Tourist) -> None:
    await tour.send("Let the total of an order begin as a decimal.")
    await tour.allow()
    await tour.see_turn_end()
    tour.window.actions_.settings.trigger()
    dialog = await tour.see(SettingsDialog, "settingsDialog")
    dialog.show_section("diagnostics")
    await tour.until(lambda: any("Runs, and checks" in text for text in visible_texts(dialog)), "the server runs")
    await tour.take("settings-diagnostics", dialog)
    await tour.close(dialog)
    await tour.send("Round it to cents.")
    await tour.allow()
    await tour.see_turn_end()
    view = await tour.see(DiffView, "diffView")
    review = view.findChild(DiffReview)
    assert review
    await tour.until(lambda: len(review.hunks.keys) == 1, "the change is drawn")
    await tour.take("diagnostics")


CHECKING = Scene(
    states=("settings-diagnostics", "diagnostics"),
    play=_play,
    prepare=_install,
    settings="[diagnostics]\nwait_seconds = 30\n",
    answers=(
        reply(
            text("A sum of prices should never be a plain number."),
            tool_use("edit_file", path=orders.MODULE, old_str=_TOTAL, new_str=_SUM),
            input_tokens=5_100,
        ),
        reply(text("It begins as `Decimal(0)` now.")),
        reply(
            text("The total is a sum of products, so I round it once, at its end."),
            tool_use("edit_file", path=orders.MODULE, old_str=_RETURN, new_str=_ROUNDED),
            input_tokens=5_400,
        ),
        reply(text("Ruff reports that `to_cents` is not defined. I add it next, unless you want another name for it.")),
    ),
)
