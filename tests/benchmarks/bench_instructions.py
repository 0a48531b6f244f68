"""What the instructions of a folder with 200 rules cost at a step of a turn that touched a file, when none changed.

The yardstick is what no reader can do without: list the folder, and look whether each file is as it was. All of it
happens in a thread, before the request of the step.
"""

import os
import statistics
from pathlib import Path

from desktop_agent.core.extensions.instructions import InstructionReader
from tests.benchmarks.floors import in_turns
from tests.core.extensions.homes import homes_in
from tests.core.extensions.test_instructions import secrets_in

RULES = 200
ROUNDS = 40
MOST_STEP = 40.0
TEXT = "- Say why, not what. Name the unit of each number, and the source of each constant that is not obvious.\n" * 40


def write(root: Path) -> None:
    folder = root / ".claude" / "rules"
    folder.mkdir(parents=True)
    for number in range(RULES):
        paths = f'---\npaths: "src/part-{number}/**/*.py"\n---\n' if number % 4 else ""
        (folder / f"rule-{number:03}.md").write_text(f"{paths}# Rule {number}\n{TEXT}")


def looked_at(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            os.stat(entry.path)  # noqa: PTH116 - the least that this machine needs


def test_a_step_with_200_rules_costs_little_more_than_to_look_at_them(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    write(root)
    reader = InstructionReader(root, homes_in(tmp_path / "home", tmp_path / "config"), secrets_in, lambda _: False)
    first = reader.read((), ["src/part-1/a.py"])
    assert any(file.path.endswith("rule-001.md") for file in first.files)
    known = [file for file in first.files if file.scope == "folder"]
    step, yardstick = in_turns(
        ROUNDS, lambda: reader.read(known, ["src/part-1/a.py"]), lambda: looked_at(root / ".claude" / "rules")
    )
    ratio = min(step) / min(yardstick)  # other work on the machine only adds to both
    print(
        f"\n{RULES} rules, none changed ({ROUNDS} rounds)\n"
        f"{'':14}{'median ms':>11}{'least':>8}{'ratio':>8}{'limit':>8}\n"
        f"{'yardstick':14}{statistics.median(yardstick):11.2f}{min(yardstick):8.2f}\n"
        f"{'a step':14}{statistics.median(step):11.2f}{min(step):8.2f}{ratio:8.1f}{MOST_STEP:8.1f}\n"
    )
    assert ratio <= MOST_STEP
