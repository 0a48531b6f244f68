"""Preloading imports in pieces that are short enough for a window."""

import subprocess
import sys
from importlib.util import find_spec

from desktop_agent.app.startup.preloading import CORE_USED_SOON, LOADED_LAST, WIDGETS_USED_SOON

_STEPS = """
import sys
from importlib import import_module
import desktop_agent.app.window_panels
import desktop_agent.ui.chat.transcript.factory
import desktop_agent.ui.review.review_content
from desktop_agent.app.startup.preloading import WIDGETS_USED_SOON

def loaded():
    return {name for name, module in sys.modules.items()
            if name.startswith("desktop_agent.ui.") and not hasattr(module, "__path__")}

for name in WIDGETS_USED_SOON:
    before = loaded()
    import_module(name)
    print(name, *loaded() - before)
"""


def test_no_step_imports_more_than_two_modules_of_widgets() -> None:
    told = subprocess.run(  # noqa: TID251 - a fresh interpreter is the point
        [sys.executable, "-c", _STEPS], stdout=subprocess.PIPE, check=True, text=True, timeout=120
    ).stdout
    steps = [line.split() for line in told.splitlines()]
    assert len(steps) > 20
    assert [step for step in steps if len(step) > 3] == []


def test_every_module_that_is_named_is_there() -> None:
    names = (*CORE_USED_SOON, *WIDGETS_USED_SOON, *LOADED_LAST)
    assert [name for name in names if find_spec(name) is None] == []
