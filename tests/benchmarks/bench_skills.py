"""How long it takes to find and read 200 skills and 50 commands, and how much of a request their list takes.

The yardstick is what no reader can do without: open each file, and have PyYAML load the front matter (`CSafeLoader`),
the paths known. A *look again* finds that nothing changed, which happens at each turn. All of it happens in a thread.
"""

import statistics
from pathlib import Path

import yaml

from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.extensions.skills import SkillFolders
from desktop_agent.core.extensions.skills_in_force import listed, offered
from desktop_agent.core.tools.secret_files import SecretNames
from tests.benchmarks.floors import in_turns, ratio_of
from tests.core.extensions.homes import homes_in

SKILLS, COMMANDS = 200, 50
ROUNDS = 15
MOST_READ, MOST_AGAIN = 4.0, 0.5
WINDOWS = (32_000, 200_000, 1_000_000)
HEAD = """---
name: skill-{0:03}
description: Does one of the things that the team has written down, number {0}. Use it when a task is of this kind.
allowed-tools: Bash(git:*) Read
argument-hint: "[BRANCH]"
metadata:
  author: team
  version: "1.0"
---
"""
BODY = "# What to do\n\n" + "1. Look at what changed, and say of each part whether it is right.\n" * 60


def write(root: Path) -> list[Path]:
    skills = [root / f".agents/skills/skill-{number:03}/SKILL.md" for number in range(SKILLS)]
    commands = [root / f".claude/commands/command-{number:03}.md" for number in range(COMMANDS)]
    for number, path in enumerate((*skills, *commands)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD.format(number) + BODY)
    return [*skills, *commands]


def loaded(paths: list[Path]) -> None:
    for path in paths:
        yaml.load(path.read_text().split("---")[1], Loader=yaml.CSafeLoader)  # pyright: ignore[reportUnknownMemberType] - untyped


def test_skills_are_read_nearly_as_fast_as_yaml_is_and_take_little_room(tmp_path: Path) -> None:
    root = tmp_path / "project"
    paths = write(root)
    secret_at = SecretNames(root).secret_at

    def made() -> SkillFolders:
        return SkillFolders(root, homes_in(tmp_path / "home", tmp_path / "config"), lambda: secret_at)

    known = made()
    assert len(known.read()) == SKILLS + COMMANDS
    first, again, yardstick = in_turns(ROUNDS, lambda: made().read(), known.read, lambda: loaded(paths))
    read, look = ratio_of(first, yardstick), ratio_of(again, yardstick)
    skills = [each.skill for each in listed(known.read(), is_trusted=True, off=())]
    shares = {window: text_tokens(offered(skills, window * 2 // 100, ())) / window for window in WINDOWS}
    print(
        f"\n{SKILLS} skills and {COMMANDS} commands (median of {ROUNDS})\n"
        f"{'':14}{'ms':>8}{'ratio':>8}{'limit':>8}\n"
        f"{'yardstick':14}{statistics.median(yardstick):8.1f}\n"
        f"{'read':14}{statistics.median(first):8.1f}{read:8.2f}{MOST_READ:8.2f}\n"
        f"{'look again':14}{statistics.median(again):8.1f}{look:8.2f}{MOST_AGAIN:8.2f}\n"
        + "".join(f"window of {window:,}: {share:.2%}\n" for window, share in shares.items())
    )
    assert read <= MOST_READ
    assert look <= MOST_AGAIN
    assert max(shares.values()) <= 0.02
