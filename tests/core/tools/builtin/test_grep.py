"""`grep`: every advertised parameter works (Z-60), and every answer has its limits."""

import asyncio
import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin import grep as module
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.files import ripgrep
from tests.core.tools.conftest import Workspace

TOOL = Grep()


@pytest.fixture
def project(work: Workspace) -> Workspace:
    work.write("src/a.py", "import os\n\ndef find(x):\n    return x\n\n\ndef FIND(y):\n    return y  # find\n")
    work.write("src/sub/b.py", "find = 1\n")
    work.write("lib/c.ts", "const find = 2;\n")
    work.write("build/d.py", "find\n")
    work.write(".hidden/e.py", "find\n")
    work.write("src/.f.py", "find\n")
    work.write("node_modules/g.py", "find\n")
    work.write(".git/h", "find\n")
    work.write("data.bin", b"find\0find\n")
    work.write(".gitignore", "build/\n")
    return work


ALL = [
    "lib/c.ts:1:const find = 2;",
    "src/a.py:3:def find(x):",
    "src/a.py:8:    return y  # find",
    "src/sub/b.py:1:find = 1",
]


async def grep(work: Workspace, **arguments: object) -> Any:
    return await work.answer(TOOL, **arguments)


async def test_lines_come_with_path_and_number_in_order(project: Workspace) -> None:  # T-26, T-27, T-29
    result = await project.call(TOOL, pattern="find")
    lines = json.loads(result.content)
    assert [line for line in lines if not line.startswith("data.bin")] == ALL
    assert result.metadata["files"] == 3 + any(line.startswith("data.bin") for line in lines)
    assert result.metadata["truncated"] is False


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "src"}, ALL[1:]),
        ({"path": "src/sub/b.py"}, ALL[3:]),
        ({"path": ".hidden"}, [".hidden/e.py:1:find"]),
        ({"path": "build"}, ["build/d.py:1:find"]),
        ({"include": "*.py"}, ALL[1:]),
        ({"include": "*.{ts,tsx}"}, ALL[:1]),
        ({"include": "src/*.py"}, ALL[1:3]),
        ({"include": "src/**"}, ALL[1:]),
        ({"include": "sub/*.py", "path": "src"}, ALL[3:]),
        ({"include": "*.md"}, []),
        ({"include": "*.py", "case_insensitive": True}, [*ALL[1:2], "src/a.py:7:def FIND(y):", *ALL[2:]]),
        ({"include": "*.py", "max_results": 2}, ALL[1:3]),
        ({"include": "*.py", "head_limit": 1}, ALL[1:2]),
        (
            {"path": "src/a.py", "context_lines": 1},
            ["src/a.py-2-", ALL[1], "src/a.py-4-    return x", "--", "src/a.py-7-def FIND(y):", ALL[2]],
        ),
        ({"path": "src/a.py", "before": 1}, ["src/a.py-2-", ALL[1], "--", "src/a.py-7-def FIND(y):", ALL[2]]),
        ({"path": "src/a.py", "after": 1}, [ALL[1], "src/a.py-4-    return x", "--", ALL[2]]),
        (
            {"path": "src/a.py", "around": 1, "max_results": 1},
            ["src/a.py-2-", ALL[1], "src/a.py-4-    return x"],
        ),
        ({"path": "src/a.py", "before": 9, "max_results": 1}, ["src/a.py-1-import os", "src/a.py-2-", ALL[1]]),
    ],
)
async def test_every_parameter_counts(project: Workspace, arguments: dict[str, Any], expected: list[str]) -> None:
    """T-25, T-28, Z-60."""
    assert await grep(project, pattern="find", **arguments) == expected


async def test_only_paths_or_counts_can_be_asked_for(project: Workspace) -> None:
    """T-26, Z-23: each form has its own JSON."""
    paths = ["lib/c.ts", "src/a.py", "src/sub/b.py"]
    asked = {"pattern": "find|FIND", "include": "*.{ts,py}"}
    assert await grep(project, **asked, output_mode="files_with_matches") == paths
    assert await grep(project, **asked, output_mode="count") == {"lib/c.ts": 1, "src/a.py": 3, "src/sub/b.py": 1}
    assert await grep(project, **asked, output_mode="files_with_matches", head_limit=2) == paths[:2]
    assert await grep(project, **asked, output_mode="count", max_results=1) == {"lib/c.ts": 1}
    assert await grep(project, pattern="nowhere", output_mode="count") == {}
    assert await grep(project, pattern="nowhere", output_mode="files_with_matches") == []
    assert await grep(project, pattern="nowhere") == []


async def test_an_absolute_path_gives_absolute_paths(project: Workspace) -> None:  # T-27
    where = str(project.root / "src" / "sub")
    assert await grep(project, pattern="find", path=where) == [f"{where}/b.py:1:find = 1"]
    assert await grep(project, pattern="find", path=where, include="b.*") == [f"{where}/b.py:1:find = 1"]
    assert await grep(project, pattern="find", path=where, output_mode="count") == {f"{where}/b.py": 1}


