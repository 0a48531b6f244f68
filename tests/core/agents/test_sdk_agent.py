"""An agent that is written with the protocol's own SDK is asked, reviewed, undone by hunk out of order, and redone."""

import sys
from pathlib import Path

from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, Denied, ModelRef
from desktop_agent.core.system.processes.shell import joined_words
from tests.core.agents.scene import POEM, texts
from tests.harness import Ground

EDITED = POEM.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")
MODEL = ModelRef(
    provider="acp", model=joined_words((sys.executable, str(Path(__file__).with_name("sdk_agent.py"))))
)  # fmt: skip


async def test_the_sdks_agent_is_asked_reviewed_undone_by_hunk_and_redone(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.write("poem.txt", POEM)
    async with ground.session([], model=MODEL, sandbox="none") as opened:
        await opened.begin(Denied())
        await opened.rx.expect(ev.TurnEnded)
        assert ground.read("poem.txt") == POEM
        asked = await opened.turn()
        assert [change.path for change in asked.request.changes] == ["poem.txt"]
        assert (texts(opened), ground.read("poem.txt")) == (["You said: go"] * 2, EDITED)
        (row,) = net_changes(opened.session.transcript.changes.values())
        blobs = [ground.blob(image) for image in (row.change.before, row.change.after)]
        first, _ = (named.key for named in review_hunks(diff_change(row.change, *blobs)))
        await opened.undo(ChangeSelection(path="poem.txt", hunks=(first,)))
        assert ground.read("poem.txt") == EDITED.replace("LINE 2\n", "line 2\n")
        await opened.redo_step()
        assert ground.read("poem.txt") == EDITED
        await opened.undo()
        assert ground.read("poem.txt") == POEM
