"""The page for phones in a real browser: models' markup stays text, and a tap answers a question."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
import pytest_asyncio

from desktop_agent.core.base.plain_text import HIDING, is_hiding, name_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.scripted import Call, Hang, Reply, Say
from desktop_agent.ui.wording import pieces
from tests.core.tools.servers.conftest import PatientClock, program, with_servers
from tests.harness import PATIENCE_S, Ground
from tests.rest.browser import Browser, browsing
from tests.rest.serving import Served, serving

HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
MAKE = Call("create_file", {"path": "<b>page</b>.html", "content": f"{HOSTILE}\nelse\u202e\n"})
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
PRESS_ON = f"""(async (button) => {{ while (!button.hidden) {{ button.click(); await {DRAWN}; }} }})(
    document.querySelector(".unseen button"))"""
AT_END = "(main => main.scrollHeight - main.scrollTop - main.clientHeight < 2)(document.querySelector('main'))"
PICTURES = os.environ.get("DESKTOP_AGENT_PAGE_PICTURES", "")
"""A folder for pictures of the page, for people who change it."""


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser]:
    async with browsing() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> Browser:
    await browser("open")
    return browser


@asynccontextmanager
async def shown(page: Browser, ground: Ground, script: Iterable[Reply] = ()) -> AsyncGenerator[Served]:
    async with asyncio.timeout(PATIENCE_S * 3), serving(ground, script) as served:
        await page("goto", f"{served.server.url}/#token={served.server.token}")
        yield served


async def send(page: Browser, prompt: str) -> None:
    await page("fill", "#prompt", prompt)
    await page("click", "#send")


async def allow(page: Browser) -> None:
    await page("waitForSelector", ".card .allow")
    while await page("evaluate", "!document.querySelector('.unseen').hidden"):
        await page("click", ".unseen button")
        await page("evaluate", DRAWN)
    await page("click", ".card .allow")


async def test_a_phone_reads_answers_and_stops_and_takes_what_is_written_for_text(
    page: Browser, tmp_path: Path
) -> None:
    ground = Ground(tmp_path)
    async with shown(page, ground, [[Say(HOSTILE), MAKE], [Say("Made.")], [Say("Now I wait"), Hang()]]) as served:
        assert served.server.token not in str(await page("evaluate", "location.href"))
        await send(page, "Make a page")
        await page("waitForSelector", ".card .allow")
        assert HOSTILE in str(await page("textContent", "#conversation .reply"))
        assert "<b>page</b>.html" in str(await page("textContent", ".card"))
        await page("waitForSelector", ".card .added")
        assert "+else⟨U+202E⟩" in str(await page("textContent", ".card"))
        assert await page("textContent", "#state") == "waits for you"
        await _picture(page, "question")
        await page("click", ".card .allow")
        await page("waitForSelector", ".card", {"state": "detached"})
        await page("waitForSelector", "text=Made.")
        assert ground.read("<b>page</b>.html") == MAKE.arguments["content"]
        await page("click", "#show-changes")
        await page("waitForSelector", "#changes .added")
        assert HOSTILE in str(await page("textContent", "#changes"))
        await _picture(page, "changes")
        await page("click", "#show-conversation")
        await send(page, "Go on")
        await page("waitForSelector", "#stop:enabled")
        await page("click", "#stop")
        await page("waitForSelector", "text=The turn ended: interrupted.")
        await _picture(page, "stopped")
        assert await page("title") == "Desktop Agent"
        assert await page("evaluate", "document.querySelectorAll('main img, main script, main b b').length") == 0
        assert await page("evaluate", "document.documentElement.scrollWidth <= innerWidth") is True
        assert await page("problems") == []


BEFORE = ("", "x", "字", "☺")
EVERY_CHARACTER = """import("/shown.js").then(({ NAME: shown }) => {
    const found = [];
    for (const before of ["", "x", "字", "☺"]) {
        for (let code = 0; code < 0x110000; code++) {
            const sign = String.fromCodePoint(code);
            const text = code >= 0xd800 && code < 0xe000 ? before : shown(before + sign);
            if (text !== before + sign && text !== before) found.push(before + code + " " + text);
        }
    }
    return found;
})"""


@pytest.mark.parametrize("name", ["named", "namedInContent"])
async def test_the_page_names_the_characters_that_the_window_names_and_no_others(
    page: Browser, tmp_path: Path, name: str
) -> None:
    """All of Unicode, at the start and after other characters, in a command and in a line of a file."""
    expected: list[str] = []
    for before, code in hiding():
        text = before + chr(code)
        if name == "named":
            expected.append(f"{before}{code} {shown_in_command(text)}")
        elif is_hiding(text, len(before), is_content=True):
            expected.append(f"{before}{code} {before}{name_of(chr(code))}")
    async with shown(page, Ground(tmp_path)):
        assert await page("evaluate", EVERY_CHARACTER.replace("NAME", name)) == expected


@cache
def hiding() -> list[tuple[str, int]]:
    """Every character that may hide something after each of `BEFORE`."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and chr(code) not in "\n\t"]
    return [(before, code) for before in BEFORE for code in codes if HIDING.match(before + chr(code), len(before))]


