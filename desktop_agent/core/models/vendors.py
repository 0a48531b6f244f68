"""Vendors of models as data: an address, the wire format spoken there, and how a request authenticates.

To add a vendor with a known wire format, add an entry to `VENDORS`. Sources: the vendors' references, November 2026.
"""

from collections.abc import Container, Mapping
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol.model import AGENTS

WireName = Literal["anthropic", "openai-responses", "openai-chat"]

KeyHeader = Literal["bearer", "x-api-key"]
"""How a key is sent: `Authorization: Bearer KEY`, or `x-api-key: KEY`."""

SignInWay = Literal["chatgpt", "openrouter", "profile"]

CloudField = Literal["region", "project", "resource", "workspace_id", "profile"]

_FIELD_VARIABLES: Mapping[CloudField, tuple[str, ...]] = {
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_ML_REGION"),
    "project": ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"),
    "resource": ("ANTHROPIC_FOUNDRY_RESOURCE",),
    "workspace_id": ("ANTHROPIC_AWS_WORKSPACE_ID",),
    "profile": ("AWS_PROFILE",),
}


class Cloud(Struct, frozen=True, kw_only=True):
    """A cloud that offers Claude. Its own tools keep the credentials; Anthropic's SDK finds them."""

    client: Literal["bedrock", "vertex", "foundry", "aws"]
    fields: Mapping[CloudField, str]
    """The fields of an account, each with the client's argument for it. Missing ones come from `variables`."""
    variables: tuple[str, ...]
    """Prefixes of the variables that set the identity, the place and the credentials."""
    place: str
    """The address, with the field that it depends on."""
    domain: str
    sign_in: str
    needed: tuple[CloudField, ...] = ()
    """The fields that the account or the environment must set."""
    extra: str = ""
    """The extra of our package that brings the cloud's library; empty if it is needed only for a sign-in."""
    counts: bool = True
    """Whether tokens can be counted without asking the model."""

    def said_in(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the fields that the environment sets."""
        found: dict[str, str] = {}
        for field in self.fields:
            names = (name for name in _FIELD_VARIABLES[field] if name.startswith(self.variables))
            if value := next(filter(None, (environ.get(name, "").strip() for name in names)), ""):
                found[field] = value
        return found

    def asked_for(self, said: Container[str]) -> tuple[str, ...]:
        """Return the names of the fields to set: those that are required and missing, or else all."""
        missing = [field for field in self.needed if field not in said]
        return tuple(field.removesuffix("_id") for field in missing or self.fields)


class LocalSign(Struct, frozen=True, kw_only=True):
    path: str
    member: str
    """The member that identifies the server, because no other server's answer has it."""
    start: str
    add_model: str
    host_variable: str = ""
    """The server's own environment variable for host and port; empty if it has none."""


class Vendor(Struct, frozen=True, kw_only=True):
    id: str
    label: str
    wire: WireName
    address: str
    """The base address of the vendor's API. It includes the version if the paths of the wire format have none."""
    key_variable: str = ""
    address_variable: str = ""
    model_variable: str = ""
    key_header: KeyHeader = "bearer"
    headers_variable: str = ""
    """The environment variable that holds headers for every request, one on each line."""
    takes_completion_limit: bool = False
    """Whether the vendor's own models know only `max_completion_tokens`, the newer limit of an answer's length."""
    calls_one_by_one: bool = False
    """Whether the vendor's models make several calls in one answer only if a request allows it."""
    takes_cache_key: bool = False
    """Whether the vendor's prompt cache uses a key from the request."""
    cache_marks_for: tuple[str, ...] = ()
    """The beginnings of the names of a router's models that cache only the parts marked in a request."""
    searches: bool = False
    names_sources: bool = False
    search_usd: float | None = None
    """The cost of one search in US dollars. `None` if unknown, or included in the cost that the vendor reports."""
    local: LocalSign | None = None
    models: tuple[str, ...] = ()
    """Models that are offered until the vendor's own list is known. The first one is the default."""
    prices: str = ""
    """The vendor's name in the table of prices; empty if none of its prices are known."""
    effort_field: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"
    """The field of Chat Completions for the level of effort. OpenRouter's is an object that contains the level."""
    reports_cost: bool = False
    cloud: Cloud | None = None
    sign_in: SignInWay | None = None
    """How a user can sign in instead of typing a key; `None` if that is impossible."""
    keys_page: str = ""

    @property
    def is_local(self) -> bool:
        """Whether the vendor is a server on this machine, so that no key is needed and nothing is paid."""
        return self.local is not None

    @property
    def needs_key(self) -> bool:
        return not self.is_local


_CLAUDE = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5")
_GPT = ("gpt-6.1-sol", "gpt-6-astra", "gpt-5.4-mini")
VENDORS: tuple[Vendor, ...] = (
    Vendor(
        id="anthropic", label="Anthropic", wire="anthropic", address="https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY", headers_variable="ANTHROPIC_CUSTOM_HEADERS",
        address_variable="ANTHROPIC_BASE_URL", model_variable="ANTHROPIC_MODEL", models=_CLAUDE, searches=True,
        search_usd=0.01, prices="anthropic", sign_in="profile", keys_page="https://platform.claude.com/settings/keys",
    ),
    Vendor(
        id="bedrock", label="Amazon Bedrock", wire="anthropic", address="https://bedrock-runtime.amazonaws.com",
        key_variable="AWS_BEARER_TOKEN_BEDROCK", address_variable="ANTHROPIC_BEDROCK_BASE_URL",
        models=tuple(f"global.anthropic.{name}" for name in _CLAUDE), prices="aws",
        cloud=Cloud(
            client="bedrock", fields={"region": "aws_region", "profile": "aws_profile"}, variables=("AWS_",),
            place="https://bedrock-runtime.{region}.amazonaws.com", domain="amazonaws.com",
            sign_in="Sign in with `aws sso login`, or set up access with `aws configure`.", extra="bedrock",
            counts=False,
        ),
        sign_in="profile",
    ),
    Vendor(
        id="vertex", label="Google Vertex AI", wire="anthropic", address="https://aiplatform.googleapis.com/v1",
        address_variable="ANTHROPIC_VERTEX_BASE_URL", models=_CLAUDE, prices="google",
        cloud=Cloud(
            client="vertex", fields={"region": "region", "project": "project_id"},
            variables=("GOOGLE_", "CLOUDSDK_", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"),
            place="https://{region}-aiplatform.googleapis.com/v1", domain="googleapis.com",
            sign_in="Sign in with `gcloud auth application-default login`, or name a key file in "
            "GOOGLE_APPLICATION_CREDENTIALS.",
            needed=("region",), extra="vertex",
        ),
        sign_in="profile",
    ),
    Vendor(
        id="foundry", label="Microsoft Foundry", wire="anthropic", address="https://services.ai.azure.com/anthropic",
        key_variable="ANTHROPIC_FOUNDRY_API_KEY", address_variable="ANTHROPIC_FOUNDRY_BASE_URL", models=_CLAUDE,
        prices="anthropic",
        cloud=Cloud(
            client="foundry", fields={"resource": "resource"}, variables=("AZURE_", "ANTHROPIC_FOUNDRY_"),
            place="https://{resource}.services.ai.azure.com/anthropic", domain="services.ai.azure.com",
            sign_in="Sign in with `az login`, or use a key of the resource.", needed=("resource",), extra="foundry",
        ),
        sign_in="profile",
    ),
    Vendor(
        id="aws", label="Claude Platform on AWS", wire="anthropic", address="https://aws-external-anthropic.api.aws",
        key_variable="ANTHROPIC_AWS_API_KEY", address_variable="ANTHROPIC_AWS_BASE_URL", models=_CLAUDE,
        prices="anthropic",
        cloud=Cloud(
            client="aws", fields={"region": "aws_region", "workspace_id": "workspace_id", "profile": "aws_profile"},
            variables=("AWS_", "ANTHROPIC_AWS_"), place="https://aws-external-anthropic.{region}.api.aws",
            domain="api.aws", sign_in="Sign in with `aws sso login`, or set up access with `aws configure`.",
            needed=("region", "workspace_id"), extra="bedrock",
        ),
        sign_in="profile",
    ),
    Vendor(
        id="openai", label="OpenAI", wire="openai-responses", takes_cache_key=True, searches=True, names_sources=True,
        search_usd=0.01, address="https://api.openai.com/v1", key_variable="OPENAI_API_KEY",
        address_variable="OPENAI_BASE_URL", models=_GPT, prices="openai", sign_in="chatgpt",
        keys_page="https://platform.openai.com/api-keys",
    ),
    Vendor(
        id="openai-chat", label="OpenAI, Chat Completions", takes_completion_limit=True, takes_cache_key=True,
        wire="openai-chat", address="https://api.openai.com/v1", key_variable="OPENAI_API_KEY",
        address_variable="OPENAI_BASE_URL", models=_GPT, prices="openai",
        keys_page="https://platform.openai.com/api-keys",
    ),
    Vendor(
        id="openrouter", label="OpenRouter", wire="openai-chat", address="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY", models=("anthropic/claude-sonnet-5.5",),
        cache_marks_for=("anthropic/", "~anthropic/"), searches=True, prices="openrouter", reports_cost=True,
        effort_field="reasoning", sign_in="openrouter", keys_page="https://openrouter.ai/settings/keys",
    ),
    Vendor(
        id="xai", label="xAI", wire="openai-responses", address="https://api.x.ai/v1", key_variable="XAI_API_KEY",
        models=("grok-4.7", "grok-4.5"), searches=True, prices="x-ai", keys_page="https://console.x.ai",
    ),
    Vendor(
        id="ollama", label="Ollama", wire="openai-chat", address="http://127.0.0.1:11434/v1",
        local=LocalSign(
            path="/api/version", member="version", start="Start it with `ollama serve`.",
            add_model="Get one with `ollama pull NAME`.", host_variable="OLLAMA_HOST",
        ),
    ),
    Vendor(
        id="lmstudio", label="LM Studio", wire="openai-responses", address="http://127.0.0.1:1234/v1",
        local=LocalSign(
            path="/api/v0/models", member="data",
            start="Start its server with `lms server start`, or in its Developer tab.",
            add_model="Get one in LM Studio, or with `lms get NAME`.",
        ),
    ),
    Vendor(
        id="llamacpp", label="llama.cpp", wire="openai-chat", calls_one_by_one=True,
        address="http://127.0.0.1:8080/v1",
        local=LocalSign(
            path="/props", member="default_generation_settings", start="Start it with `llama-server -m MODEL.gguf`.",
            add_model="Start it with one: `llama-server -m MODEL.gguf`.",
        ),
    ),
)  # fmt: skip

DEMO = "demo"

PROVIDER_IDS: tuple[str, ...] = (*(vendor.id for vendor in VENDORS), DEMO)

PROVIDER_LABELS = {vendor.id: vendor.label for vendor in VENDORS} | {
    DEMO: "Demo, without a key", AGENTS: "An agent of another program"
}  # fmt: skip

_BY_ID = {vendor.id: vendor for vendor in VENDORS}


def vendor_of(provider: str) -> Vendor:
    """Return a vendor. Raises `UsageError`, which names the known vendors."""
    if vendor := known_vendor(provider):
        return vendor
    raise UsageError(f"There is no provider {provider!r}.", hint=f"Known providers: {', '.join(PROVIDER_IDS)}.")


def known_vendor(provider: str) -> Vendor | None:
    """Return this vendor; `None` for the demo, and for a vendor in a journal that no longer exists."""
    return _BY_ID.get(provider)


def local_sign(provider: str) -> LocalSign:
    sign = vendor_of(provider).local
    assert sign is not None, "only servers of this machine are looked for"
    return sign


def usual_model(provider: str) -> str:
    """Return the model to start with. Raises `UsageError` if only the server knows its models."""
    if provider == DEMO:
        return DEMO
    if provider == AGENTS:
        raise UsageError("Which agent?", hint="Choose one below the message field, or name one with --agent.")
    vendor = vendor_of(provider)
    if not vendor.models:
        raise UsageError(f"Which model of {vendor.label}?", hint="Name one in the settings, or with --model.")
    return vendor.models[0]


ServerState = Literal["running", "starting", "not_running", "locked", "silent", "other"]
"""The answer at an address. `locked`: asks for a key. `silent`: no answer. `other`: another program."""


class LocalServer(Struct, frozen=True, kw_only=True):
    provider: str
    address: str
    state: ServerState
    models: tuple[str, ...] = ()
    instead: str = ""
    """The id of the vendor whose server answers at the address instead, if it is known."""

    @property
    def label(self) -> str:
        return vendor_of(self.provider).label

    @property
    def place(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def is_usable(self) -> bool:
        return self.state == "running" and bool(self.models)

    @property
    def usual_model(self) -> str:
        return next(iter(self.models), "")

    @property
    def title(self) -> str:
        return self._said[0]

    @property
    def hint(self) -> str:
        return self._said[1]

    @property
    def _said(self) -> tuple[str, str]:
        match self.state:
            case "running":
                hint = "" if self.models else local_sign(self.provider).add_model
                return f"{self.label} runs on {self.place}, {_counted(len(self.models))}.", hint
            case "starting":
                return f"{self.label} on {self.place} is still loading its model.", "Look again in a moment."
            case "not_running":
                return f"{self.label} is not running on {self.place}.", local_sign(self.provider).start
            case "locked":
                hint = f"If that is {self.label}, enter its key in Settings."
                return f"What runs on {self.place} wants a key.", hint
            case "silent":
                hint = f"Look again in a moment, or restart {self.label}."
                return f"Something runs on {self.place} and does not answer.", hint
            case "other":
                what = vendor_of(self.instead).label if self.instead else "Something else"
                hint = f"If {self.label} runs on another port, add an account with its address in Settings."
                return f"{what} answers on {self.place}, not {self.label}.", hint

    @property
    def words(self) -> str:
        return f"{self.title} {self.hint}".strip()


def _counted(models: int) -> str:
    return {0: "without a model", 1: "with one model"}.get(models, f"with {models} models")
