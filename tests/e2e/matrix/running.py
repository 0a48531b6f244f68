"""Rows of the tools that ask the user or whose calls depend on each other."""

from desktop_agent.core.protocol.model import JsonObject
from tests.e2e.matrix.row import Row, fails, ok


def ran(arguments: JsonObject, output: str, **expected: object) -> Row:
    return ok("run_terminal_cmd", arguments, says=(output, '"exit_code": 0'), is_asked=True, **expected)


def failed(arguments: JsonObject, *says: str, case: str, **expected: object) -> Row:
    return fails("run_terminal_cmd", arguments, "recoverable", *says, case=case, is_asked=True, **expected)


RUN_TERMINAL_CMD: tuple[Row, ...] = (
    ran({"command": "echo out; echo err >&2"}, "out\\nerr\\n"),
    ran({"command": "cat a.txt > src/copy.txt", "explanation": "Keeps a copy."}, "",
        changes={"src/copy.txt": b"one\ntwo\nthree\n"}),
    ran({"command": "pwd", "cwd": "src/deep"}, "/src/deep\\n"),
    ran({"command": 'echo "$GREETING $TERM"', "env": {"GREETING": "hi", "TERM": "dumb"}}, "hi dumb"),
    ran({"command": "echo quick", "timeout": 30}, "quick"),
    ran({"command": "tr a-z A-Z", "stdin": "typed\n"}, "TYPED"),
    ran({"command": 'echo "$0"', "shell": "sh"}, "sh"),
    ran({"command": "test -t 1 && echo terminal", "tty": True}, "terminal"),
    ran({"command": "echo free", "with_escalated_permissions": True, "justification": "It must."}, "free"),
    ran({"command": "exec cat", "is_background": True}, "background command dispatched"),
    ran({"command": "echo useless"}, '"output": "useless\\n"'),  # Z-49: nothing is added to a command
    failed({"command": "echo partly; exit 3"}, "partly", '"exit_code": 3', case="T-90 exit code"),  # Z-50
    failed({"command": "echo partly; exec tail -f /dev/null", "timeout": 1}, "command timed out after", "partly",
           '"exit_code": -1', '"timed_out": true', '"truncated": false', case="T-91 timeout"),  # O-05
    fails("run_terminal_cmd", {"command": "echo x", "shell": "python3"}, "validation", "cannot be the shell",
          case="no such shell"),
    fails("run_terminal_cmd", {"command": " "}, "validation", "command must contain text", case="T-86 blank"),
    fails("run_terminal_cmd", {"command": "cat", "stdin": "x", "is_background": True}, "validation",
          "stdin not supported with background jobs", case="T-86 stdin in the background"),
    fails("run_terminal_cmd", {"command": "vim a.txt"}, "validation", "Refusing to run interactive program 'vim'",
          "is_background=true", case="T-88 interactive"),
    fails("run_terminal_cmd", {"command": "echo x", "timeout": 0}, "validation", "timeout", case="Z-47 timeout 0"),
    fails("run_terminal_cmd", {"command": "pwd", "env": {"A=B": "x"}}, "validation", "is not a variable name"),
    fails("run_terminal_cmd", {"command": "echo a\0b"}, "validation", "NUL"),
    fails("run_terminal_cmd", {"command": "pwd", "cwd": "srk"}, "not_found", "Did you mean src", is_asked=True),
    fails("run_terminal_cmd", {"command": "pwd", "cwd": "a.txt"}, "validation", "not a directory", is_asked=True),
    fails("run_terminal_cmd", {"command": "pwd", "cwd": ".."}, "permission", "..", is_asked=True, case="Z-90 outside"),
    fails("run_terminal_cmd", {"command": "sudo -n rm -r -f ./nowhere > x"}, "permission", "approval", status=3,
          case="T-85 dangerous"),
)  # fmt: skip

ENDLESS: tuple[str, JsonObject] = ("run_terminal_cmd", {"command": "exec tail -f /dev/null", "is_background": True})
SHORT: tuple[str, JsonObject] = ("run_terminal_cmd", {"command": "seq 1 20", "is_background": True})
AWAIT: tuple[str, JsonObject] = ("job_control", {"action": "wait", "job_id": "{job_id}"})

