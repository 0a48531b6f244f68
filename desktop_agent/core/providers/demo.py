"""The demo model: a script that really works on the bundled demo project, without a key or network."""

import json
import re
import sys

from msgspec import Struct

from desktop_agent.core.context.history import GUIDANCE_NOTE
from desktop_agent.core.protocol.model import AssistantMessage, ModelRequest, TextBlock, ToolResultBlock, ToolUseBlock
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, Think

DEMO_MODEL = "demo"
DEMO_PROMPT = "One of the tests fails. Find out why, fix it, and run the tests again."
DEMO_FOLLOW_UP = "Add a test for an empty list, and note the fix in the changelog."

_PYTHON = "python" if sys.platform == "win32" else "python3"
TEST_COMMAND = f"{_PYTHON} -m unittest discover -s tests -t ."
CHANGELOG_COMMAND = "printf '# Changes\\n\\n- A short last page counts as a page.\\n' > CHANGELOG.md"

_PAGES = "pagination/pages.py"
_EDGE_TEST = "tests/test_edge.py"
_OLD = "    pages = total // size\n    return pages\n"
_NEW = "    return -(-total // size)\n"
_EDGE_TEST_TEXT = """\
import unittest

from pagination import page_bounds, page_count


class EmptyListTest(unittest.TestCase):
    def test_an_empty_list_has_no_pages(self):
        self.assertEqual(page_count(0, 10), 0)

    def test_its_first_page_is_empty(self):
        self.assertEqual(page_bounds(1, 0, 10), (0, 0))


if __name__ == "__main__":
    unittest.main()
"""
_MAX_EDITS = 2
_REFUSALS = ("not permitted", "cannot be used here", "needs an approval and did not get one", "dry-run:")
_PACE_S = 0.012


def demo_provider(*, is_paced: bool) -> ScriptedProvider:
    return ScriptedProvider(demo_reply, label="Demo", pace_s=_PACE_S if is_paced else 0.0, cost_usd=0.0)


class _Done(Struct, frozen=True):
    name: str
    target: str
    result: str
    is_error: bool

    @property
    def is_denied(self) -> bool:
        return self.is_error and self.result.startswith("The user denied")

    @property
    def is_refused(self) -> bool:
        return self.is_error and any(words in self.result.partition("\n")[0] for words in _REFUSALS)

    @property
    def tests(self) -> int:
        count = re.search(r"Ran (\d+) tests?", self.result)
        return int(count[1]) if count and self.name == "run_terminal_cmd" else 0


def demo_reply(request: ModelRequest) -> Reply:
    last = request.messages[-1].content[-1]
    if not request.tools and isinstance(last, TextBlock) and "<conversation>" in last.text:
        return (Say(_SUMMARY),)
    done = _calls_of_turn(request)
    if not done:
        return (
            Think("The tests and the code they cover come first. Reading them is cheap, so I read all at once."),
            Say("I'll look at the project and the failing test first.\n"),
            Call("list_files", {"path": "."}),
            Call("read_file", {"path": _PAGES}),
            Call("read_file", {"path": "tests/test_pages.py"}),
        )
    source = _last(done, "read_file", _PAGES)
    if source is not None and source.is_refused:
        return (Say(f"I may not read `{_PAGES}` here ({_reason(source)}), so I stop. Nothing was run."),)
    if source is None or source.is_error:
        return (Say(f"I can't find `{_PAGES}` here. The demo only knows its own small project: restart it to try."),)
    if any(call.name == "edit_file" for call in done) or _OLD in source.result:
        return _fix(done, source)
    return _extend(done)


def _fix(done: list[_Done], source: _Done) -> Reply:
    last = done[-1]
    edits = [call for call in done if call.name == "edit_file"]
    runs = [call for call in done if call.name == "run_terminal_cmd"]
    if not runs and not edits:
        return (Say("`page_count` divides and drops the remainder. I'll reproduce the failure.\n"), Call(*_run_tests()))
    if not edits:
        return (_explain(last), _edit())
    if last.name == "read_file":
        if _OLD in source.result:
            return (Say("The two lines are still there, so the same fix applies to the file as it is now.\n"), _edit())
        return (Say("The lines I wanted to change are gone: you have changed them. I leave the file as it is."),)
    if last.name == "edit_file":
        return _after_edit(edits)
    return (_summary(last),)


