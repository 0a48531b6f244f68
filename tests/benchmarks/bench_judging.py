"""The delay from a key in a command's field to the judgement on its card.

The real card, view and loop, with a real session that asks. `shown`: the card shows the judgement of the present text;
`whole`: *Allow* no longer waits for safety copies and scripts. The yardstick is the same key in a `QPlainTextEdit`,
painted.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.chat.cards.request_card import CardField
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.runtime import eventloop
from desktop_agent.ui.theme import Theme
from tests.harness import Ground, Open

LIMIT_MS: Final = 50.0
_PATIENCE_S: Final = 10.0
_BETWEEN_KEYS_S: Final = 0.05
"""Twenty keys a second, faster than people type."""

_SCRIPT = "\n".join(f"    total_{number} = compute(value, {number})  # step {number}" for number in range(198))
COMMANDS: Final[dict[str, str]] = {
    "a plain command": "git commit -m 'Fix page count' && git push",
    "a script of 200 lines": f"python3 - <<'EOF'\n{_SCRIPT}\nEOF",
    "a line of 6,000 characters": "touch " + " ".join(f"src/module_{number:04}.py" for number in range(315)),
}


@dataclass(slots=True)
class Times:
    shown: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    plain: list[float] = field(default_factory=list[float])


class Typing:
    def __init__(self, view: TranscriptView, s: Open) -> None:
        self._view = view
        self._session = s
        self._transcript = Transcript()
        self._delivered = 0
        view.show_transcript(self._transcript)
        view.entry_actions.approval_edited.connect(self._judge)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not is_so():
                for event in self._session.rx.events[self._delivered :]:
                    self._delivered += 1
                    self._view.row_layout.apply(self._transcript.apply(event))
                await asyncio.sleep(0.001)  # the judging thread needs time, too

    async def begin(self) -> tuple[ApprovalCard, CardField]:
        self._session.submit(ops.SubmitPrompt(text="go"))
        await self.until(lambda: bool(self._view.findChildren(ApprovalCard)))
        card = self._view.findChildren(ApprovalCard)[0]
        next(button for button in card.findChildren(QPushButton) if button.text() == "Edit").click()
        command = card.findChildren(CardField)[0]
        command.moveCursor(QTextCursor.MoveOperation.End)
        return card, command

    async def type(self, keys: int) -> Times:
        card, command = await self.begin()
        times = Times()
        for number in range(-2, keys):
            begun = time.perf_counter()
            QTest.keyClick(command, Qt.Key.Key_X)
            await self.until(lambda: card.question.unjudged is None)
            shown = time.perf_counter()
            await self.until(lambda: card.question.allowed("once").judged is not None)
            whole = time.perf_counter()
            await asyncio.sleep(_BETWEEN_KEYS_S)
            if number >= 0:  # the first ones import what they need
                times.shown.append((shown - begun) * 1_000)
                times.whole.append((whole - begun) * 1_000)
        return times

    def stop(self) -> None:
        [question] = self._session.rx.all(ev.ApprovalRequested)
        self._session.submit(ops.AnswerApproval(call_id=question.request.call_id, decision=Denied(message="")))

    def _judge(self, call_id: str, command: str) -> None:
        self._session.submit(ops.JudgeCommand(call_id=call_id, command=command))


def type_plainly(app: QApplication, text: str, keys: int) -> list[float]:
    plain = QPlainTextEdit(text)
    plain.resize(620, 160)
    plain.show()
    plain.moveCursor(QTextCursor.MoveOperation.End)
    app.processEvents()
    times: list[float] = []
    for _ in range(keys):
        begun = time.perf_counter()
        QTest.keyClick(plain, Qt.Key.Key_X)
        plain.viewport().repaint()
        times.append((time.perf_counter() - begun) * 1_000)
    plain.close()
    plain.deleteLater()
    return times


@pytest.mark.parametrize("shape", COMMANDS)
def test_the_judgement_follows_the_text_as_it_is_typed(
    qapp: QApplication, tmp_path: Path, is_nightly: bool, shape: str
) -> None:
    keys = 60 if is_nightly else 20
    command = COMMANDS[shape]
    found: list[Times] = []

    async def live() -> int:
        theme = Theme(qapp, "light")
        theme.install()
        view = TranscriptView(theme)
        view.resize(760, 700)
        view.show()
        ground = Ground(tmp_path)
        ground.write("src/module_0000.py", "x = 1\n")
        call = Call("run_terminal_cmd", {"command": command, "is_background": False})
        try:
            async with ground.session([[call], [Say("ok")]], approval="always") as s:
                typing = Typing(view, s)
                found.append(await typing.type(keys))
                found[0].plain = type_plainly(qapp, command, keys)
                typing.stop()
                await s.rx.expect(ev.TurnEnded)
        finally:
            view.close()
            view.deleteLater()
        return 0

    assert eventloop.run(qapp, live) == 0
    [times] = found
    print(
        f"{shape:28} {len(command):6} characters | shown after {median(times.shown):.1f} ms, 95 of 100 below"
        f" {quantiles(times.shown, n=20)[-1]:.1f} ms | whole after {median(times.whole):.1f} ms"
        f" | the key in a plain field {median(times.plain):.1f} ms | limit {LIMIT_MS:.0f} ms"
    )
    assert median(times.shown) <= LIMIT_MS