JOB_CONTROL: tuple[Row, ...] = (
    ok("job_control", {"action": "list"}, exact={"jobs": []}),
    ok("job_control", {"action": "list"}, before=(ENDLESS,), says=('"state": "running"', "tail -f"), is_asked=True),
    ok("job_control", {"action": "wait", "job_id": "{job_id}", "timeout": 20}, before=(SHORT,),
       says=('"exit_code": 0', "20\\n", '"timed_out": false'), is_asked=True),
    ok("job_control", {"action": "output", "job_id": "{job_id}", "tail_lines": 2}, before=(SHORT, AWAIT),
       has={"output": "19\n20\n", "truncated": True}, is_asked=True),
    ok("job_control", {"action": "output", "job_id": "{job_id}", "tail_bytes": 3}, before=(SHORT, AWAIT),
       has={"output": "20\n"}, is_asked=True),
    ok("job_control", {"action": "wait", "job_id": "{job_id}", "timeout": 0.05}, before=(ENDLESS,),
       has={"timed_out": True}, is_asked=True),
    ok("job_control", {"action": "stop", "job_id": "{job_id}"}, before=(ENDLESS,), says=('"state": "',), is_asked=True),
    fails("job_control", {"action": "stop", "job_id": "job-1"}, "not_found", "There is no job 'job-1'",
          case="Z-47 job"),
    fails("job_control", {"action": "output"}, "validation", "needs a job_id"),
)  # fmt: skip

PLAN: tuple[str, JsonObject] = (
    "todo_write",
    {"todos": [{"id": "1", "content": "look"}, {"id": "2", "content": "do", "status": "in_progress"}]},
)

TODO_WRITE: tuple[Row, ...] = (  # T-98, T-99, Z-84: no row changes a file
    ok("todo_write", {"todos": [{"id": "1", "content": "look", "status": "pending"}]},
       has={"todos": [{"id": "1", "content": "look", "status": "pending"}]}, says=("updated_at",)),
    ok("todo_write", {"merge": True, "todos": [{"id": "2", "status": "completed"}, {"id": "3", "content": "show"}]},
       before=(PLAN,), is_asked=True,
       has={"todos": [{"id": "1", "content": "look", "status": "pending"},
                      {"id": "2", "content": "do", "status": "completed"},
                      {"id": "3", "content": "show", "status": "pending"}]}),
    ok("todo_write", {"todos": [{"id": "9", "content": "else", "status": "cancelled"}]}, before=(PLAN,), is_asked=True,
       has={"todos": [{"id": "9", "content": "else", "status": "cancelled"}]}),
    ok("todo_write", {"todos": [{"id": "1", "content": "look", "status": "in_progress"}]}, says=("in_progress",)),
    fails("todo_write", {"todos": [{"id": "1", "content": "x", "status": "done"}]}, "validation",
          "status must be one of ['pending', 'in_progress', 'completed', 'cancelled']", case="T-97 status"),
    fails("todo_write", {"todos": [{"content": "x"}]}, "validation", "todos.0.id: Field required"),
    fails("todo_write", {"todos": [{"id": "1"}]}, "validation", "needs content"),
    fails("todo_write", {"todos": [{"id": "1", "content": "x"}, {"id": "1", "content": "y"}]}, "validation",
          "Every id may occur once"),
)  # fmt: skip

REQUEST_APPROVAL: tuple[Row, ...] = (
    ok("request_approval", {"action": "Delete it", "reason": "It is old", "details": "rm -r old"},
       exact={"approved": True, "action": "Delete it"}, is_asked=True),
    fails("request_approval", {"action": "Delete it", "reason": "It is old"}, "permission", "did not get one",
          case="T-109 nobody to ask", status=3),
    fails("request_approval", {"action": " ", "reason": "x"}, "validation", "must not be blank"),
)  # fmt: skip

WEB: tuple[Row, ...] = (
    ok("web_search", {"search_term": "release notes"}, says=('"engine": "duckduckgo"', "First", "Second"),
       is_asked=True),
    ok("web_search", {"search_term": "notes", "max_results": 1}, is_asked=True,
       exact={"engine": "duckduckgo",
              "results": [{"title": "First", "link": "https://first.example/", "snippet": "One."}]}),
    fails("web_search", {"search_term": "x"}, "permission", "did not get one", status=3, case="nobody to ask"),
    fails("web_search", {"search_term": ""}, "validation", "search_term"),
    ok("web_fetch", {"url": "{web}/guide"}, says=("Status: 200", "Title: Guide", "Read it."), is_asked=True),
    ok("web_fetch", {"url": "{web}/guide", "max_bytes": 10}, says=("The rest of it was not loaded",), is_asked=True),
    fails("web_fetch", {"url": "{web}/nothing"}, "not_found", "Status: 404", is_asked=True),
    fails("web_fetch", {"url": "{web}/picture"}, "recoverable", "is not text but image/png", is_asked=True),
    fails("web_fetch", {"url": "http://10.0.0.1/"}, "permission", "not on the public internet", is_asked=True),
    fails("web_fetch", {"url": "file:///etc/passwd"}, "validation", "http", is_asked=True),
    fails("web_fetch", {"url": "{web}/guide"}, "permission", "did not get one", status=3, case="nobody to ask"),
)  # fmt: skip

COMMANDS = (*RUN_TERMINAL_CMD, *JOB_CONTROL)
ROWS = (*COMMANDS, *TODO_WRITE, *REQUEST_APPROVAL, *WEB)
