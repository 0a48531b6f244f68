"""How long a key of a mention blocks the window, and when its answer is there, among 100,000 files.

A *key* is the window thread's processor time for one key; a *stall* is the worst delay of a 4 ms timer. The yardstick
of an answer is one pass over all paths for the letters; the yardstick of symbols, which are found on the disk while
the user types, is ripgrep over the same files. A frame is 16.7 ms.
"""

import asyncio
import gc
import os
import statistics
import subprocess
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from desktop_agent.app.mention_finding import SymbolFinding
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.mentions.offers import FolderPaths, MentionSources, offers_for
from desktop_agent.core.tools.files.ripgrep import find_ripgrep
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from tests.benchmarks.floors import FRAME_MS, idle_beside, took_ms
from tests.benchmarks.measuring import Typing, driven, print_answers, print_keys, silent

FILES = 100_000
WORDS = ("@t", "@turn", "@sesrun", "@core/se/run", "@zzzz")
"""Everything, a word, initials, parts of a path, and letters without a match."""
SYMBOL_WORDS = ("@turn", "@load_4711", "@zzzz")
"""A word in many names, one name, and letters without a match."""
_PARTS = ("core", "session", "turn", "runner", "search", "files", "view", "model", "panel", "store", "journal", "tests")


def paths() -> list[str]:
    found: list[str] = []
    for number in range(FILES):
        parts = [_PARTS[(number * step + step) % len(_PARTS)] for step in (1, 3, 7, 11)[: 2 + number % 3]]
        found.append(f"{'/'.join(parts)}/{_PARTS[number % 11]}_{_PARTS[number % 7]}{number}.py")
    return found


def write_code(root: Path, listed: list[str]) -> None:
    for number, path in enumerate(listed):
        first, second = _PARTS[number % 12], _PARTS[number % 5]
        calls = "".join(f"    {first}.{second}_{line}(value, {line})\n" for line in range(number % 40))
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(
            f"import {first}\n\nMOST_{number} = {number}\n\n\nclass {first.title()}{number}:\n"
            f"    def {second}(self):\n        return 1\n\n\ndef load_{number}(value):\n{calls}    return value\n"
        )


class Mentioning(Typing):
    def __init__(
        self, app: QApplication, files: FolderPaths, words: tuple[str, ...] = WORDS, folder: Path | None = None
    ) -> None:
        window = QWidget()
        super().__init__(app, window, words)
        self._sources = MentionSources(paths=files)
        layout = QVBoxLayout(window)
        layout.addStretch(1)
        self._composer = Composer(self.theme)
        layout.addWidget(self._composer)
        window.resize(800, 700)
        mentions = self._composer.mentions
        mentions.wanted.connect(self._on_wanted)
        mentions.set_known(files.has, frozenset())
        spawn = partial(silent, self.spawner.spawn)
        SymbolFinding(mentions, lambda: folder, os.environ, SystemClock(), spawn)

    def _on_wanted(self, typed: TypedMention) -> None:
        self.spawner.spawn(self._answer(typed))

    async def _answer(self, typed: TypedMention) -> None:
        self._composer.mentions.show(typed, await asyncio.to_thread(offers_for, typed, self._sources))

    def cleared_field(self, word: str) -> QWidget:
        self._composer.set_text("")
        return self._composer.edit

    def has_first(self) -> bool:
        popups = [each for each in self._composer.window().findChildren(MentionPopup) if each.isVisible()]
        offers = popups[0].offers if popups else ()
        return any(offer.written.startswith("@symbol:") and offer.detail for offer in offers)


def yardstick_ms(lower: list[str]) -> float:
    return took_ms(lambda: [path for path in lower if "turn" in path])


def test_typing_a_mention_among_very_many_files(is_nightly: bool, qapp: QApplication) -> None:
    repeats = 5 if is_nightly else 2
    listed = paths()
    lower = [path.lower() for path in listed]
    yardstick = statistics.median(yardstick_ms(lower) for _ in range(5))
    built = took_ms(lambda: FolderPaths(listed))
    files = FolderPaths(listed)
    ranked: dict[str, float] = {}
    for word in WORDS:
        rank = partial(offers_for, TypedMention(0, "", word[1:]), MentionSources(paths=files))
        ranked[word] = statistics.median(took_ms(rank) for _ in range(repeats))
    gc.collect()
    gc.freeze()  # as the application does once its imports are done
    with idle_beside() as floor:
        typing = [driven(Mentioning(qapp, files), qapp) for _ in range(repeats)]
    print(f"{FILES:,} files; {repeats} times; yardstick {yardstick:.1f} ms; prepared in {built:.0f} ms")
    worst_key_ms = print_keys(typing, floor)
    print_answers(typing, ranked, yardstick)
    assert worst_key_ms < FRAME_MS


def ripgrep_ms(folder: Path, word: str) -> float:
    command = [find_ripgrep(os.environ) or "", "--line-number", "--ignore-case", word, "."]
    return took_ms(lambda: subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False))  # noqa: TID251


@pytest.mark.skipif(find_ripgrep(os.environ) is None, reason="ripgrep is not installed")
def test_symbols_come_in_while_a_mention_is_typed_among_very_many_files(
    is_nightly: bool, qapp: QApplication, tmp_path: Path
) -> None:
    repeats = 5 if is_nightly else 2
    listed = paths()
    write_code(tmp_path, listed)
    files = FolderPaths(listed)
    for word in SYMBOL_WORDS:
        ripgrep_ms(tmp_path, word[1:])  # the files are in memory from here on
    gc.collect()
    gc.freeze()
    typing: list[Mentioning] = []
    yardsticks: dict[str, list[float]] = {word: [] for word in SYMBOL_WORDS}
    with idle_beside() as floor:
        for _ in range(repeats):
            for word in SYMBOL_WORDS:
                yardsticks[word].append(ripgrep_ms(tmp_path, word[1:]))
            typing.append(driven(Mentioning(qapp, files, SYMBOL_WORDS, tmp_path), qapp))
    print(f"symbols of {FILES:,} files; {repeats} times")
    worst_key_ms = print_keys(typing, floor)
    for word in SYMBOL_WORDS:
        yardstick = statistics.median(yardsticks[word])
        all_shown = statistics.median(one.answers_ms[word] for one in typing)
        first = [one.first_ms[word] for one in typing if word in one.first_ms]
        first_shown = f"{statistics.median(first):5.0f} ms" if first else "none"
        ratio = all_shown / yardstick
        print(f"{word:14} ripgrep {yardstick:5.0f} ms; first {first_shown}; all {all_shown:5.0f} ms, {ratio:.2f} ×")
    assert worst_key_ms < FRAME_MS
