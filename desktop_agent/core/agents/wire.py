"""Parses what agents send over the Agent Client Protocol, version 1. Unknown fields and kinds are ignored.

Source: the protocol's published JSON schema (`schema/v1/schema.json` of `@agentclientprotocol/sdk`).
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Final, Literal, TypeVar, cast

from msgspec import Meta, Struct, ValidationError, convert, field

from desktop_agent.core.agents.peer import INVALID_PARAMS, RpcError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.protocol.model import JsonObject

VERSION: Final = 1

T = TypeVar("T")

_Text = Annotated[str, Meta(max_length=4 * 2**20)]
_Name = Annotated[str, Meta(max_length=4096)]
_Count = Annotated[int, Meta(ge=0)]

CallKind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other",
]  # fmt: skip
CallStatus = Literal["pending", "in_progress", "completed", "failed"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class _Wire(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


# -- the agent itself --


class Implementation(_Wire, frozen=True):
    name: _Name = ""
    title: _Name | None = None
    version: _Name = ""


class AuthMethod(_Wire, frozen=True):
    id: _Name
    name: _Name
    description: _Name | None = None
    type: str = ""
    """`terminal`: the same program, with more arguments and variables, signs in when it runs in a terminal."""
    args: tuple[_Name, ...] = ()
    env: dict[_Name, _Name] = field(default_factory=dict[str, str])
    vars: tuple[JsonObject, ...] = ()
    var_name: _Name = ""
    """The variable with a key that agents of an earlier draft wanted (`env_var`)."""
    meta: JsonObject = field(name="_meta", default_factory=dict[str, object])

    def command(self, agent: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the command line that signs in, in a terminal, and its variables; empty if the agent names none.

        `agent` starts the agent. Copilot names a program of its own, and Qwen its arguments, in older forms; Vibe puts
        its own path before its arguments.
        """
        own = as_object(self.meta.get("terminal-auth"))
        if self.type == "terminal":
            says_itself = [PurePath(word).stem for word in self.args[:1]] == [PurePath(agent[0]).stem]
            return (*agent, *(self.args[1:] if says_itself else self.args)), self.env
        if self.meta.get("type") == "terminal":
            return (*agent, *_texts(self.meta.get("args"))), {}
        program, env = own.get("command"), as_object(own.get("env"))
        line = (program, *_texts(own.get("args"))) if isinstance(program, str) and program else ()
        return line, {name: str(value) for name, value in env.items()}

    @property
    def variables(self) -> tuple[str, ...]:
        named = (text_in(one, "name") for one in self.vars)
        return tuple(filter(None, (self.var_name, *named))) if self.type == "env_var" else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()


class PromptCapabilities(_Wire, frozen=True):
    image: bool = False
    embedded_context: bool = False


class McpCapabilities(_Wire, frozen=True):
    http: bool = False
    sse: bool = False


class AgentCapabilities(_Wire, frozen=True):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: JsonObject = field(default_factory=dict[str, object])


class Initialized(_Wire, frozen=True):
    protocol_version: int
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: tuple[AuthMethod, ...] = ()
    agent_info: Implementation | None = None
    meta: JsonObject | None = field(name="_meta", default=None)

    @property
    def takes_messages(self) -> bool:
        """Whether it takes messages into a running turn: an extension of Claude's and Codex's adapters, and others."""
        return as_object((self.meta or {}).get("steering")).get("supported") is True

    @property
    def can_resume(self) -> bool:
        return self.agent_capabilities.session_capabilities.get("resume") is not None


class Mode(_Wire, frozen=True):
    id: _Name
    name: _Name
    description: _Name | None = None


class AgentModes(_Wire, frozen=True):
    current_mode_id: _Name
    available_modes: tuple[Mode, ...] = ()


class OptionChoice(_Wire, frozen=True):
    value: _Name
    name: _Name
    description: _Name | None = None


class OptionGroup(_Wire, frozen=True):
    name: _Name
    options: tuple[OptionChoice, ...]


class ConfigOption(_Wire, frozen=True):
    id: _Name
    name: _Name
    type: str = "select"
    category: _Name | None = None
    description: _Name | None = None
    current_value: str | bool = ""
    options: tuple[JsonObject, ...] = ()

    @property
    def choices(self) -> tuple[OptionChoice, ...]:
        """All values to choose from, also those in groups."""
        found: list[OptionChoice] = []
        for each in self.options:
            with suppress(ValidationError):  # one that cannot be read cannot be chosen
                if "options" in each:
                    found += convert(each, learned(OptionGroup)).options
                else:
                    found.append(convert(each, learned(OptionChoice)))
        return tuple(found)


class SessionOffers(_Wire, frozen=True):
    """The answer to `session/new`, `session/load` and `session/resume`; only the first has an id."""

    session_id: _Name = ""
    modes: AgentModes | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class PromptUsage(_Wire, frozen=True):
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cached_read_tokens: _Count | None = None
    cached_write_tokens: _Count | None = None


class PromptEnd(_Wire, frozen=True):
    stop_reason: StopReason
    usage: PromptUsage | None = None


class SteeringEnd(_Wire, frozen=True):
    outcome: _Name
    """`injected` into the turn. If no turn ran: `promptRequired`, or the agent `startedNewTurn` by itself."""

    @property
    def is_taken(self) -> bool:
        return self.outcome == "injected"

    @property
    def has_begun_anew(self) -> bool:
        return self.outcome == "startedNewTurn"


