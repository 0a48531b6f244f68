"""The model server as a process of its own, for people and for tests that kill.

`python -m tests.servers.process --dialect chat --script answers.json` prints its port, and then a line of JSON for
every request, body and all, and for every stall.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text
from tests.servers.script_files import answers_from_json

_DIALECTS: Mapping[str, Dialect] = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.process",
        description="A model on loopback that answers from a script.",
        epilog='example of a script: [{"text": "Hello."}, {"status": 529, "error_type": "overloaded_error"}]',
    )
    parser.add_argument("--dialect", choices=_DIALECTS, default="anthropic", help="the wire format")
    parser.add_argument("--script", type=Path, help="a JSON list of answers (default: one greeting)")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--no-check", action="store_true", help="do not check requests against the SDK's types")
    options = parser.parse_args(arguments)
    script = answers_from_json(json.loads(options.script.read_text())) if options.script else [reply(text("Hello."))]
    dialect = _DIALECTS[options.dialect]
    is_checking = not options.no_check
    server = ModelServer(*script, dialect=dialect, port=options.port, is_checking=is_checking, on_event=_tell)
    with suppress(KeyboardInterrupt), asyncio.Runner() as runner:
        runner.run(_serve_for_ever(server))


async def _serve_for_ever(server: ModelServer) -> None:
    async with server:
        _say(str(server.port))
        await asyncio.Event().wait()


def _tell(event: JsonObject) -> None:
    _say(json.dumps(event))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