async def test_what_git_ignores_stays_ignored_whatever_is_included(project: Workspace) -> None:
    """`rg --glob` alone would search build/ for `**/*.py`."""
    for include in ("*.py", "**/*.py", "**", "build/*.py", "**/d.py"):
        assert not [line for line in await grep(project, pattern="find", include=include) if line.startswith("build")]


@pytest.mark.parametrize("pattern", ["-x", "--help", "a b", "'", "$(touch evil)", "ü+"])
async def test_a_pattern_is_never_taken_for_an_option_or_a_command(work: Workspace, pattern: str) -> None:
    work.write("a.txt", f"{pattern}\nüü\n")
    escaped = pattern.replace("$", r"\$").replace("(", r"\(").replace(")", r"\)")
    lines = await grep(work, pattern=escaped)
    assert lines
    assert not (work.root / "evil").exists()


@pytest.mark.parametrize("pattern", ["(", "[a", "*a", "(?<=x"])
async def test_a_broken_pattern_is_a_validation_error_that_names_the_problem(work: Workspace, pattern: str) -> None:
    work.write("a.txt", "x\n")
    with pytest.raises(ToolError, match=r"(?s)not a valid regular expression: .*error") as caught:
        await grep(work, pattern=pattern)
    assert caught.value.error_type == "validation"


@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb", r"\\a\nb"])
def test_a_newline_in_a_pattern_asks_for_multiline(pattern: str) -> None:
    """ripgrep would silently find nothing."""
    with pytest.raises(ToolError, match="set multiline to true"):
        TOOL.parse({"pattern": pattern})
    assert TOOL.parse({"pattern": pattern, "multiline": True})


WORDS = {"a.txt": "foobar\nfoobaz\nxyxy\n"}
ODD = {"a\nb.txt": "hit\n", "c.txt": "hit\n"}


@pytest.mark.parametrize(
    ("files", "arguments", "expected"),
    [
        (WORDS, {"pattern": "foo(?!bar)"}, ["a.txt:2:foobaz"]),
        (WORDS, {"pattern": r"(xy)\1"}, ["a.txt:3:xyxy"]),
        ({"-v/a.txt": "x\n"}, {"pattern": "x", "path": "-v"}, ["-v/a.txt:1:x"]),
        ({"a.txt": "C:\\new\n"}, {"pattern": r"C:\\new"}, ["a.txt:1:C:\\new"]),
        ({"a.txt": b"caf\xe9 hit\r\n"}, {"pattern": "hit"}, ["a.txt:1:caf\ufffd hit"]),
        (
            {"a.txt": "hit\n", "min.js": "hit" + "x" * 5_000_000 + "\n"},
            {"pattern": "hit"},
            ["a.txt:1:hit", "[1 matching lines are too long to show]"],
        ),
        (ODD, {"pattern": "hit", "output_mode": "count"}, {"a\nb.txt": 1, "c.txt": 1}),
        (ODD, {"pattern": "hit", "output_mode": "files_with_matches"}, ["a\nb.txt", "c.txt"]),
    ],
)
async def test_odd_patterns_names_and_texts_are_searched(
    work: Workspace, files: dict[str, str | bytes], arguments: dict[str, Any], expected: object
) -> None:
    for path, content in files.items():
        work.write(path, content)
    assert await grep(work, **arguments) == expected


# --- limits -----------------------------------------------------------------------------------------------------------


async def test_more_matches_than_the_default_limit_are_said(work: Workspace) -> None:
    work.write("a.txt", "hit\n" * 250)
    result = await work.call(TOOL, pattern="hit")
    lines = json.loads(result.content)
    assert lines[:100] == [f"a.txt:{number}:hit" for number in range(1, 101)]
    assert lines[100].startswith("[100 of 250 matches in 1 files.")
    assert [result.metadata[key] for key in ("truncated", "total_matches", "files")] == [True, 250, 1]
    matches: Any = result.metadata["matches"]
    assert matches[99:] == [{"path": "a.txt", "line": 100, "text": "hit"}]


async def test_a_limit_that_was_asked_for_needs_no_note(work: Workspace) -> None:
    work.write("a.txt", "hit\n" * 250)
    for arguments in ({"max_results": 3}, {"head_limit": 3}):
        result = await work.call(TOOL, pattern="hit", **arguments)
        assert len(json.loads(result.content)) == 3
        assert result.metadata["truncated"] is True


async def test_more_files_than_the_default_limit_are_said(work: Workspace) -> None:
    for number in range(120):
        work.write(f"{number:03}.txt", "hit hit\n")
    paths = await grep(work, pattern="hit", output_mode="files_with_matches")
    assert paths[99:] == ["099.txt", paths[100]]
    assert paths[100].startswith("[100 of 120 files.")
    counts = await grep(work, pattern="hit", output_mode="count")
    assert counts["[and 20 more files]"] == 40
    assert sum(counts.values()) == 240


