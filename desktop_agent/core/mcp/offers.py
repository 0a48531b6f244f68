"""What a server says of itself and offers, and what a call comes to, without the SDK's types.

Every text in here was written by a server and is not to be trusted.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Era = Literal["stateless", "handshake"]
"""`stateless`: protocol 2026-07-28 and later. `handshake`: those before it, which begin with `initialize`."""


class OfferedTool(Struct, frozen=True, kw_only=True):
    """One tool, by the server's own name."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, object] = field(default_factory=dict[str, object])
    only_reads: bool | None = None
    """What the server claims of its effects: a hint, which never widens what may be done."""
    destroys: bool | None = None
    view: str = ""
    """The address of the interactive view that it has, which is not shown here; empty without one."""
    unusable: str = ""
    """Why it cannot be used here, in a sentence; empty when it can."""
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])
    """All that it claims, by the protocol's names."""


class PromptArgument(Struct, frozen=True, kw_only=True):
    """What a prompt is made with."""

    name: str
    is_required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt that the server writes, by its own name."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class OfferedResource(Struct, frozen=True, kw_only=True):
    """Something that the server lets its clients read, by its address there."""

    uri: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""
    size: int | None = None
    """In bytes, if the server says so."""


class ResourceTemplate(Struct, frozen=True, kw_only=True):
    """Any number of resources: an address (RFC 6570) with names in braces in place of its parts."""

    uri_template: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""


class ServerFacts(Struct, frozen=True, kw_only=True):
    """Who answers, and how."""

    protocol: str
    """The version that is spoken, such as `2026-07-28`."""
    era: Era
    name: str = ""
    version: str = ""
    instructions: str = ""
    has_tools: bool = False
    has_resources: bool = False
    has_prompts: bool = False
    has_completions: bool = False
    """Whether it knows what the parts of a template may be."""
    unused: tuple[str, ...] = ()
    """What else it says that it can do and is not used here: extensions by their identifiers, others in words."""


class TextPart(Struct, frozen=True):
    """Text for the model."""

    text: str


class MediaPart(Struct, frozen=True):
    """A picture, a sound, or a file that is not text."""

    content: bytes
    media_type: str
    uri: str = ""


class ResourcePart(Struct, frozen=True):
    """A resource of the server that is text, whole."""

    uri: str
    text: str
    media_type: str = ""


class LinkPart(Struct, frozen=True):
    """A resource of the server that can be read by its address."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


Part = TextPart | MediaPart | ResourcePart | LinkPart


class CallReply(Struct, frozen=True, kw_only=True):
    """What a call came to. A failure that the server reports is a reply, too, for the model to read."""

    parts: tuple[Part, ...] = ()
    structured: object = None
    """A JSON value; None when the server sent none."""
    is_error: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    """How far a call is: `done` of `total`, in whatever the server counts; `total` is None when it does not say."""

    done: float
    total: float | None = None
    message: str = ""