def shown_in_command(text: str) -> str:
    return "".join(piece.shown for piece in pieces(text))


async def test_a_long_or_blank_run_is_counted_as_in_the_window(page: Browser, tmp_path: Path) -> None:
    async with shown(page, Ground(tmp_path)):
        for text in (
            "ls" + " " * 39 + "x",
            "ls" + " " * 400 + "; rm x",
            "\t" * 7 + "\t",
            "x" * 60_001 + "rm",
            "a\rb\nc",
        ):
            found = await page("evaluate", f'import("/shown.js").then((shown) => shown.named({json.dumps(text)}))')
            assert found == shown_in_command(text)


LINES = "\n".join(f"echo line {number}" for number in range(200))


@pytest.mark.parametrize("way", ["wheel", "button"])
async def test_a_question_can_be_allowed_only_when_all_of_it_was_in_sight(
    page: Browser, tmp_path: Path, way: str
) -> None:
    ground = Ground(tmp_path)
    run = Call("run_terminal_cmd", {"command": LINES + "\ntouch made"})
    async with shown(page, ground, [[run], [Say("Done.")]]):
        await send(page, "Run it")
        await page("waitForSelector", ".card .allow:disabled")
        assert "You have not seen all of it." in str(await page("textContent", ".card .unseen"))
        await _picture(page, "unseen")
        command = "document.querySelector('.card pre')"
        await page("evaluate", f"{command}.scrollTop = {command}.scrollHeight")  # across the middle, which is hidden
        await page("evaluate", DRAWN)
        assert await page("evaluate", "document.querySelector('.allow').disabled") is True
        await page("evaluate", f"{command}.scrollTop = 0")
        while await page("evaluate", "document.querySelector('.allow').disabled"):
            if way == "button":
                await page("click", ".unseen button")
            else:
                await page("evaluate", f"{command}.scrollTop += 200")
            await page("evaluate", DRAWN)
        assert (
            await page("evaluate", f"{command}.scrollTop + {command}.clientHeight >= {command}.scrollHeight - 2")
            is True
        )
        await page("click", ".card .allow")
        await page("waitForSelector", "text=Done.")


async def test_what_is_too_long_to_be_shown_cannot_be_allowed_on_the_page(page: Browser, tmp_path: Path) -> None:
    run = Call("run_terminal_cmd", {"command": f"echo {'x' * 60_100}; touch made"})
    async with shown(page, Ground(tmp_path), [[run], [Say("Not then.")]]):
        await send(page, "Run it")
        await page("waitForSelector", ".card .allow:disabled")
        await page("evaluate", PRESS_ON)
        assert await page("evaluate", "document.querySelector('.allow').disabled") is True
        assert "Allow it in the window." in str(await page("textContent", ".card .unseen"))
        await page("click", ".card .deny")
        await page("waitForSelector", "text=Not then.")


