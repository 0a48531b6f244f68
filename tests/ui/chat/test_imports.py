"""An empty window does not import what only messages need."""

import subprocess
import sys

HEAVY = ("markdown_it", "pygments", "pydantic", "asyncio", "desktop_agent.composition", "desktop_agent.core.session")


def run(script: str) -> str:
    done = subprocess.run(  # noqa: TID251 - a fresh interpreter is the point
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    return done.stdout.strip()


def test_the_empty_transcript_and_composer_import_nothing_heavy() -> None:
    script = (
        "import sys; from PySide6.QtWidgets import QApplication; app = QApplication([]);"
        "from desktop_agent.ui.theme import Theme; theme = Theme(app);"
        "from desktop_agent.ui.chat.composer.composer import Composer;"
        "from desktop_agent.ui.chat.transcript.view import TranscriptView;"
        "widgets = [TranscriptView(theme), Composer(theme)];"
        "[widget.show() for widget in widgets]; app.processEvents();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert run(script) == "[]"


def test_warming_up_loads_the_readers() -> None:
    script = (
        "import sys; from desktop_agent.ui.chat.markdown.markdown_stream import warm_up; warm_up();"
        "print('markdown_it' in sys.modules, 'pygments.lexers.python' in sys.modules)"
    )
    assert run(script) == "True True"