def _after_edit(edits: list[_Done]) -> Reply:
    edit = edits[-1]
    if edit.is_denied or edit.is_refused:
        start = "Understood" if edit.is_denied else f"The edit was not made ({_reason(edit)})"
        return (
            Say(
                f"{start}, I leave the file as it is. This is what I would have changed:\n\n"
                f"```diff\n-    pages = total // size\n-    return pages\n+{_NEW}```\n"
            ),
        )
    if edit.is_error and len(edits) >= _MAX_EDITS:
        return (Say(f"`{_PAGES}` could not be changed this time either. I leave it as it is: ask again at any time."),)
    if edit.is_error:
        return (
            Say(f"`{_PAGES}` is no longer what I read. I'll read it again before I change anything.\n"),
            Call("read_file", {"path": _PAGES}),
        )
    return (Say("Now the tests again.\n"), Call(*_run_tests()))


def _extend(done: list[_Done]) -> Reply:
    created = _last(done, "create_file", _EDGE_TEST)
    if created is None:
        if any(_EDGE_TEST in call.result for call in done if call.name == "list_files"):
            return (Say(_NOTHING_LEFT),)
        return (
            Say(
                "`page_count` rounds up, so the failing test is settled. I'll add the edge case as a test of its own.\n"
            ),
            Call("create_file", {"path": _EDGE_TEST, "content": _EDGE_TEST_TEXT}),
        )
    noted = _last(done, "run_terminal_cmd", CHANGELOG_COMMAND)
    if noted is None:
        first = "No new test then." if created.is_error else "The test is in place."
        return (
            Say(
                f"{first} I'll write the changelog with a command: what a command changes is reviewed like any edit.\n"
            ),
            Call("run_terminal_cmd", {"command": CHANGELOG_COMMAND, "explanation": "Start the changelog"}),
        )
    checked = _last(done, "run_terminal_cmd", TEST_COMMAND)
    if checked is None:
        return (Say("And the tests once more.\n"), Call(*_run_tests()))
    return (_summary(checked),)


def _run_tests() -> tuple[str, dict[str, object]]:
    return "run_terminal_cmd", {"command": TEST_COMMAND, "explanation": "Run the tests"}


def _edit() -> Call:
    return Call("edit_file", {"path": _PAGES, "old_str": _OLD, "new_str": _NEW})


def _explain(run: _Done) -> Say:
    if run.is_denied:
        start = "I won't run anything then. The test says enough: 41 items in pages of 10 need **5** pages."
    elif not run.tests:
        start = "The tests could not be run. What they say is enough: 41 items in pages of 10 need **5** pages."
    elif not run.is_error:
        start = "The tests pass as they are. All the same, 41 items in pages of 10 need **5** pages."
    else:
        start = "Reproduced: 41 items in pages of 10 need **5** pages, and `page_count` says 4."
    return Say(
        f"{start}\n\n"
        "- `total // size` rounds down, so a short last page is lost.\n"
        "- `-(-total // size)` rounds up, without floating point.\n\n"
        "I'll change those two lines and nothing else.\n"
    )


def _summary(run: _Done) -> Say:
    if run.is_denied:
        check = "You declined the test run, so this is **not checked**."
    elif not run.tests:
        check = "The tests could not be run, so this is **not checked**."
    elif run.is_error:
        check = "The tests **still fail**; the output above says where."
    else:
        check = f"All **{run.tests}** tests pass."
    return Say(
        f"{check}\n\n"
        "Every change is in the review panel on the right. Try **Undo turn** and **Redo**: only what I changed moves, "
        "and whatever you edit yourself stays."
    )


def _reason(call: _Done) -> str:
    return call.result.partition("\n")[0].strip().rstrip(".")


_NOTHING_LEFT = (
    "That is all this demo knows: the fix, the new test and the changelog are done. Undo a turn and ask again, or "
    "add a key in the settings to work on your own project."
)

_SUMMARY = json.dumps(
    {
        "goals": ["Find out why one of the tests fails, and fix it."],
        "decisions": ["page_count rounds up with -(-total // size), without floating point."],
        "files": [f"{_PAGES}: page_count, which lost a short last page", "tests/test_pages.py: the test that failed"],
        "apis": [f"The tests run with: {TEST_COMMAND}"],
    }
)


def _calls_of_turn(request: ModelRequest) -> list[_Done]:
    calls: dict[str, ToolUseBlock] = {}
    done: list[_Done] = []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            calls |= {block.id: block for block in message.content if isinstance(block, ToolUseBlock)}
        else:
            texts = [block.text for block in message.content if isinstance(block, TextBlock)]
            if any(not text.startswith(GUIDANCE_NOTE) for text in texts):
                done.clear()
                continue
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            for result in results:
                call = calls[result.call_id]
                target = call.arguments.get("path", call.arguments.get("command", ""))
                done.append(_Done(call.name, str(target), result.content, result.is_error))
    return done


def _last(done: list[_Done], name: str, target: str) -> _Done | None:
    return next((call for call in reversed(done) if (call.name, call.target) == (name, target)), None)
