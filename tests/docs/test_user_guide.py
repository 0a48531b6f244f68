import re
from pathlib import Path

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.mcp.definition_file import read_definitions
from desktop_agent.core.settings.loading import FoundValues, parse_file
from desktop_agent.core.settings.sections import Settings
from desktop_agent.ui.part_keys import PLACE_KEYS
from desktop_agent.ui.window.actions import Actions
from settings_page import as_code

ROOT = Path(__file__).parents[2]
GUIDE = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "guide").glob("*.md")))
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "desktop_agent").rglob("*.py")))


def test_every_action_with_a_shortcut_has_its_row(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    actions = [action for action in Actions(window).all if not action.shortcut().isEmpty()]
    rows = [f"| {as_code(action.shortcut().toString())} | {action.text()}" for action in actions]
    assert [row for row in rows if row not in GUIDE] == []


def test_every_key_of_the_palettes_list_is_in_the_row_of_its_place() -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", GUIDE.partition("| where | keys |")[2], re.MULTILINE))
    missing = [f"{key.place}: {keys}" for key in PLACE_KEYS for keys in key.keys if keys not in rows[key.place]]
    assert missing == []
    assert {key.place for key in PLACE_KEYS} <= rows.keys()


def test_the_settings_shown_exist_and_have_values_that_can_be_used() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    found = [FoundValues(parse_file(Path("config.toml"), block), Settings()) for block in blocks]
    assert blocks
    assert [problem for each in found for problem in (*each.problems, *read_definitions(each.tables).problems)] == []
    assert all(each.values or each.tables for each in found)


def test_every_message_it_explains_is_one_of_the_program() -> None:
    table = GUIDE.partition("| it says | what to do |\n")[2].partition("\n\n")[0]
    messages = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if line.startswith("| ")]
    pieces = [
        piece.strip(" .”“")
        for message in messages
        if not message.startswith("---")
        for piece in re.split(r"…| · ", message)
    ]
    joined = re.sub(r'"\s*\n?\s*f?"', "", SOURCE)
    assert [piece for piece in pieces if len(piece) > 3 and piece not in joined] == []
