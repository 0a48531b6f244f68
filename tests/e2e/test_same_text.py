"""The model, the card, the output's window, exports and the search read the same text of a command's output."""

import json
from pathlib import Path

import pytest

from desktop_agent.core.export.markdown import shown
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.transcript import ToolEntry, Transcript
from desktop_agent.ui.chat.cards.tool_output import TerminalBody
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.terminal.output_window import PrintedDocument
from tests.harness import Ground

PRINTED = {
    "a line that is written over": "rm -rf /home\rok\n",
    "a line above that is erased": "rm -rf /home\n\x1b[1A\x1b[2Kok\n",
    "backspaces": "rm -rf /home\b\b\b\bx\n",
    "colours and a progress bar": "".join(f"\r\x1b[32m{n:3} %\x1b[0m" for n in range(101)) + "\n\x1b[1mdone\x1b[0m\n",
    "a screen of its own": "before\n\x1b[?1049h\x1b[Hrm -rf /home\x1b[?1049lafter\n",
    "a cleared screen": "rm -rf /home\n\x1b[2J\x1b[Hok\n",
    "a title that never ends": "\x1b]0;rm -rf /home\nok\n",
    "sequences that are malformed": "a\x1b[1;?mb\x1b[12\x1b[mc\n",
    "wide characters": "漢字\r!\n",
    "tabs and blanks": "a\tb  \r\tX  \n",
    "a long line": "x" * 5_000 + "\rok\n",
    "very much overwritten": "rm -rf /home" + "\x1b[m" * 60_000 + "\rok\n",
    "many lines, the last ones rewritten": "".join(f"line {n}\n" for n in range(30_000))
    + "\x1b[3A\x1b[2Krm\x1b[3Bok\n",
}


@pytest.mark.parametrize(
    ("name", "tty"),
    [*((name, False) for name in PRINTED), ("a line that is written over", True), ("tabs and blanks", True)],
)
async def test_everybody_reads_the_same_text_of_an_output(tmp_path: Path, name: str, *, tty: bool) -> None:
    ground = Ground(tmp_path)
    ground.write("printed.txt", PRINTED[name])
    call = Call("run_terminal_cmd", {"command": "cat printed.txt", "tty": tty})
    async with ground.session([[call], [Say("Done.")]], approval="never") as s:
        await s.prompt("go")
        finished = s.rx.all(ev.ToolCallFinished)[-1]
    seen = Transcript()
    for event in s.rx.events:
        seen.apply(event)
    (entry,) = (one for one in seen.entries if isinstance(one, ToolEntry))
    assert finished.result is not None
    read_by_model: str = json.loads(finished.result.content)["output"]
    last = read_by_model.rstrip("\n").split("\n")[-12:]
    card = TerminalBody.read(EntryRow(entry=entry, index=0)).text.rstrip("\n").replace("\u2028", "\n").split("\n")
    cut = [line[:500] for line in last]
    assert card[-len(cut) :] == cut
    assert shown(read_by_model) == read_by_model
    if "omitted" not in read_by_model:
        assert PrintedDocument.read(PRINTED[name]).text.replace("\n", "") == read_by_model.replace("\n", "")
    if name == "a line that is written over":
        assert read_by_model == "ok -rf /home\n"
