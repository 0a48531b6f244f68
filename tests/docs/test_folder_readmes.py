import re
from pathlib import Path

import pytest

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
READMES = sorted(PACKAGE.rglob("README.md"))
MOST_WITHOUT = 20
"""A folder with more modules has a README."""


def first_cells(readme: Path) -> list[str]:
    """The first cell of each row of its tables, without heads and rules."""
    rows = re.findall(r"^\| (.*?) \|.*\n(?!\| ---)", readme.read_text(encoding="utf-8") + "\n", re.MULTILINE)
    return [cell for cell in rows if cell != "---"]


def is_there(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def missing_rows(readme: Path) -> list[str]:
    """The rows that name no existing entry of the folder."""
    return [
        name
        for cell in first_cells(readme)
        for name in re.findall(r"`([^`]+)`", cell) or [cell]
        if not is_there(readme.parent, name)
    ]


def test_the_tables_are_found() -> None:
    assert READMES
    tables = [readme for readme in READMES if "\n| --- |" in readme.read_text(encoding="utf-8")]
    assert tables
    assert [readme for readme in tables if len(first_cells(readme)) < 2] == []


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.relative_to(PACKAGE).as_posix())
def test_a_table_names_what_is_in_its_folder(readme: Path) -> None:
    assert missing_rows(readme) == []


def test_a_name_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "here.py").touch()
    (tmp_path / "inside").mkdir()
    readme = tmp_path / "README.md"
    rows = "| `here`, `gone` | one |\n| `inside/` | two |\n| `inside/here` | three |\n| no name | four |\n"
    readme.write_text(f"# A folder\n\n| modules | what they do |\n| --- | --- |\n{rows}", encoding="utf-8")
    assert missing_rows(readme) == ["gone", "inside/here", "no name"]


def test_each_folder_of_more_than_twenty_modules_has_one() -> None:
    folders = [folder for folder in PACKAGE.rglob("*") if folder.is_dir()]
    large = [folder for folder in folders if len(list(folder.glob("*.py"))) > MOST_WITHOUT + 1]  # `__init__` is none
    assert [folder for folder in large if not (folder / "README.md").exists()] == []
