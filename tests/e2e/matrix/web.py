"""The two network tools on a small web of this machine."""

from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.builtin.web_fetch import WebFetch
from desktop_agent.core.tools.builtin.web_search import WebSearch, standard_engines
from tests.pictures import png
from tests.servers.web_server import LOOPBACK_BOOK, Canned, WebServer


def _hit(title: str, link: str, snippet: str) -> str:
    return f"""<div class="result web-result"><h2><a class="result__a" href="{link}">{title}</a></h2>
      <a class="result__snippet" href="{link}">{snippet}</a></div>"""


PAGES = {
    "/html/": Canned(_hit("First", "https://first.example/", "One.") + _hit("Second", "https://second.example/", "2.")),
    "/guide": Canned("<!DOCTYPE html><html><head><title>Guide</title></head><body><p>Read it.</p></body></html>"),
    "/picture": Canned(png(), "image/png"),
}


def web_tools(web: WebServer) -> Sequence[AnyTool]:
    first = standard_engines()[0]
    return (
        WebSearch(engines=[replace(first, address=f"{web.url}/html/")], book=LOOPBACK_BOOK),
        WebFetch(book=LOOPBACK_BOOK),
    )
