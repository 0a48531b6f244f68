"""Every name that is exported: spans, their attributes, metrics with their units and attributes.

Names that begin with `gen_ai.`, `mcp.` and `error.` are OpenTelemetry's:
https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

CONVENTIONS_VERSION = "1.41.0"
"""The last version with GenAI in it: ADR 20."""
SCHEMA_URL = f"https://opentelemetry.io/schemas/{CONVENTIONS_VERSION}"

SERVICE_NAME = "desktop-agent"
SCOPE = "desktop_agent"

OTHER = "_OTHER"
"""Exported instead of the name of a tool that does not exist, which could be anything."""

OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT_NAME = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - of a model
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
ERROR_TYPE = "error.type"
MCP_METHOD = "mcp.method.name"
MCP_PROTOCOL = "mcp.protocol.version"

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
CONTENTS = frozenset({INPUT_MESSAGES, OUTPUT_MESSAGES, CALL_ARGUMENTS, CALL_RESULT})
"""The attributes with contents, which are exported only if the user asked for them."""

TURN = "desktop_agent.turn"
END_REASON = "desktop_agent.turn.end_reason"
REQUESTS = "desktop_agent.turn.requests"
PURPOSE = "desktop_agent.request.purpose"
TOOL_SOURCE = "desktop_agent.tool.source"
OUTPUT_BYTES = "desktop_agent.tool.output_bytes"
TRUNCATED = "desktop_agent.tool.truncated"
PROMPT_KIND = "desktop_agent.approval.kind"
DECISION = "desktop_agent.approval.decision"
AUTOMATIC = "desktop_agent.compaction.automatic"
TOKENS_BEFORE = "desktop_agent.compaction.tokens_before"
TOKENS_AFTER = "desktop_agent.compaction.tokens_after"
SERVER = "desktop_agent.mcp.server"

AGENT_SPAN = "invoke_agent"
REQUEST_SPAN = "chat"
CALL_SPAN = "execute_tool"
APPROVAL_SPAN = "approval"
COMPACTION_SPAN = "compaction"
SERVER_SPAN = "initialize"

MetricKind = Literal["counter", "histogram", "gauge"]


class MetricForm(Struct, frozen=True):
    name: str
    kind: MetricKind
    unit: str
    text: str
    attributes: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_SHORT_S = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_LONG_S = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_REQUEST_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_BYTES = (0, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 16777216)
_CALLS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

METRICS = (
    TOOL_DURATION := MetricForm(
        "tool_duration_seconds", "histogram", "s",
        "how long calls took, without waiting for the user", ("tool", "success"), _SHORT_S,
    ),
    TOOL_CALLS := MetricForm(
        "tool_calls_total", "counter", "{call}", "calls, whatever became of them", ("tool",)
    ),
    TOOL_ERRORS := MetricForm(
        "tool_errors_total", "counter", "{call}",
        "calls that failed, were refused, stopped or not run", ("tool", "error_type"),
    ),
    TOOL_OUTPUT := MetricForm(
        "tool_output_bytes", "histogram", "By", "how much calls returned, all of it", ("tool", "truncated"), _BYTES
    ),
    BATCH_SIZE := MetricForm(
        "parallel_batch_size", "histogram", "{call}", "how many calls ran side by side", buckets=_CALLS
    ),
    TURN_DURATION := MetricForm(
        "turn_duration_seconds", "histogram", "s", "how long turns took", ("reason",), _LONG_S
    ),
    CONTEXT_TOKENS := MetricForm(
        "context_tokens", "gauge", "{token}", "how much the next request takes, as measured last"
    ),
    TOKENS := MetricForm(
        "tokens_total", "counter", "{token}",
        "tokens that were paid for; `input` is what came from no cache", (TOKEN_TYPE, MODEL),
    ),
    COMPACTIONS := MetricForm(
        "compactions_total", "counter", "{compaction}", "summaries of conversations", ("automatic", "success")
    ),
    DROPS := MetricForm(
        "context_drops_total", "counter", "{item}",
        "what the model no longer sees whole: results that were shortened, pins whose time was over", ("kind",),
    ),
    POLICY_PROMPTS := MetricForm(
        "policy_prompts_total", "counter", "{prompt}", "questions to the user, with their answer", ("kind", "decision")
    ),
    MCP_FETCHES := MetricForm(
        "mcp_fetches_total", "counter", "{fetch}",
        "lists of tools and resources that came from MCP servers", (MCP_METHOD,),
    ),
    MCP_FAILURES := MetricForm(
        "mcp_failures_total", "counter", "{failure}",
        "servers that did not start or broke off, resources that could not be fetched, calls that failed",
        (MCP_METHOD,),
    ),
    TOKEN_USAGE := MetricForm(
        "gen_ai.client.token.usage", "histogram", "{token}",
        "tokens of each request; `input` has those from a cache", (OPERATION, PROVIDER, MODEL, TOKEN_TYPE), _TOKENS,
    ),
    REQUEST_DURATION := MetricForm(
        "gen_ai.client.operation.duration", "histogram", "s",
        "how long each try of a request took", (OPERATION, PROVIDER, MODEL, PURPOSE, ERROR_TYPE), _REQUEST_S,
    ),
)  # fmt: skip

_PROVIDERS: Mapping[str, str] = {"openai-chat": "openai", "xai": "x_ai"}


def provider_name(provider: str) -> str:
    return _PROVIDERS.get(provider, provider)
