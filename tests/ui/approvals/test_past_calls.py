"""A rule is tested on the session's past commands, changed paths and called tools."""

from msgspec.structs import replace

from desktop_agent.core.protocol.model import ApprovalRequest, Denied
from desktop_agent.core.transcript import ToolEntry, Transcript
from desktop_agent.ui.approvals.rule_judging import MAX_SUBJECTS, PastCalls, past_calls, subjects_of
from tests.ui.approvals.stage import push
from tests.ui.chat.stage import call, change, question


def command(text: str, call_id: str, approval: ApprovalRequest | None = None) -> ToolEntry:
    entry = call("run_terminal_cmd", text, call_id=call_id, approval=approval)
    entry.call = replace(entry.call, arguments={"command": text})
    return entry


def asked(text: str, call_id: str) -> ToolEntry:
    return command(text, call_id, question(text))


def past(request: ApprovalRequest, *entries: ToolEntry) -> PastCalls:
    shown = Transcript()
    shown.entries.extend(entries)
    return past_calls(shown, request)


EDIT = replace(question(None, call_id="now"), rule_kind="edit")


def test_commands_come_newest_first_each_once_but_every_question_counts_except_the_present_one() -> None:
    entries = (asked("ls", "a"), asked("pwd", "b"), asked("ls", "c"), command("id", "d"), asked("ls", "c1"))
    assert past(push(), *entries) == PastCalls(("ls", "pwd"), (("ls",), ("pwd",), ("ls",)))


def test_what_ran_unasked_or_was_asked_for_as_something_else_is_no_earlier_question() -> None:
    assert past(push(), command("ls", "a"), call("edit_file", "b", call_id="b", approval=question(None))) == PastCalls()
    made = call("run_terminal_cmd", "a", call_id="a", changes=(change("docs"),), approval=question("mkdir docs"))
    assert past(EDIT, made) == PastCalls(), "what a command made is no edit that was asked for"


def test_no_more_than_enough_is_judged() -> None:
    subjects = past(push(), *(asked(f"echo {number}", str(number)) for number in range(MAX_SUBJECTS + 50))).subjects
    assert len(subjects) == MAX_SUBJECTS
    assert subjects[0] == f"echo {MAX_SUBJECTS + 49}"


def test_edits_are_judged_by_path_also_those_that_were_denied() -> None:
    unasked = call("edit_file", "a", call_id="a", changes=(change("src/a.py"),))
    refused = call("edit_file", "b", call_id="b", approval=question(None), decision=Denied())
    judged = past(EDIT, unasked, refused, asked("ls", "x"))
    assert judged == PastCalls(("src/app.py", "b.py"), (("src/app.py", "b.py"),))


def test_tools_are_judged_by_name() -> None:
    request = replace(question(call_id="now"), tool="web_fetch", command=None, rule_kind="tool")
    assert subjects_of(request) == ("web_fetch",)
    searched = replace(question(), tool="web_search", command=None, changes=())
    entries = (call("web_search", "q", call_id="a", approval=searched), asked("ls", "b"))
    assert past(request, *entries).questions == (("web_search",),)
