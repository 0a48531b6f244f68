"""Whether the provider's own web search takes the place of ours: where there is one, and no model of it refused."""

from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.http.refusals import Refusal

_TOOL = "web_search"
"""What the tool's type is called, or begins with, in every format."""


class HostedSearch:
    """Remembers, in this run, which models do not take it: these get our own tool."""

    def __init__(self, *, is_there: bool) -> None:
        self._is_there = is_there
        self._offered: set[str] = set()
        self._refused: set[str] = set()

    def is_offered(self, request: ModelRequest) -> bool:
        """Return whether a request offers it."""
        is_wanted = any(tool.hosted_tool == _TOOL for tool in request.tools)
        is_offered = self._is_there and is_wanted and request.model not in self._refused
        if is_offered:
            self._offered.add(request.model)
        return is_offered

    def is_refused(self, refusal: Refusal, model: str) -> bool:
        """Return whether a refusal may be about it, so that the request is worth sending with our own tool.

        An organisation may have switched it off (`permission`), and older models do not know it.
        """
        is_about_tools = refusal.parameter.startswith("tools") or _TOOL in refusal.message
        is_possible = refusal.fault in ("invalid_request", "permission") and is_about_tools
        if not is_possible or model not in self._offered - self._refused:
            return False
        self._refused.add(model)
        return True