async def test_a_search_with_endless_matches_is_stopped(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COLLECTED", 1000)
    work.write("a.txt", "hit\n" * 3_000_000)
    lines = await grep(work, pattern="hit")
    assert len(lines) == 101
    assert lines[100].startswith("[100 of more than 1000 matches")


async def test_the_same_search_gives_the_same_answer(work: Workspace) -> None:
    """ripgrep's own order depends on its threads."""
    for number in range(200):
        work.write(f"{number % 7}/{number}.txt", "hit\n")
    answers = [await grep(work, pattern="hit") for _ in range(5)]
    assert answers.count(answers[0]) == 5
    assert answers[0][:100] == sorted(answers[0][:100])


async def test_long_lines_show_the_part_around_the_match(work: Workspace) -> None:
    work.write("min.js", "ä" * 5_000 + "NEEDLE" + "b" * 5_000 + "\n")
    (line,) = await grep(work, pattern="NEEDLE")
    assert "ä…"[0] in line
    assert "NEEDLEb" in line
    assert len(line) < 450
    assert line.startswith("min.js:1:…ä")
    assert line.endswith("b…")


async def test_an_answer_has_a_limit_in_bytes(work: Workspace) -> None:
    work.write("a.txt", "".join(f"hit {'y' * 390}{number}\n" for number in range(900)))
    result = await work.call(TOOL, pattern="hit", max_results=1000)
    lines = json.loads(result.content)
    assert len(result.content.encode()) < 102_400
    assert lines[-1].startswith(f"[{len(lines) - 1} of 900 matches")


async def test_wide_context_has_a_limit_too(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COLLECTED", 100)
    work.write("a.txt", "x\n" * 500_000 + "hit\n" + "x\n" * 500_000)
    result = await work.call(TOOL, pattern="hit", around=1_000_000)
    assert len(result.content.encode()) < 102_400


def found(program: Path, environ: Mapping[str, str], workspace: Path) -> str:
    return str(program)


async def test_cancelling_ends_ripgrep(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(work.root / "gate")
    program = work.write("rg", "#!/bin/sh\necho $$ > gate\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setattr(ripgrep, "find_ripgrep", partial(found, program))
    task = asyncio.create_task(grep(work, pattern="x"))
    pid = int(await asyncio.to_thread((work.root / "gate").read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(pid)


async def test_a_search_that_takes_too_long_is_ended(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    program = work.write("rg", "#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setattr(ripgrep, "find_ripgrep", partial(found, program))
    monkeypatch.setattr(ripgrep, "TIMEOUT_S", 0.1)
    with pytest.raises(ToolError, match="took longer"):
        await grep(work, pattern="x")


async def test_the_persons_own_ripgrep_settings_change_nothing(project: Workspace) -> None:
    settings = project.write("ripgreprc", "--invert-match\n--hidden\n")
    environ = {**project.context.environ, "RIPGREP_CONFIG_PATH": str(settings)}
    assert isinstance(project.context.environ, dict)
    project.context.environ.update(environ)
    assert await grep(project, pattern="find", include="*.ts") == ALL[:1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": "x", "path": "pipe"}, "pipe"),
        ({"pattern": "x", "path": "n" * 300}, "too long"),
        ({"pattern": "x", "path": "loop"}, "loop"),
        ({"pattern": "a\0b"}, "NUL"),
    ],
)
async def test_what_cannot_be_searched_is_named_and_never_waited_for(
    work: Workspace, arguments: dict[str, Any], says: str
) -> None:
    os.mkfifo(work.root / "pipe")
    (work.root / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match=says):
        await asyncio.wait_for(grep(work, **arguments), 20)


@pytest.mark.parametrize("is_absolute", [False, True])
async def test_places_for_the_window_are_relative_to_the_workspace(project: Workspace, is_absolute: bool) -> None:
    """A click on a result opens the place, whatever the form of the answer; context lines are no places."""
    where = str(project.root / "src/sub") if is_absolute else "src/sub"
    lines = await project.call(TOOL, pattern="find", around=3, path=where)
    assert lines.metadata["matches"] == [{"path": "src/sub/b.py", "line": 1, "text": "find = 1"}]
    for mode, more in (("files_with_matches", {}), ("count", {"count": 1})):
        files = await project.call(TOOL, pattern="find", path=where, output_mode=mode)
        assert files.metadata["matches"] == [{"path": "src/sub/b.py", "line": None, "text": ""} | more]


async def test_at_most_200_places_are_kept(work: Workspace) -> None:
    work.write("a.txt", "hit\n" * 400)
    result = await work.call(TOOL, pattern="hit", max_results=400)
    matches: Any = result.metadata["matches"]
    assert (len(matches), result.metadata["total_matches"]) == (200, 400)
