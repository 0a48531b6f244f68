"""What the prompts of a session may mention: files, symbols, sessions, resources of servers, what was pasted."""

from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.composition.tool_parts import ToolParts
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.pasted import PastedContents, PastedMentions
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions


def build_mentions(shared: SharedParts, plan: SessionPlan, parts: ToolParts) -> PromptMentions:
    """Return what fetches what the prompts of one session mention."""

    async def takes_pictures() -> bool | None:
        model = plan.state.transcript.session.model
        return await shared.takes_images(model) if model is not None else None

    files = FileMentions(parts.toolbox, parts.policies, takes_pictures)
    return PromptMentions(
        ResourceMentions(parts.servers.connections, shared.blobs.put_ref),
        files,
        SymbolMentions(files, parts.toolbox),
        SessionMentions(shared.catalog, shared.blobs),
        PastedMentions(PastedContents.of(shared.paths), shared.blobs.put_ref, takes_pictures),
    )
