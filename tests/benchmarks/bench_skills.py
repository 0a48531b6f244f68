"""How long it takes to find and read 200 skills and 50 agent files, and how much of a request the skills' list takes.

The yardstick is what no reader can do without: open each file, and have PyYAML load the front matter (`CSafeLoader`),
the paths known. A *look again* finds that nothing changed, which happens at each turn. All of it happens in a thread.
"""

import statistics
from pathlib import Path

import yaml

from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.extensions.agent_files import RoleFile, RoleFolders
from desktop_agent.core.extensions.skills import Skill, SkillFolders
from desktop_agent.core.extensions.skills_in_force import listed, offered
from desktop_agent.core.tools.secret_files import SecretNames
from tests.benchmarks.floors import in_turns, ratio_of
from tests.core.extensions.homes import homes_in

SKILLS, AGENTS = 200, 50
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
    agents = [root / f".claude/agents/agent-{number:03}.md" for number in range(AGENTS)]
    for number, path in enumerate((*skills, *agents)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD.format(number) + BODY)
    return [*skills, *agents]


def loaded(paths: list[Path]) -> None:
    for path in paths:
        yaml.load(path.read_text().split("---")[1], Loader=yaml.CSafeLoader)  # pyright: ignore[reportUnknownMemberType] - untyped


def test_skills_and_agents_are_read_nearly_as_fast_as_yaml_is_and_take_little_room(tmp_path: Path) -> None:
    root = tmp_path / "project"
    paths = write(root)
    homes, secret_at = homes_in(tmp_path / "home", tmp_path / "config"), SecretNames(root).secret_at

    def made() -> tuple[SkillFolders, RoleFolders]:
        return SkillFolders(root, homes, lambda: secret_at), RoleFolders(root, homes, lambda: secret_at)

    def read(folders: tuple[SkillFolders, RoleFolders]) -> tuple[tuple[Skill, ...], tuple[RoleFile, ...]]:
        return folders[0].read(), folders[1].read()

    known = made()
    assert list(map(len, read(known))) == [SKILLS, AGENTS]
    first, again, yardstick = in_turns(ROUNDS, lambda: read(made()), lambda: read(known), lambda: loaded(paths))
    ratio, look = ratio_of(first, yardstick), ratio_of(again, yardstick)
    skills = [each.skill for each in listed(known[0].read(), is_trusted=True, off=())]
    shares = {window: text_tokens(offered(skills, window * 2 // 100, ())) / window for window in WINDOWS}
    print(
        f"\n{SKILLS} skills and {AGENTS} agents (median of {ROUNDS})\n"
        f"{'':14}{'ms':>8}{'least':>8}{'ratio':>8}{'limit':>8}\n"
        f"{'yardstick':14}{statistics.median(yardstick):8.1f}{min(yardstick):8.1f}\n"
        f"{'read':14}{statistics.median(first):8.1f}{min(first):8.1f}{ratio:8.2f}{MOST_READ:8.2f}\n"
        f"{'look again':14}{statistics.median(again):8.1f}{min(again):8.1f}{look:8.2f}{MOST_AGAIN:8.2f}\n"
        + "".join(f"window of {window:,}: {share:.2%}\n" for window, share in shares.items())
    )
    assert ratio <= MOST_READ
    assert look <= MOST_AGAIN
    assert max(shares.values()) <= 0.02
