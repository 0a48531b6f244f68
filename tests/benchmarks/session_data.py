"""Sessions of months of work for benchmarks: journals of 20 to 200 kB, written line by line.

Words follow Zipf's law as in prose and code: some are everywhere, most are rare.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

BEGIN = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
_VOCABULARY = 40_000
_SYLLABLES = ("ba", "co", "der", "fi", "gan", "hel", "in", "jo", "ket", "lor", "man", "nis", "or", "pla", "qui", "ras",
              "sto", "tur", "un", "ver", "wik", "xen", "yar", "zel")  # fmt: skip
_KINDS = (("read_file", 5), ("grep", 3), ("run_terminal_cmd", 3), ("edit_file", 3))


class Author:
    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        words = [self._word(rank) for rank in range(_VOCABULARY)]
        weights = list(accumulate(1 / (rank + 10) for rank in range(_VOCABULARY)))
        self._pool = [self._random.choices(words, cum_weights=weights, k=2_000) for _ in range(200)]

    @property
    def words(self) -> Iterator[str]:
        return (word for text in self._pool for word in text)

    def sessions(self, folder: Path, count: int, total_bytes: int | None = None) -> Iterator[Path]:
        """Write `count` sessions of 20 to 200 kB, or of `total_bytes` together; yield the journals."""
        for number in range(count):
            size = self._random.randint(20_000, 200_000) if total_bytes is None else total_bytes // count
            yield self.session(folder, number, size)

    def session(self, folder: Path, number: int, size: int) -> Path:
        """Write a session of about `size` bytes. Its first prompt contains the word `needleN`."""
        begun = BEGIN + timedelta(hours=2 * number)
        session_id = f"{begun:%Y%m%d-%H%M%S}-{number:06d}"
        path = folder / session_id / "journal.jsonl"
        path.parent.mkdir(parents=True)
        with path.open("w", encoding="utf-8") as file:
            written = 0
            for seq, (kind, fields) in enumerate(self._events(session_id, number), start=1):
                at = (begun + timedelta(seconds=3 * seq)).isoformat().replace("+00:00", "Z")
                head = {"v": 1, "seq": seq, "at": at, "type": kind}
                written += file.write(json.dumps(head | fields, separators=(",", ":")) + "\n")
                if written >= size and kind == "turn_ended":
                    break
        return path

    def _events(self, session_id: str, number: int) -> Iterator[tuple[str, dict[str, object]]]:
        model = {"provider": "anthropic", "model": "claude", "base_url": None}
        workspace = f"/home/somebody/code/project-{number % 12}"
        yield (
            "session_opened",
            {"session_id": session_id, "workspace": workspace, "model": model, "approval": "on_write",
             "app_version": "0.1.0", "sandbox": "restricted", "format": 1},
        )  # fmt: skip
        turn = 0
        while True:
            turn += 1
            asked = f"needle{number} {self._text(40)}" if turn == 1 else self._text(30)
            yield "prompt_submitted", {"turn": turn, "prompt_id": f"p-{turn}", "text": asked}
            yield "turn_started", {"turn": turn, "model": model}
            for request in range(self._random.randint(2, 8)):
                yield from self._request(turn, request, model)
            yield "turn_ended", {"turn": turn, "reason": "completed", "requests": 8, "duration_s": 61.5}

    def _request(self, turn: int, request: int, model: object) -> Iterator[tuple[str, dict[str, object]]]:
        (name,) = self._random.choices([kind for kind, _ in _KINDS], weights=[weight for _, weight in _KINDS])
        call_id = f"toolu_{turn}_{request}"
        path = f"src/{self._one()}/{self._one()}.py"
        arguments = {"command": f"pytest -q {path}"} if name == "run_terminal_cmd" else {"path": path}
        content = [
            {"type": "text", "text": self._text(60)},
            {"type": "tool_use", "id": call_id, "name": name, "arguments": arguments, "rejected": ""},
        ]
        usage = {"input_tokens": 800, "output_tokens": 200, "cache_read_tokens": 20_000, "cache_write_tokens": 500}
        usage |= {"cost_usd": 0.0123, "unpriced_tokens": 0}
        yield (
            "message_done",
            {"turn": turn, "message_id": f"m{turn}.{request}", "model": model, "content": content,
             "stop_reason": "tool_use"},
        )  # fmt: skip
        yield "usage_reported", {"turn": turn, "usage": usage, "model": model, "is_aside": False}
        yield (
            "tool_call_started",
            {"turn": turn, "call": {"id": call_id, "name": name, "arguments": arguments}, "title": path,
             "source": "workspace", "capabilities": ["read_fs"], "is_read_only": name != "edit_file"},
        )  # fmt: skip
        words = {"read_file": 700, "grep": 250, "run_terminal_cmd": 400, "edit_file": 60}[name]
        result = {
            "content": self._text(words),
            "is_error": False,
            "error_type": None,
            "metadata": {"path": path},
            "output": None,
            "images": list[object](),
        }
        yield (
            "tool_call_finished",
            {"turn": turn, "call_id": call_id, "state": "completed", "result": result, "duration_s": 0.1},
        )

    def _text(self, words: int) -> str:
        source = self._random.choice(self._pool)
        start = self._random.randrange(len(source) - words)
        lines = range(start, start + words, 9)
        return "\n".join(" ".join(source[line : min(line + 9, start + words)]) for line in lines)

    def _one(self) -> str:
        return self._random.choice(self._random.choice(self._pool))

    def _word(self, rank: int) -> str:
        text = "".join(self._random.choices(_SYLLABLES, k=1 + min(3, rank.bit_length() // 4)))
        return text if rank < 3_000 else f"{text}_{self._random.choice(_SYLLABLES)}{rank % 97}"
