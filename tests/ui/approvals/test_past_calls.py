"""A rule is judged by what really happened in the session: its commands, the paths it changed, the tools it called."""

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


def transcript(*entries: ToolEntry) -> Transcript:
    shown = Transcript()
    shown.entries.extend(entries)
    return shown


def asked(text: str, call_id: str) -> ToolEntry:
    return command(text, call_id, question(text))


def test_commands_come_newest_first_and_each_once() -> None:
    past = past_calls(transcript(asked("ls", "a"), asked("pwd", "b"), asked("ls", "c")), push())
    assert past.subjects == ("ls", "pwd")


def test_what_ran_unasked_is_no_earlier_question() -> None:
    assert past_calls(transcript(command("ls", "a"), command("pwd", "b")), push()) == PastCalls()


def test_what_a_command_made_is_no_edit_that_was_asked_for() -> None:
    """The first question about an edit ever, after `mkdir docs` was asked for and made a folder."""
    made = call("run_terminal_cmd", "a", call_id="a", changes=(change("docs"),), approval=question("mkdir docs"))
    request = replace(question(None, call_id="now"), rule_kind="edit")
    assert past_calls(transcript(made), request) == PastCalls()


def test_every_question_counts_and_the_present_one_does_not() -> None:
    entries = (asked("ls", "a"), asked("ls", "b"), command("pwd", "d"), asked("ls", "c1"))
    assert past_calls(transcript(*entries), push()) == PastCalls(("ls",), (("ls",), ("ls",)))


def test_no_more_than_enough_is_judged() -> None:
    entries = [asked(f"echo {number}", str(number)) for number in range(MAX_SUBJECTS + 50)]
    subjects = past_calls(transcript(*entries), push()).subjects
    assert len(subjects) == MAX_SUBJECTS
    assert subjects[0] == f"echo {MAX_SUBJECTS + 49}"


def test_edits_are_judged_by_path_also_those_that_were_denied() -> None:
    unasked = call("edit_file", "a", call_id="a", changes=(change("src/a.py"),))
    refused = call("edit_file", "b", call_id="b", approval=question(None), decision=Denied())
    request = replace(question(None, call_id="now"), rule_kind="edit")
    past = past_calls(transcript(unasked, refused, asked("ls", "x")), request)
    assert past.subjects == ("src/app.py", "b.py")
    assert past.questions == (("src/app.py", "b.py"),)


def test_tools_are_judged_by_name() -> None:
    request = replace(question(call_id="now"), tool="web_fetch", command=None, rule_kind="tool")
    assert subjects_of(request) == ("web_fetch",)
    searched = replace(question(), tool="web_search", command=None, changes=())
    entries = (call("web_search", "q", call_id="a", approval=searched), asked("ls", "b"))
    assert past_calls(transcript(*entries), request).questions == (("web_search",),)


def test_a_question_of_another_kind_is_passed_over() -> None:
    edit = call("edit_file", "a", call_id="a", approval=question(None))
    assert past_calls(transcript(edit), push()).subjects == ()
