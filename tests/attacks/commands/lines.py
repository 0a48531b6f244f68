"""Reads the tables: verdict, command line and, if it is odd, the reason; `⏎` is a newline."""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Line:
    verdict: str
    command: str


def lines_of(table: str) -> list[Line]:
    found: list[Line] = []
    for row in (HERE / f"{table}.tsv").read_text(encoding="utf-8").splitlines():
        if row and not row.startswith("# "):
            verdict, _, rest = row.partition("\t")
            found.append(Line(verdict, _command(rest)))
    return found


def _command(columns: str) -> str:
    head, tab, why = columns.rpartition("\t")
    return (columns if not tab or "⏎" in why else head).replace("⏎", "\n")
