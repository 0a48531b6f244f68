"""The legs of the journey, one per vendor: the user's prompts and the model's answers."""

from dataclasses import dataclass
from itertools import permutations

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.aimock import called, said
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import Answer, reply, text, thinking, tool_use

WRONG, RIGHT = "sum = 1 + 1  # 3\n", "sum = 1 + 1  # 2\n"


@dataclass(frozen=True, eq=False)
class Leg:
    provider: str
    model: str
    dialect: Dialect
    key_variable: str
    key: str

    @property
    def file(self) -> str:
        return f"{self.provider}.py"

    @property
    def task(self) -> str:
        return f"Correct {self.file}, please."

    @property
    def question(self) -> str:
        return f"What was wrong with {self.file}?"

    @property
    def thought(self) -> str:
        return f"The remark in {self.file} is off."

    @property
    def done(self) -> str:
        return f"{self.file} is right now."

    @property
    def explained(self) -> str:
        return f"In {self.file} one and one were three."

    @property
    def edit(self) -> JsonObject:
        return {"path": self.file, "old_str": "# 3", "new_str": "# 2"}

    @property
    def script(self) -> tuple[Answer, ...]:
        begun = reply(thinking(self.thought, signature="c2ln"), text("I look."), tool_use("read_file", path=self.file))
        edited = reply(tool_use("edit_file", **self.edit))
        return (begun, edited, reply(text(self.done)), reply(text(self.explained)))

    @property
    def fixtures(self) -> tuple[JsonObject, ...]:
        """The answers for Aimock, which finds each by the last prompt."""
        return (
            said(self.question, self.explained),
            called(self.task, "edit_file", self.edit, text="I look.", thinking=self.thought),
            said(self.task, self.done, is_after_calls=True),
        )


LEGS = {
    leg.provider: leg
    for leg in (
        Leg("anthropic", "claude-sonnet-5-5", ANTHROPIC, "ANTHROPIC_API_KEY", "sk-ant-journey-0123456789abcdef"),
        Leg("openai", "gpt-6.1-sol", RESPONSES, "OPENAI_API_KEY", "sk-proj-journey-0123456789abcdef"),
        Leg("openai-chat", "gpt-5.4-mini", CHAT, "OPENAI_API_KEY", "sk-proj-journey-0123456789abcdef"),
    )
}

ORDERS = list(permutations(LEGS))
"""All orders, so that each switch between formats occurs."""