# -- updates of a session --


class ContentBlock(_Wire, frozen=True):
    type: str
    text: _Text = ""
    uri: _Name = ""
    name: _Name = ""
    mime_type: _Name | None = None
    resource: JsonObject = field(default_factory=dict[str, object])


class Location(_Wire, frozen=True):
    path: _Name
    line: _Count | None = None


class CallContent(_Wire, frozen=True):
    """Part of what a call shows: `content`, a `diff` of a file, or the `terminal` that runs."""

    type: str
    content: ContentBlock | None = None
    path: _Name = ""
    old_text: _Text | None = None
    new_text: _Text = ""
    terminal_id: _Name = ""


class CallFields(_Wire, frozen=True):
    """A call, or an update of one: fields that are `None` are unchanged."""

    tool_call_id: _Name
    title: _Text | None = None
    name: _Name | None = None
    kind: str | None = None
    status: CallStatus | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: object = None
    raw_output: object = None
    meta: JsonObject | None = field(name="_meta", default=None)

    @property
    def terminals(self) -> frozenset[str]:
        return frozenset(one.terminal_id for one in self.content or () if one.type == "terminal")


class _Update(_Wire, frozen=True, tag_field="sessionUpdate"):
    pass


class UserChunk(_Update, frozen=True, tag="user_message_chunk"):
    content: ContentBlock
    message_id: _Name | None = None


class MessageChunk(_Update, frozen=True, tag="agent_message_chunk"):
    content: ContentBlock
    message_id: _Name | None = None


class ThoughtChunk(_Update, frozen=True, tag="agent_thought_chunk"):
    content: ContentBlock
    message_id: _Name | None = None


class CallBegun(CallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call"):
    pass


class CallUpdated(CallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call_update"):
    pass


class PlanEntry(_Wire, frozen=True):
    content: _Text
    status: Literal["pending", "in_progress", "completed"] = "pending"


class PlanUpdated(_Update, frozen=True, tag="plan"):
    entries: tuple[PlanEntry, ...]


class SlashCommand(_Wire, frozen=True):
    name: _Name
    description: _Name = ""
    input: JsonObject | None = None


class CommandsUpdated(_Update, frozen=True, tag="available_commands_update"):
    available_commands: tuple[SlashCommand, ...]


class ModeUpdated(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: _Name


class OptionsUpdated(_Update, frozen=True, tag="config_option_update"):
    config_options: tuple[ConfigOption, ...]


class InfoUpdated(_Update, frozen=True, tag="session_info_update"):
    title: _Text | None = None


class SessionCost(_Wire, frozen=True):
    amount: Annotated[float, Meta(ge=0, le=sys.float_info.max)]
    currency: _Name


class UsageUpdated(_Update, frozen=True, tag="usage_update"):
    used: _Count
    size: _Count
    cost: SessionCost | None = None


class NoticeGiven(_Update, frozen=True, tag="notice"):
    title: _Text
    severity: Literal["info", "warning", "error"] = "info"
    description: _Text | None = None


class CompactionUpdated(_Update, frozen=True, tag="compaction_update"):
    compaction_id: _Name
    status: str
    error: _Text | None = None


Update = (
    UserChunk
    | MessageChunk
    | ThoughtChunk
    | CallBegun
    | CallUpdated
    | PlanUpdated
    | CommandsUpdated
    | ModeUpdated
    | OptionsUpdated
    | InfoUpdated
    | UsageUpdated
    | NoticeGiven
    | CompactionUpdated
)


class Updated(_Wire, frozen=True):
    session_id: _Name
    update: Update


class PermissionOption(_Wire, frozen=True):
    option_id: _Name
    name: _Name
    kind: OptionKind


class PermissionAsked(_Wire, frozen=True):
    session_id: _Name
    tool_call: CallFields
    options: tuple[PermissionOption, ...]


class ReadAsked(_Wire, frozen=True):
    path: _Name
    line: Annotated[int, Meta(ge=1)] | None = None
    limit: _Count | None = None


class WriteAsked(_Wire, frozen=True):
    path: _Name
    content: Annotated[str, Meta(max_length=16 * 2**20)]


class Variable(_Wire, frozen=True):
    name: _Name
    value: _Text


class TerminalAsked(_Wire, frozen=True):
    command: _Text
    args: tuple[_Text, ...] | None = None
    env: tuple[Variable, ...] | None = None
    cwd: _Name | None = None
    output_byte_limit: _Count | None = None


class TerminalNamed(_Wire, frozen=True):
    terminal_id: _Name


class ElicitationAsked(_Wire, frozen=True):
    message: _Text
    mode: Literal["form", "url"]
    requested_schema: JsonObject = field(default_factory=dict[str, object])
    url: _Name = ""


def read_update(params: JsonObject) -> Updated | str:
    """Return the update, or the name of its kind if that is unknown here. Raises `RpcError`."""
    kind = as_object(params.get("update")).get("sessionUpdate")
    if isinstance(kind, str) and kind not in _KINDS:
        return kind[:100]
    return read(params, Updated)


_KINDS: Final = frozenset(str(each.__struct_config__.tag) for each in Update.__args__)


def read(params: JsonObject, kind: type[T]) -> T:
    """Raises `RpcError` if parameters or an answer do not match the protocol."""
    try:
        return convert(params, learned(kind))
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"This is not as the protocol says: {error}.") from error
