"""The code starts exactly the programs that docs/security.md lists."""

import ast
import re
from pathlib import Path

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
PAGE = PACKAGE.parent / "docs" / "security.md"

STARTERS = re.compile(
    r"Popen|(create_)?subprocess_(exec|shell)|check_output|check_call|getoutput|getstatusoutput|popen|forkpty"
    r"|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|startDetached|QProcess|openUrl|ProcessPoolExecutor|startfile"
)
"""Functions and classes that start a program, on any object."""
ON_MODULES = {
    ("subprocess", "run"),
    ("subprocess", "call"),
    ("os", "system"),
    ("os", "fork"),
    ("multiprocessing", "Process"),
}
WRAPPERS = {"core/sandbox/bubblewrap.py", "core/sandbox/landlock.py", "core/sandbox/seatbelt.py"}
"""They write command lines that others of the list start."""
HEAD = "## Programs that the application starts"


def starts_a_program(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return STARTERS.fullmatch(name) is not None
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module, name) in ON_MODULES or STARTERS.fullmatch(name) is not None
        case ast.Attribute(attr=name):
            return STARTERS.fullmatch(name) is not None
        case _:
            return False


def places_in_code() -> set[str]:
    return {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if any(isinstance(node, ast.Call) and starts_a_program(node) for node in ast.walk(ast.parse(file.read_bytes())))
    }


def places_on_the_page() -> set[str]:
    """The modules in the second column of the table."""
    table = PAGE.read_text(encoding="utf-8").split(HEAD, 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][2:]
    return {place for row in rows for place in re.findall(r"`([\w/]+\.py)`", row[2])}


def test_the_table_of_programs_names_every_place_that_starts_one_and_no_other() -> None:
    assert places_on_the_page() - WRAPPERS == places_in_code()


def test_git_is_started_in_one_place() -> None:
    """The doctor's `git --version` opens no repository, and is the only other place."""
    named = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Call)
        and any(isinstance(word, ast.Constant) and word.value == "git" for word in node.args)
        and (starts_a_program(node) or getattr(node.func, "id", "") == "find_program")
    }
    assert named == {"core/system/git/git_process.py", "cli/doctor.py"}
