from pathlib import Path

from desktop_agent.core.slash.declarations import BUILT_IN, usage

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "slash-commands.md"


def test_the_table_of_commands_is_the_declarations() -> None:
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| `/")]
    declared = [
        f"| `{usage(command).replace('|', chr(92) + '|')}` | {command.summary}"
        f"{'. Asks the model' if command.asks_model else ''} |"
        for command in BUILT_IN
    ]
    assert rows == declared
