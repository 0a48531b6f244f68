"""How long the real window freezes during an answer of 500 pieces a second: in each wire format, and of an agent.

A timer of 1 ms measures delays. The limit is on *own work*, the processor time of the window's thread between two
beats, since other programs cause delays, too. The floor is an idle process. The server is a process of its own.
"""

import json
import os
import random
import sys
from pathlib import Path
from statistics import median
from typing import Final

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.system.processes.shell import joined_words
from tests.benchmarks.bench_chat import markdown
from tests.benchmarks.floors import FRAME_MS, idle_beside
from tests.benchmarks.measuring import Beat, Heart
from tests.benchmarks.paced_server import paced
from tests.core.agents.scene import PROGRAM
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import reply, text, thinking

RATE: Final = 500
PIECE_CHARS: Final = 5
ROUNDS: Final = 5
"""The limits apply to the first round, with its first uses, and to the best one, without other programs' delays."""

DIALECTS: Final[dict[str, Dialect]] = {
    "anthropic": ANTHROPIC,
    "anthropic, SDK": ANTHROPIC,  # the first round starts the process of the SDK
    "openai": RESPONSES,
    "openai-chat": CHAT,
}


Round = list[Beat]
"""The worst beat of each stretch of an answer."""


def told(found: Round) -> str:
    figures = ("late", [beat.late for beat in found]), ("own work", [beat.work for beat in found])
    return " | ".join(
        f"{name} median {median(each):.1f}, longest {max(each):.1f} ms, over a frame"
        f" {sum(took > FRAME_MS for took in each)} of {len(each)}"
        for name, each in figures
    )


async def ask(user: Driver) -> Round:
    heart = Heart()
    turn = user.transcript.turn + 1
    await user.type("composer", "Tell me.")
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.transcript.turn == turn, "the turn begins")
    heart.start()
    found: Round = []
    while user.transcript.turns.is_running:
        await user.pause()
        found.append(heart.worst())
    await user.pause()
    found.append(heart.worst())  # what is done at the end of a turn
    heart.stop()
    assert user.transcript.turns.last_end == "completed"
    return found


@pytest.mark.parametrize("provider", DIALECTS)
def test_an_answer_at_500_pieces_a_second_does_not_stop_the_window(
    provider: str, tmp_path: Path, qapp: QApplication, is_nightly: bool, monkeypatch: pytest.MonkeyPatch,
    expected_logs: list[str],
) -> None:  # fmt: skip
    expected_logs.append("the window stands still")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789abcdef")
    ask_for_no_titles()
    vendor, _, client = provider.partition(", ")
    if client:
        save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.client", value="sdk")
    said = answer_of(20 if is_nightly else 4)
    answer = reply(thinking("Let me see. " * 40, signature="c2ln", piece=PIECE_CHARS), text(said, piece=PIECE_CHARS))
    argv = [str(tmp_path), "--provider", vendor, "--model", "m", "--base-url"]
    with paced(answer, DIALECTS[provider], tmp_path, RATE) as url:
        judge_rounds(provider, [*argv, url], tmp_path)


def test_an_agent_that_tells_500_updates_a_second_does_not_stop_the_window(
    tmp_path: Path, qapp: QApplication, is_nightly: bool, expected_logs: list[str]
) -> None:
    expected_logs.append("the window stands still")
    step = {"stream": answer_of(20 if is_nightly else 4), "piece": PIECE_CHARS, "rate": RATE}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"prompts": [[step]] * ROUNDS}))
    settings = AppPaths.from_environment(os.environ).settings_file()
    save_setting(settings, "model.provider", "acp")
    save_setting(settings, "model.name", joined_words((sys.executable, str(PROGRAM), str(script))))
    judge_rounds("agent", [str(tmp_path)], tmp_path)


def answer_of(seconds: int) -> str:
    return markdown(random.Random(1), seconds * RATE * PIECE_CHARS)


def judge_rounds(provider: str, argv: list[str], tmp_path: Path) -> None:
    rounds: list[Round] = []

    async def journey(user: Driver) -> None:
        await user.see_ready()
        rounds.extend([await ask(user) for _ in range(ROUNDS)])
        await user.quit()

    with idle_beside() as idle:
        drive(argv, tmp_path / "album", journey)
    for number, found in enumerate(rounds, 1):
        print(f"{provider:14} {number}: {told(found)} | floor of all {idle.worst_ms:.1f} ms")
    longest = [max(beat.work for beat in found) for found in rounds]
    assert longest[0] <= FRAME_MS
    assert min(longest) <= FRAME_MS