async def test_a_form_of_a_server_is_filled_in_and_a_mistake_is_said_in_words(page: Browser, tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()
    with_servers(ground, program())
    fields: JsonObject = {
        "name": {"type": "string", "title": "Your <b>name</b>", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "news": {"type": "boolean"},
        "size": {"type": "string", "enum": ["small", "large"]},
    }
    schema: JsonObject = {"type": "object", "properties": fields, "required": ["name", "size"]}
    asking = Call("program__ask", {"request": {"message": "Who are you?", "requestedSchema": schema}})
    async with shown(page, ground, [[asking], [Say("Thank you.")]]):
        await send(page, "Ask me")
        await allow(page)  # the call itself
        await page("waitForSelector", ".card .form")
        assert "Your <b>name</b> (needed)" in str(await page("textContent", ".card .form"))
        await page("fill", ".form label:nth-child(1) input", "A")
        await page("fill", ".form label:nth-child(2) input", "36")
        await page("selectOption", ".form label:nth-child(3) select", "yes")
        await page("selectOption", ".form label:nth-child(4) select", "large")
        await allow(page)
        await page("waitForSelector", "#message:has-text('At least 2 characters.')")
        await _picture(page, "form")
        await page("fill", ".form label:nth-child(1) input", "Ada")
        await allow(page)
        await page("waitForSelector", "text=Thank you.")
        assert await page("evaluate", "document.documentElement.scrollWidth <= innerWidth") is True
    journal = next(ground.paths.sessions.glob("*/journal.jsonl")).read_text(encoding="utf-8")
    assert '{"name": "Ada", "age": 36, "news": true, "size": "large"}' in journal.replace('\\"', '"')


async def test_a_servers_tool_is_asked_about_with_its_arguments_and_no_other_number(
    page: Browser, tmp_path: Path
) -> None:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()
    with_servers(ground, program())
    exact = Call("program__echo", {"text": f"{HOSTILE}\u202e"})
    too_large = Call("program__steps", {"count": 12345678901234567891})
    async with shown(page, ground, [[exact], [too_large], [Say("Done.")]]):
        await send(page, "Echo")
        await page("waitForSelector", ".card .called")
        called = str(await page("textContent", ".card .called"))
        assert called.startswith("program/echo\n")
        assert f"{HOSTILE}⟨U+202E⟩" in called
        await _picture(page, "called")
        await allow(page)
        await page("waitForSelector", ".card:has-text('answer in the window')")  # the next one, not that just answered
        assert "12345678901234567" not in str(await page("textContent", ".card .called"))
        assert await page("evaluate", "document.querySelector('.allow').disabled") is True


async def test_the_page_stays_at_the_end_and_shows_a_question_there(page: Browser, tmp_path: Path) -> None:
    long = Say("\n\n".join(f"Paragraph {number} of a long answer, longer than the page." for number in range(40)))
    async with shown(page, Ground(tmp_path), [[long], [long, MAKE], [long]]):
        await page("waitForSelector", "text=What you send starts a session.")
        await send(page, "Tell")
        await page("waitForSelector", "text=Paragraph 39")
        await page("waitForFunction", AT_END)
        await send(page, "Make a page")
        await page("waitForSelector", ".card .added")
        await page("waitForFunction", AT_END)
        assert await page("evaluate", "document.querySelector('.allow').getBoundingClientRect().bottom < innerHeight")
        await page("click", ".card .allow")
        await page("waitForSelector", ".card", {"state": "detached"})
        await page("reload")
        await page("waitForSelector", ".call.completed")
        await page("waitForFunction", AT_END)
        await page("selectOption", "#session", "")
        await page("waitForSelector", "text=What you send starts a session.")
        assert await page("problems") == []  # a question that was answered is not asked for its diff


async def test_the_page_goes_on_when_it_was_cut_off_and_says_when_its_link_is_not_valid(
    page: Browser, tmp_path: Path
) -> None:
    async with asyncio.timeout(PATIENCE_S * 3):
        async with serving(tmp_path, [[Say("One.")]]) as served:
            session = await served.start()
            await served.run(session)
            await page("goto", f"{served.server.url}/#token={served.server.token}")
            await page("waitForSelector", "text=One.")
        await page("waitForSelector", "text=Trying again")
        async with serving(tmp_path / "other") as served:
            await page("goto", f"{served.server.url}/#token=wrong")
            await page("waitForSelector", "text=not valid any more")


async def _picture(page: Browser, name: str) -> None:
    if PICTURES:
        for scheme in ("light", "dark"):
            await page("emulateMedia", {"colorScheme": scheme})
            await page("screenshot", {"path": f"{PICTURES}/{name}-{scheme}.png"})
