"""The page for phones: five files, the same for everybody, which hold nothing of the user's.

Its security policy lets it run its own script and style alone, and talk to this server alone.
"""

import re
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.plain_text import HIDING, MOST_BLANKS, MOST_SHOWN_CHARS, SHAPING

_FILES = (
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
    ("/shown.js", "shown.js", "text/javascript; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/icon.svg", "icon.svg", "image/svg+xml"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def _as_in_javascript(pattern: str) -> str:
    """Return a pattern of characters as a browser reads it: those beyond `\\uffff` have another form."""
    return re.sub(r"\\U([0-9a-f]{8})", lambda code: f"\\u{{{int(code[1], 16):x}}}", pattern)


_FILLED_IN = {
    "shown.js": {
        "@HIDING@": _as_in_javascript(HIDING.pattern),
        "@SHAPING@": f"(?:{_as_in_javascript(SHAPING)})",
        "@MOST_BLANKS@": str(MOST_BLANKS),
        "@MOST_TABS@": str(MOST_BLANKS // 5),
        "@MOST_SHOWN_CHARS@": str(MOST_SHOWN_CHARS),
    }
}
"""What is put into a file, so that the page shows hidden characters by the same tables as the window."""


def page_routes() -> list[Route]:
    """Return the routes of the page."""
    return [Route(path, _sends(name, media_type)) for path, name, media_type in _FILES]


def _sends(name: str, media_type: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def send(_request: Request) -> Response:
        content = resource_path("rest", name).read_text(encoding="utf-8")
        for mark, value in _FILLED_IN.get(name, {}).items():
            content = content.replace(mark, value)
        return Response(content, headers={**_HEADERS, "content-type": media_type})

    return send
