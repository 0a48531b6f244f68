"""`web_search`: the first engine with results, on real sockets with pages of the engines' form."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.network.connections import Proxy
from desktop_agent.core.tools.builtin.web_search import (
    LARGEST_ANSWER_BYTES,
    LONGEST_SNIPPET,
    LONGEST_TITLE,
    WebSearch,
    search_client,
    standard_engines,
)
from desktop_agent.core.tools.web import AddressBook
from tests.core.tools.conftest import Workspace
from tests.loop_time import LoopTime
from tests.servers.web_server import LOOPBACK_BOOK, Canned, WebServer, redirect

JSON = "application/json"


def duckduckgo_hit(title: str, link: str, snippet: str, *, extra: str = "") -> str:
    wrapped = f"//duckduckgo.com/l/?uddg={quote(link, safe='')}&amp;rut=0123abcd"
    return f"""<div class="result results_links results_links_deep web-result {extra}"><div class="links_main">
      <h2 class="result__title"><a rel="nofollow" class="result__a" href="{wrapped}">{title}</a></h2>
      <div class="result__extras"><a class="result__url" href="{wrapped}">docs.example</a></div>
      <a class="result__snippet" href="{wrapped}">{snippet}</a></div></div>"""


DUCKDUCKGO = (
    '<!DOCTYPE html><html><head><title>x at DuckDuckGo</title></head><body><form class="header__form"></form>'
    + duckduckgo_hit("An ad", "https://duckduckgo.com/y.js?ad_domain=shop.example", "Buy.", extra="result--ad")
    + duckduckgo_hit("Release <b>notes</b> &amp; more", "https://docs.example/notes?a=1&b=2", "What is <b>new</b>.")
    + duckduckgo_hit("A script", "javascript:alert(1)", "No.")
    + duckduckgo_hit("Second", "http://second.example/", "Two.")
    + duckduckgo_hit("Second again", "http://second.example/", "Twice.")
    + "</body></html>"
)
DUCKDUCKGO_NOTHING = '<html><body><div class="no-results">No results.</div></body></html>'
API = json.dumps(
    {
        "Heading": "Python",
        "AbstractText": "A language.",
        "AbstractURL": "https://en.wikipedia.org/wiki/Python",
        "Results": [{"FirstURL": "https://python.example/", "Text": "Official site - python.example"}],
        "RelatedTopics": [
            {"FirstURL": "https://duckduckgo.com/Monty", "Text": "Monty - A group."},
            {"Name": "See also", "Topics": [{"FirstURL": "https://duckduckgo.com/Snake", "Text": "Snake"}]},
        ],
    }
)
PACKED = base64.urlsafe_b64encode("https://docs.example/ü?x".encode()).decode().rstrip("=")
BING = f"""<html><body><h2>Not a result</h2><ol id="b_results">
<li class="b_ad"><h2><a href="https://ads.example/">Ad</a></h2><p>Buy.</p></li>
<li class="b_algo"><h2><a href="https://www.bing.com/ck/a?!&amp;&amp;p=1&amp;u=a1{PACKED}&amp;ntb=1">First <strong>hit
</strong></a></h2><div class="b_caption"><p class="b_lineclamp2">About it.</p></div></li>
<li class="b_algo"><h2><a href="https://plain.example/">Plain</a></h2><p>Plain snippet.</p><p>Not this.</p></li>
</ol></body></html>"""
WIKIPEDIA = json.dumps(
    {
        "query": {
            "search": [{"title": "Café au lait", "snippet": 'A <span class="searchmatch">coffee</span> &amp; milk'}]
        }
    }
)
PATHS = {"duckduckgo": "/html/", "duckduckgo_api": "/", "bing": "/search", "wikipedia": "/w/api.php"}


@pytest.fixture
async def web(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[WebServer]:
    async with WebServer() as server:
        yield server


def tool(web: WebServer, *, timeout_s: float = 20, engine_timeout_s: float = 20) -> WebSearch:
    engines = [replace(engine, address=web.url + urlsplit(engine.address).path) for engine in standard_engines()]
    return WebSearch(engines=engines, book=LOOPBACK_BOOK, timeout_s=timeout_s, engine_timeout_s=engine_timeout_s)


def only(address: str, *, book: AddressBook | None = None) -> WebSearch:
    return WebSearch(engines=[replace(standard_engines()[0], address=address)], book=book)


def test_the_engines_are_asked_in_this_order_and_over_tls() -> None:  # T-102
    assert [engine.name for engine in standard_engines()] == list(PATHS)
    assert [urlsplit(engine.address).path for engine in standard_engines()] == list(PATHS.values())
    assert all(engine.address.startswith("https://") for engine in standard_engines())


async def test_the_first_engine_with_results_wins(web: WebServer, work: Workspace) -> None:
    """T-102, T-103, Z-24, P-18: title, link and snippet; real links; no advertisements and duplicates."""
    web.pages["/html/"] = Canned(DUCKDUCKGO)
    result = await work.call(tool(web), search_term="release notes")
    results = [
        {"title": "Release notes & more", "link": "https://docs.example/notes?a=1&b=2", "snippet": "What is new."},
        {"title": "Second", "link": "http://second.example/", "snippet": "Two."},
    ]
    assert json.loads(result.content) == {"engine": "duckduckgo", "results": results}
    assert result.metadata["results"] == results
    assert web.paths == ["/html/"]
    assert parse_qs(urlsplit(web.requests[0].path).query) == {"q": ["release notes"]}


async def test_instant_answers_are_second(web: WebServer, work: Workspace) -> None:  # T-102
    web.pages["/html/"] = Canned(DUCKDUCKGO, status=202)
    web.pages["/"] = Canned(API, "application/x-javascript")
    answer = await work.answer(tool(web), search_term="python")
    assert answer["engine"] == "duckduckgo_api"
    assert [hit["title"] for hit in answer["results"]] == ["Python", "Official site", "Monty", "Snake"]
    assert answer["results"][0]["snippet"] == "A language."


async def test_bing_is_third(web: WebServer, work: Workspace) -> None:
    web.pages |= {"/html/": Canned(DUCKDUCKGO_NOTHING), "/": Canned("{}", JSON), "/search": Canned(BING)}
    assert await work.answer(tool(web), search_term="x") == {
        "engine": "bing",
        "results": [
            {"title": "First hit", "link": "https://docs.example/ü?x", "snippet": "About it."},
            {"title": "Plain", "link": "https://plain.example/", "snippet": "Plain snippet."},
        ],
    }


async def test_wikipedia_is_last(web: WebServer, work: Workspace) -> None:
    web.pages["/w/api.php"] = Canned(WIKIPEDIA, JSON)
    assert await work.answer(tool(web), search_term="coffee", max_results=3) == {
        "engine": "wikipedia",
        "results": [
            {"title": "Café au lait", "link": f"{web.url}/wiki/Caf%C3%A9_au_lait", "snippet": "A coffee & milk"}
        ],
    }
    assert web.paths == list(PATHS.values())
    assert parse_qs(urlsplit(web.requests[-1].path).query)["srlimit"] == ["3"]


async def test_no_more_results_than_asked_for(web: WebServer, work: Workspace) -> None:  # T-102
    web.pages["/html/"] = Canned(
        "".join(duckduckgo_hit(f"Hit {n}", f"https://{n}.example/", "x" * 2_000) for n in range(30))
    )
    results = (await work.answer(tool(web), search_term="x", max_results=2))["results"]
    assert [hit["title"] for hit in results] == ["Hit 0", "Hit 1"]
    assert len((await work.answer(tool(web), search_term="x"))["results"]) == 5
    assert len(results[0]["snippet"]) == LONGEST_SNIPPET
    web.pages["/html/"] = Canned(duckduckgo_hit("t" * 5_000, "https://a.example/", ""))
    assert len((await work.answer(tool(web), search_term="x"))["results"][0]["title"]) == LONGEST_TITLE


async def test_when_every_engine_answers_with_nothing_that_is_the_answer(web: WebServer, work: Workspace) -> None:
    nothing = json.dumps({"query": {"search": []}})
    web.pages |= {"/html/": Canned(DUCKDUCKGO_NOTHING), "/": Canned("{}", JSON), "/search": Canned("<html>")}
    web.pages["/w/api.php"] = Canned(nothing, JSON)
    assert await work.answer(tool(web), search_term="x") == {"engine": "", "results": []}


async def test_when_all_fail_every_reason_is_told(web: WebServer, work: Workspace) -> None:  # T-102
    web.pages |= {
        "/html/": Canned("", status=403),
        "/": Canned("not json", JSON),
        "/search": Canned("x" * (LARGEST_ANSWER_BYTES + 1)),
        "/w/api.php": Canned(json.dumps({"error": {"info": "too many requests"}}), JSON),
    }
    with pytest.raises(ToolError) as caught:
        await work.call(tool(web), search_term="x")
    text = str(caught.value)
    assert "duckduckgo: status 403" in text
    assert "duckduckgo_api: Expecting value" in text
    assert "bing: the answer is larger than" in text
    assert "wikipedia: too many requests" in text
    assert caught.value.error_type == "recoverable"


async def test_an_engine_that_cannot_be_reached_is_passed_over(web: WebServer, work: Workspace) -> None:
    web.pages["/w/api.php"] = Canned(WIKIPEDIA, JSON)
    first, *others = tool(web)._engines  # pyright: ignore[reportPrivateUsage] - to aim one of them elsewhere
    search = WebSearch(engines=[replace(first, address="http://127.0.0.1:1/"), *others], book=LOOPBACK_BOOK)
    assert (await work.answer(search, search_term="x"))["engine"] == "wikipedia"


async def test_an_engine_that_stays_silent_does_not_take_all_the_time(web: WebServer, work: Workspace) -> None:
    web.pages |= {"/html/": Canned("<html>", stalls=True), "/w/api.php": Canned(WIKIPEDIA, JSON)}
    time = LoopTime()
    asking = asyncio.create_task(work.answer(tool(web, engine_timeout_s=5), search_term="x"))
    await web.has_stalled.wait()
    await time.let_pass(5)
    assert (await asking)["engine"] == "wikipedia"


async def test_the_whole_search_has_a_limit(web: WebServer, work: Workspace) -> None:
    web.pages["/html/"] = Canned("<html>", stalls=True)
    with pytest.raises(ToolError, match=r"longer than 0\.3 s"):
        await work.call(tool(web, timeout_s=0.3), search_term="x")


async def test_stopping_closes_the_connection_and_the_client(web: WebServer, work: Workspace) -> None:
    made: list[httpx2.AsyncClient] = []

    def factory(proxy: Proxy | None) -> httpx2.AsyncClient:
        made.append(search_client(proxy))
        return made[0]

    web.pages["/html/"] = Canned("<html>", stalls=True)
    engine = replace(standard_engines()[0], address=f"{web.url}/html/")
    search = WebSearch(engines=[engine], book=LOOPBACK_BOOK, client_factory=factory)
    task = asyncio.create_task(work.call(search, search_term="x"))
    await web.has_stalled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await web.was_left.wait()
    assert made[0].is_closed


async def test_the_environments_proxy_is_used(web: WebServer, work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", web.url)
    web.pages["http://html.example/html/"] = Canned(DUCKDUCKGO)
    assert (await work.answer(only("http://html.example/html/"), search_term="x"))["engine"] == "duckduckgo"


async def test_no_proxy_is_used_for_this_machine(
    web: WebServer, work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/html/"] = Canned(DUCKDUCKGO)
    async with WebServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert (await work.answer(tool(web), search_term="x"))["engine"] == "duckduckgo"
        assert proxy.requests == []


async def test_a_proxy_of_no_use_is_named(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ToolError, match="The proxy in ALL_PROXY cannot be used"):
        await work.call(only("http://html.example/html/"), search_term="x")


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/", "http://10.0.0.1/", "file:///etc/passwd"])
async def test_a_redirect_into_the_local_network_is_refused(web: WebServer, work: Workspace, target: str) -> None:
    web.pages["/html/"] = redirect(target)
    with pytest.raises(ToolError, match=r"which is not on the public internet|Only http"):
        await work.call(only(f"{web.url}/html/", book=LOOPBACK_BOOK), search_term="x")


async def test_an_engine_whose_name_leads_to_this_machine_is_not_asked(web: WebServer, work: Workspace) -> None:
    web.pages["/html/"] = Canned(DUCKDUCKGO)
    with pytest.raises(ToolError, match="not on the public internet"):
        await work.call(only(f"http://localhost:{web.port}/html/"), search_term="x")
    assert web.requests == []


@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://cn.engine.example/there", True),
        ("http://www.engine.example/there", True),
        ("http://engine.example.com/there", False),
        ("http://intranet.example/there", False),
        ("http://10.0.0.1/there", False),
    ],
)
async def test_behind_a_proxy_redirects_stay_on_the_engines_site(
    web: WebServer, work: Workspace, monkeypatch: pytest.MonkeyPatch, target: str, *, is_followed: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", web.url)
    web.pages |= {"http://www.engine.example/html/": redirect(target), target: Canned(DUCKDUCKGO)}
    search = only("http://www.engine.example/html/")
    if is_followed:
        assert (await work.answer(search, search_term="x"))["engine"] == "duckduckgo"
    else:
        with pytest.raises(ToolError, match="cannot be judged behind a proxy"):
            await work.call(search, search_term="x")
    assert web.paths == ["http://www.engine.example/html/", *([target] if is_followed else [])]
