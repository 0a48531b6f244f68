"""An agent that follows a script: `python scripted_agent.py SCRIPT [LOG]`. It writes files and runs commands by itself.

SCRIPT is JSON: `{"answers": {method: result}, "options": [option, …], "prompts": [[step, …], …]}`. With
`"account": file` it opens a session only when the file exists; `authenticate` makes it, in memory if `file` is "", and
so does the argument `--login` in a terminal, after a line of input. The method "wait" writes to `file`-waits, for ever.
Before it answers `session/load`, it tells its `"replay": [update, …]`. `{"exit": code}` is no answer, but its end. A
step is one of

    {"update": {…}}                        tells
    {"ask": {…toolCall}, "options": [{…}]} asks for permission, and leaves out the steps up to `end` if it gets none;
                                           with `"waits": false`, it tells `then` and goes on
    {"end": true}
    {"request": method, "params": {…}}     asks for something else, and says the answer; TERMINAL in any later step is
                                           the id of the last terminal that it was given
    {"stream": text, "piece": n, "rate": n} says a text in pieces of n characters, so many a second
    {"await": method}                      goes on when the client has sent this
    {"after": step}                        a step after the end of the prompt
    {"write": [path, text]}, {"run": command}, {"print": text}, {"exit": code}, {"hang": true}, {"stop": reason}

LOG gets every line of both sides.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

SCRIPT = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
LOG = Path(sys.argv[2]) if len(sys.argv) > 2 and "--login" not in sys.argv else None
KIND = {"allow_once": True, "allow_always": True}
WRITING = threading.Lock()


def log(side: str, line: str) -> None:
    if LOG is not None:
        with LOG.open("a", encoding="utf-8") as file:
            file.write(f"{side} {line}\n")


def send(message: dict[str, Any]) -> None:
    line = json.dumps({"jsonrpc": "2.0", **message})
    with WRITING:
        log("<", line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Agent:
    def __init__(self) -> None:
        self.cwd = ""
        self.count = int(os.environ.get("DONE_PROMPTS", "0"))
        self.asked = 0
        self.terminal = "none"
        self.answers: dict[int, dict[str, Any]] = {}
        self.heard: list[str] = []
        self.came = threading.Condition()
        self.is_cancelled = False
        self.options: list[dict[str, Any]] = SCRIPT.get("options", [])
        self.is_signed_in = False

    def take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        with self.came:
            self.heard.append(str(method))
            self.came.notify_all()
        if method is None:
            with self.came:
                self.answers[number or 0] = message
                self.came.notify_all()
        elif method == "session/cancel":
            with self.came:
                self.is_cancelled = True
                self.came.notify_all()
        elif method == "session/prompt" and method not in SCRIPT.get("answers", {}):
            threading.Thread(target=self.prompt, args=(number, message["params"]), daemon=True).start()
        elif number is not None:
            self.answer(str(method), number, message["params"])

    def answer(self, method: str, number: object, params: dict[str, Any]) -> None:
        self.cwd = params.get("cwd", self.cwd)
        if method == "session/set_config_option":
            for option in self.options:
                if option["id"] == params["configId"]:
                    option["currentValue"] = params["value"]
        options = {"configOptions": self.options} if self.options else {}
        if method == "authenticate" and params["methodId"] == "wait":
            Path(SCRIPT["account"] + "-waits").write_text("it waits", encoding="utf-8")
            return
        if method == "authenticate" and "account" in SCRIPT:
            self.is_signed_in = True
            if SCRIPT["account"]:
                Path(SCRIPT["account"]).write_text(params["methodId"], encoding="utf-8")
        is_out = "account" in SCRIPT and not self.is_signed_in and not Path(SCRIPT["account"] or "/no such").exists()
        if method == "session/new" and is_out:
            send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
            return
        usual: dict[str, Any] = {
            "initialize": {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1"}},
            "session/new": {"sessionId": f"session-{os.getpid()}"} | options,
            "session/set_config_option": options,
            "session/set_mode": {},
            "authenticate": {},
        }
        if method == "session/load":
            for update in SCRIPT.get("replay", []):
                send({"method": "session/update", "params": {"sessionId": params["sessionId"], "update": update}})
        self.reply(number, SCRIPT.get("answers", {}).get(method, usual.get(method)))

    def reply(self, number: object, found: dict[str, Any] | None) -> None:
        if found is None:
            send({"id": number, "error": {"code": -32601, "message": "no such method"}})
        elif "exit" in found:
            os._exit(found["exit"])
        else:
            send({"id": number, "error" if "code" in found else "result": found})

    def prompt(self, number: object, params: dict[str, Any]) -> None:
        session, self.is_cancelled = params["sessionId"], False
        steps = SCRIPT["prompts"][self.count]
        self.count += 1
        reason, is_left_out = "end_turn", False
        for told in steps:
            step = json.loads(json.dumps(told).replace("TERMINAL", self.terminal))
            if self.is_cancelled and step.get("hang") != "for ever":
                reason = "cancelled"
                break
            if is_left_out:
                is_left_out = "end" not in step
            elif "ask" in step and step.get("waits") is False:
                threading.Thread(target=self.may, args=(session, step), daemon=True).start()
                send({"method": "session/update", "params": {"sessionId": session, "update": step["then"]}})
            elif "ask" in step:
                is_left_out = not self.may(session, step)
            elif "stop" in step:
                reason = step["stop"]
            else:
                self.carry_out(session, step)
        send({"id": number, "result": {"stopReason": "cancelled" if self.is_cancelled else reason}})
        for step in steps:
            if "after" in step:
                self.carry_out(session, step["after"])

    def carry_out(self, session: str, step: dict[str, Any]) -> None:
        if "update" in step:
            send({"method": "session/update", "params": {"sessionId": session, "update": step["update"]}})
        elif "request" in step:
            answer = self.asked_for(step["request"], {"sessionId": session, **step["params"]})
            self.terminal = answer.get("result", {}).get("terminalId", self.terminal)
            text = json.dumps(answer.get("result", answer.get("error"))) + "\n"
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
            send({"method": "session/update", "params": {"sessionId": session, "update": update}})
        elif "stream" in step:
            self.stream(session, step["stream"], step["piece"], step["rate"])
        elif "await" in step:
            with self.came:
                self.came.wait_for(lambda: step["await"] in self.heard)
        elif "write" in step:
            path, text = step["write"]
            Path(self.cwd, path).write_bytes(text.encode())
        elif "run" in step:
            program = ["bash", "-c", step["run"]]
            subprocess.run(program, cwd=self.cwd, check=False, stdout=subprocess.DEVNULL)  # noqa: TID251 - a program
        elif "print" in step:
            sys.stdout.write(step["print"])
            sys.stdout.flush()
        elif "exit" in step:
            os._exit(step["exit"])
        elif "hang" in step:
            with self.came:
                self.came.wait_for(lambda: self.is_cancelled and step["hang"] != "for ever")

    def stream(self, session: str, text: str, piece: int, rate: float) -> None:
        begun = time.monotonic()
        for number, at in enumerate(range(0, len(text), piece)):
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))  # noqa: TID251 - a program
            said = {"type": "text", "text": text[at : at + piece]}
            self.carry_out(session, {"update": {"sessionUpdate": "agent_message_chunk", "content": said}})

    def asked_for(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        number = self.asked
        send({"id": number, "method": method, "params": params})
        with self.came:
            self.came.wait_for(lambda: number in self.answers)
        return self.answers[number]

    def may(self, session: str, step: dict[str, Any]) -> bool:
        kinds = {"allow_once": "Allow once", "reject_once": "Reject"}
        usual = [{"optionId": kind, "name": name, "kind": kind} for kind, name in kinds.items()]
        options = step.get("options", usual)
        params = {"sessionId": session, "toolCall": step["ask"], "options": options}
        outcome = self.asked_for("session/request_permission", params).get("result", {}).get("outcome", {})
        kinds = {option["optionId"]: option["kind"] for option in options}
        return kinds.get(outcome.get("optionId"), "") in KIND


def main() -> None:
    if "--login" in sys.argv:
        sys.stdout.write(f"Signing in as {os.environ['WHO']}. Type yes: ")
        sys.stdout.flush()
        if sys.stdin.readline().strip() != "yes":
            sys.exit(4)
        Path(SCRIPT["account"]).write_text("terminal", encoding="utf-8")
        return
    agent = Agent()
    for line in sys.stdin:
        log(">", line.rstrip("\n"))
        agent.take(json.loads(line))


main()
