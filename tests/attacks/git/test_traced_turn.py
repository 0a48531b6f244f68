"""A turn of the demo under `strace`: the programs that start, and their environment."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import desktop_agent
from tests.attacks.git.hostile import git

PROJECT = Path(desktop_agent.__file__).parent.parent / "resources" / "demo" / "pagination"
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY")
CANARY = "canary-that-no-program-sees"
LISTED = {"git", "bwrap", "sh", "bash", "rg", Path(sys.executable).name, Path(os.path.realpath(sys.executable)).name}
"""The programs in docs/security.md: git, the sandbox, commands, ripgrep, our modules."""
_TRACED = "trace=execve,execveat,clone,clone3,fork,vfork"
_EXECUTED = re.compile(r'^(\d+) +execve\("([^"]+)", ')
_FORKED = re.compile(r"^(\d+) +(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)$")


def test_a_turn_starts_only_listed_programs_and_none_with_a_key(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None or subprocess.call([strace, "-qq", "-o", os.devnull, "true"]) != 0:
        pytest.skip("strace is not installed, or this machine does not allow one process to trace another")
    folder, trace = tmp_path / "project", tmp_path / "trace"
    shutil.copytree(PROJECT, folder)
    git(folder, "init", "-q")
    environ = {**os.environ, **dict.fromkeys(KEYS, CANARY), "DESKTOP_AGENT_HOME": str(tmp_path / "home")}
    agent = [sys.executable, "-m", "desktop_agent", "run", "--provider", "demo", "--approval", "never"]
    tracing = [strace, "-f", "-qq", "-v", "-s", "100000", "-e", _TRACED, "-o", str(trace)]
    subprocess.check_output([*tracing, *agent, "--prompt", "Fix the test"], cwd=folder, env=environ)
    lines = trace.read_text(errors="replace").splitlines()
    executed = [match.groups() for line in lines if (match := _EXECUTED.match(line))]
    assert [path for _, path in executed[1:] if path.endswith(("/bwrap", "/bash"))], "a command ran"
    assert [line[:200] for line in lines if CANARY in line][1:] == [], "only the application itself got the keys"
    parents = {match[2]: match[1] for line in lines if (match := _FORKED.match(line))}
    others = {line.split()[0] for line in lines if "execve" in line} - {executed[0][0]}
    started = {pid for pid in others if is_ours(parents.get(pid), executed[0][0], parents, others)}
    programs = {Path(path).name for pid, path in executed[1:] if pid in started}
    assert "git" in programs
    assert programs <= LISTED


def is_ours(pid: str | None, first: str, parents: dict[str, str], others: set[str]) -> bool:
    """Whether this is the application or one of its threads, which never run another program."""
    while pid is not None and pid != first and pid not in others:
        pid = parents.get(pid)
    return pid == first
