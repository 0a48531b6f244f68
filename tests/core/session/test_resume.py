"""A session opened from its snapshot sends the same bytes to the model as one read whole."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, Denied, GuidanceFile, ModelRef, ModelRequest
from desktop_agent.core.providers.anthropic import AnthropicFormat
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.providers.wire_format import EncodedPictures, WireFormat
from desktop_agent.core.session import resume as opening
from desktop_agent.core.session.recorder import SessionState
from desktop_agent.core.session.resume import (
    ReplayState,
    close_with_snapshot,
    load,
    renew_snapshot,
    resume,
    sections_of,
    start_snapshot,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.journal.records import PageSize, read_page
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME, VERSION, read_extent, write_snapshot
from desktop_agent.core.transcript import Entry, PageEntry, Transcript
from tests.harness import FrozenClock, Ground, Open
from tests.journals import (
    SESSION_ID,
    asked,
    compacted,
    opened,
    recorded,
    said,
    said_call,
    said_text,
    started,
    turn,
    undone,
    wild_events,
    write_journal,
)
from tests.pictures import png
from tests.providers import anthropic_provider
from tests.servers import fault
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import Answer, block, redacted_thinking, reply, text, thinking, tool_use

SMALL = PageSize(records=3)


def no_breath() -> None: ...


def make_snapshot(journal: Path, blobs: Blobs, size: PageSize = SMALL) -> None:
    """As `renew_snapshot`, with small pages."""
    known = load(journal, journal.with_name(SNAPSHOT_NAME), no_breath)
    known.carry_on(journal, blobs, yield_gil=no_breath, page_size=size)
    write_snapshot(journal.with_name(SNAPSHOT_NAME), journal, known.offset, sections_of(known))


def folded(journal: Path, blobs: Blobs) -> SessionState:
    state = SessionState()
    for event in read_journal(journal, blobs)[0]:
        state.apply(event)
    return state


def all_entries(transcript: Transcript, journal: Path, blobs: Blobs) -> list[Entry]:
    for number, page in enumerate(transcript.pages):
        if not transcript.paged.is_loaded(number):
            transcript.expand(number, read_page(journal, blobs, page, yield_gil=no_breath))
    return transcript.entries


def head_of(transcript: Transcript) -> tuple[object, ...]:
    return transcript.session, transcript.turns, transcript.changed, transcript.context


def check(journal: Path, blobs: Blobs, *, is_honest: bool = True) -> None:
    """Check that opening with the snapshot gives the same as reading everything."""
    whole, resumed = folded(journal, blobs), resume(journal, blobs, yield_gil=no_breath).state
    assert head_of(resumed.transcript) == head_of(whole.transcript)
    if is_honest:
        assert resumed.history.messages() == whole.history.messages()
    assert resumed.unfinished == whole.unfinished
    assert resumed.rules == whole.rules
    assert resumed.spending == whole.spending
    assert resumed.transcript.paged.call_ids == whole.transcript.paged.call_ids
    assert all_entries(resumed.transcript, journal, blobs) == whole.transcript.entries


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "s" / "journal.jsonl"


@given(st.lists(st.lists(wild_events, max_size=12), min_size=1, max_size=4), st.booleans())
@example([[started(1, "a")], [recorded(1, "a", is_lossy=True), undone("a", 1), started(1, "a")]], False)  # an id twice
@example([[started(1, "b"), said_text(1, "0"), said_call(1, "a")]], True)
def test_any_journal_in_any_pages_reads_as_one_that_was_read_whole(
    parts: list[list[ev.KnownEvent]], is_last_one_in_the_snapshot: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal, blobs = Path(folder, "s", "journal.jsonl"), Blobs(Path(folder, "blobs"))
        count = write_journal(journal, blobs, [opened()])
        for number, part in enumerate(parts, start=1):
            count = write_journal(journal, blobs, part, first=count + 1)
            if number < len(parts) or is_last_one_in_the_snapshot:
                make_snapshot(journal, blobs)
        # For example after compacting a summary the request is valid, but not always the same.
        is_honest = not any(isinstance(event, ev.Compacted) for part in parts for event in part)
        check(journal, blobs, is_honest=is_honest)


def test_what_happens_to_an_entry_on_an_earlier_page_is_shown_there(journal: Path, blobs: Blobs) -> None:
    count = write_journal(journal, blobs, [opened(), started(1, "c"), asked(1, "c"), *turn(2), *turn(3)])
    make_snapshot(journal, blobs)
    late = [recorded(1, "c", is_lossy=True), undone("c", 3)]
    count = write_journal(journal, blobs, late, first=count + 1)
    check(journal, blobs)
    make_snapshot(journal, blobs)
    check(journal, blobs)
    transcript = resume(journal, blobs, yield_gil=no_breath).state.transcript
    all_entries(transcript, journal, blobs)
    entry = transcript.paged.tool_entry("c")
    assert entry is not None
    assert entry.is_recovered
    assert [request.call_id for request in transcript.turns.waiting.values()] == ["c"]


def test_the_history_is_folded_from_where_it_matters(journal: Path, blobs: Blobs) -> None:
    events: list[ev.KnownEvent] = [opened()]
    for number in range(1, 31):
        events += turn(number)
        if number % 10 == 0:
            events.append(compacted(f"k{number}", number - 2))
    write_journal(journal, blobs, events)
    make_snapshot(journal, blobs)
    state = resume(journal, blobs, yield_gil=no_breath).state
    assert not state.history.fold.is_whole
    assert not state.history.has_turn(18)
    assert state.history.has_turn(19)
    check(journal, blobs)
    for event in (ev.CompactionUndone(compaction_id="k30"), *turn(31)):
        state.apply(event)
    whole = folded(journal, blobs)
    for event in (ev.CompactionUndone(compaction_id="k30"), *turn(31)):
        whole.apply(event)
    assert state.history.messages() == whole.history.messages()


def test_short_pages_at_the_end_become_one(journal: Path, blobs: Blobs) -> None:
    count = write_journal(journal, blobs, [opened()])
    for number in range(1, 6):
        count = write_journal(journal, blobs, [said(number), *turn(number)], first=count + 1)
        make_snapshot(journal, blobs, PageSize())
    known = load(journal, journal.with_name(SNAPSHOT_NAME), no_breath)
    assert len(known.state.transcript.pages) == 1
    check(journal, blobs)


def test_a_long_prompt_is_whole_on_its_page_and_cut_in_the_head(journal: Path, blobs: Blobs) -> None:
    write_journal(journal, blobs, [opened(), *turn(1, text="x" * 9_000), *turn(2)])
    make_snapshot(journal, blobs)
    transcript = resume(journal, blobs, yield_gil=no_breath).state.transcript
    turns = transcript.turns
    assert len(turns.prompts[1]) == 2_000
    assert [text for turn, text in turns.prompts.items() if turn not in turns.cut_prompts] == ["Prompt 2: ok"]
    prompt = all_entries(transcript, journal, blobs)[0]
    assert isinstance(prompt, ev.PromptSubmitted)
    assert prompt.text == "Prompt 1: " + "x" * 9_000


TITLE = b'{"session.title":'

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "no JSON": lambda _: b"{",
    "cut off": lambda content: content[:-20],
    "another version": lambda content: content.replace(b'"snapshot":%d' % VERSION, b'"snapshot":99'),
    "nested deeply": lambda _: b"[" * 100_000 + b"\n",
    "a deep section": lambda content: content.replace(TITLE, b'{"deep":' + b"[" * 100_000 + b"\n" + TITLE),
    "a huge offset": lambda content: content.replace(b'"offset":', b'"offset":' + b"9" * 30),
    "an offset before the beginning": lambda content: content.replace(b'"offset":', b'"offset":-'),
    "an offset within a line": lambda content: content.replace(b'"offset":', b'"offset":1'),
    "no bytes that were written": lambda content: b"\0" * len(content),
    "an unknown section": lambda content: content.replace(b'"pages"', b'"sages"'),
    "another shape": lambda content: content.replace(TITLE, TITLE + b"7}\n" + TITLE),
    "a section of two": lambda content: content.replace(TITLE, TITLE + b'7,"was":'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_snapshot_of_no_use_is_as_none(journal: Path, blobs: Blobs, damage: Callable[[bytes], bytes]) -> None:
    write_journal(journal, blobs, [opened(), *turn(1), *turn(2)])
    make_snapshot(journal, blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    written = snapshot.read_bytes()
    snapshot.write_bytes(damage(written))
    assert snapshot.read_bytes() != written
    check(journal, blobs)


def test_a_snapshot_of_another_journal_is_not_read(journal: Path, blobs: Blobs) -> None:
    write_journal(journal, blobs, [opened(), *turn(1), *turn(2)])
    make_snapshot(journal, blobs)
    journal.write_bytes(journal.read_bytes().replace(b"That was turn 2", b"This was turn 2"))
    assert load(journal, journal.with_name(SNAPSHOT_NAME), no_breath) == ReplayState()
    check(journal, blobs)


def test_a_snapshot_that_is_replaced_while_it_is_read_counts_nothing_twice(
    journal: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of a snapshot may outlive its process while the next one opens the session."""
    count = write_journal(journal, blobs, [opened(), *turn(1), *turn(2)])
    make_snapshot(journal, blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    earlier = snapshot.read_bytes()
    write_journal(journal, blobs, turn(3), first=count + 1)
    make_snapshot(journal, blobs)
    later = snapshot.read_bytes()
    snapshot.write_bytes(earlier)

    def read_then_replace(path: Path, of: Path) -> int | None:
        offset = read_extent(path, of)
        path.write_bytes(later)
        return offset

    monkeypatch.setattr(opening, "read_extent", read_then_replace)
    check(journal, blobs)


def test_a_journal_that_became_shorter_is_read_anew(journal: Path, blobs: Blobs) -> None:
    write_journal(journal, blobs, [opened(), *turn(1), *turn(2)])
    make_snapshot(journal, blobs)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]))
    check(journal, blobs)


def test_lines_that_cannot_be_read_are_told_with_their_numbers(journal: Path, blobs: Blobs) -> None:
    write_journal(journal, blobs, [opened(), *turn(1), *turn(2)])
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[3] = b"not JSON\n"
    journal.write_bytes(b"".join(lines))
    make_snapshot(journal, blobs)
    with journal.open("ab") as file:
        file.write(b"neither\n")
    resumed = resume(journal, blobs, yield_gil=no_breath)
    assert [damage.line for damage in resumed.damages] == [4, len(lines) + 1]
    assert resumed.damage_count == 2


def thrice_summarised() -> list[ev.KnownEvent]:
    events: list[ev.KnownEvent] = [opened()]
    for number in range(1, 13):
        events += turn(number)
        if number % 4 == 0:
            events.append(compacted(f"k{number}", number - 1))
    return events


def test_a_summary_undone_after_the_snapshot_shows_what_the_one_before_it_stood_for(
    journal: Path, blobs: Blobs
) -> None:
    count = write_journal(journal, blobs, thrice_summarised())
    make_snapshot(journal, blobs)
    assert not resume(journal, blobs, yield_gil=no_breath).state.history.fold.is_whole
    for name in ("k12", "k8", "k4"):
        count = write_journal(journal, blobs, [ev.CompactionUndone(compaction_id=name)], first=count + 1)
        check(journal, blobs)


def test_going_back_after_the_snapshot_to_a_turn_that_was_summarised_shows_what_stood_before_it(
    journal: Path, blobs: Blobs
) -> None:
    count = write_journal(journal, blobs, thrice_summarised())
    make_snapshot(journal, blobs)
    write_journal(journal, blobs, [ev.Rewound(turn=2, scope="conversation"), *turn(13)], first=count + 1)
    check(journal, blobs)


def test_a_note_before_the_first_turn_is_still_there_when_only_results_were_shortened(
    journal: Path, blobs: Blobs
) -> None:
    before = [*turn(1), ev.Rewound(turn=1, scope="conversation"), undone("c1-0", 1)]
    write_journal(journal, blobs, [opened(), *before, *turn(2), compacted("k1", 0), *turn(3), compacted("k2", 0)])
    make_snapshot(journal, blobs)
    check(journal, blobs)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.clock = FrozenClock()
    events: list[ev.KnownEvent] = [opened(str(ground.workspace))]
    for number in range(1, 31):
        events += turn(number, result="x" * 20_000)
        if number in (10, 20, 30):
            events.append(compacted(f"k{number}", number - 2, goal=f"Goal {number}"))
    write_journal(journal_of(ground), Blobs(ground.paths.blobs), events)
    return ground


def journal_of(ground: Ground) -> Path:
    return ground.paths.sessions / SESSION_ID / "journal.jsonl"


async def request_after(ground: Ground, *before: ops.Op) -> ModelRequest:
    """The model's request when the session is opened, these ops run, and a prompt follows."""
    copy = ground.paths.data.with_name("copy")
    shutil.copytree(ground.paths.sessions, copy)
    async with ground.session([[Say("Fine.")]], resume=SESSION_ID) as session:
        for op in before:
            session.submit(op)
        await session.prompt("Go on.")
        request = session.last_request
    shutil.rmtree(ground.paths.sessions)
    copy.rename(ground.paths.sessions)
    return request


@pytest.mark.parametrize(
    "before",
    [(), (ops.RewindTo(turn=29, scope="conversation"),), (ops.RewindTo(turn=5, scope="conversation"),)],
    ids=str,
)
async def test_the_request_is_the_same_with_a_snapshot_and_without(ground: Ground, before: tuple[ops.Op, ...]) -> None:
    whole = await request_after(ground, *before)
    renew_snapshot(
        journal_of(ground),
        Blobs(ground.paths.blobs),
        journal_of(ground).with_name(SNAPSHOT_NAME),
        yield_gil=no_breath,
    )
    assert await request_after(ground, *before) == whole


async def test_a_front_gets_a_transcript_of_its_own_with_its_end_loaded(ground: Ground) -> None:
    journal = journal_of(ground)
    renew_snapshot(journal, Blobs(ground.paths.blobs), journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    async with ground.session([[Say("Fine.")]], resume=SESSION_ID) as session:
        assert session.transcript.turn == 30
        assert not isinstance(session.transcript.entries[-1], PageEntry)
        await session.prompt("Go on.")
        assert session.session.transcript.turn == 31
        assert session.transcript.turn == 30


def test_the_process_writes_the_snapshot_that_a_thread_would(ground: Ground) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    renew_snapshot(journal, blobs, snapshot, yield_gil=no_breath)
    expected = snapshot.read_bytes()
    snapshot.unlink()
    assert start_snapshot(journal, blobs.folder, snapshot).wait() == 0
    assert snapshot.read_bytes() == expected


def test_a_process_that_cannot_write_says_so(ground: Ground, tmp_path: Path) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    assert start_snapshot(journal, blobs.folder, tmp_path / "no" / "folder" / SNAPSHOT_NAME).wait() != 0
    assert start_snapshot(tmp_path / "gone", blobs.folder, tmp_path / SNAPSHOT_NAME).wait() != 0


def test_a_session_that_closes_leaves_a_snapshot_when_that_pays(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, blobs = journal_of(ground), Blobs(ground.paths.blobs)
    snapshot = journal.with_name(SNAPSHOT_NAME)
    close_with_snapshot(journal, blobs)
    assert not snapshot.exists(), "the journal is short"
    monkeypatch.setattr(opening, "WORTH_BYTES", 1)
    monkeypatch.setattr(opening, "FRESH_BYTES", 1)
    close_with_snapshot(journal, blobs)
    written = snapshot.stat().st_mtime_ns
    close_with_snapshot(journal, blobs)
    assert snapshot.stat().st_mtime_ns == written, "nothing came since"


def test_what_could_not_be_read_for_a_while_is_not_kept_as_missing(tmp_path: Path) -> None:
    journal, blobs = tmp_path / "s" / "journal.jsonl", Blobs(tmp_path / "blobs")
    guidance = GuidanceFile(path="AGENTS.md", scope="workspace", text="Mind the gap. " * 5_000)
    write_journal(journal, blobs, [opened(), ev.GuidanceLoaded(files=(guidance,)), *turn(1)])
    blobs.folder.rename(tmp_path / "away")
    with pytest.raises(ValueError, match="missing"):
        renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    (tmp_path / "away").rename(blobs.folder)
    renew_snapshot(journal, blobs, journal.with_name(SNAPSHOT_NAME), yield_gil=no_breath)
    assert resume(journal, blobs, yield_gil=no_breath).state.history.fold.guidance == (guidance,)


Step = Callable[[Open, Ground], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """Replies and the user's steps; the application may be restarted between two steps."""

    answers: Sequence[Answer]
    steps: Sequence[Step]
    files: dict[str, str | bytes] = field(default_factory=dict[str, "str | bytes"])
    is_known: bool = True
    """Whether the server knows the whole scenario."""


def prompt(words: str) -> Step:
    async def step(s: Open, _: Ground) -> None:
        await s.prompt(words)

    return step


def asks(words: str, *decisions: Denied | None) -> Step:

    async def step(s: Open, _: Ground) -> None:
        s.submit(ops.SubmitPrompt(text=words))
        for decision in decisions:
            await s.answer(decision)
        await s.rx.expect(ev.TurnEnded)

    return step


def does(op: ops.Op, until: type[ev.ChangesUndone | ev.ChangesRedone | ev.Rewound | ev.ModeSet]) -> Step:
    async def step(s: Open, _: Ground) -> None:
        s.submit(op)
        await s.rx.expect(until)

    return step


def writes(path: str, content: str) -> Step:
    async def step(_: Open, ground: Ground) -> None:
        ground.write(path, content)

    return step


async def stopped(s: Open, _: Ground) -> None:
    await s.carry_out(ops.SubmitPrompt(text="Talk."), ev.TextDelta)
    await s.carry_out(ops.Interrupt(), ev.TurnEnded)


async def queued(s: Open, _: Ground) -> None:
    s.submit(ops.SubmitPrompt(text="First."))
    await s.carry_out(ops.SubmitPrompt(text="Second."), ev.TurnEnded)
    await s.rx.expect(ev.TurnEnded)


EDIT = tool_use("edit_file", path="a.py", old_str="x = 1", new_str="x = 2").with_id("toolu_edit")
READ = tool_use("read_file", path="a.py").with_id("toolu_read")
UNDO = ops.UndoChanges(selection=ChangeSelection(turn=1), reason="not yet")
REDO = ops.RedoChanges(selection=ChangeSelection(turn=1))
LAST = reply(text("The last."))

SCENARIOS: dict[str, Scenario] = {
    "talk": Scenario([reply(text("One.")), reply(text("Two.")), LAST], [prompt("a"), prompt("b"), prompt("c")]),
    "thinking": Scenario(
        [
            reply(thinking("Hm…", signature="sig=="), redacted_thinking("secret"), text("One."), READ),
            reply(thinking("Hm.", signature="sig2"), text("Two.")),
            LAST,
        ],
        [prompt("a"), prompt("b")],
        {"a.py": "x = 1\n"},
    ),
    "tools": Scenario(
        [reply(READ, EDIT), reply(text("Done.")), LAST], [asks("a", None), prompt("b")], {"a.py": "x = 1\n"}
    ),
    "denied": Scenario(
        [reply(EDIT), reply(text("So.")), LAST], [asks("a", Denied(message="no")), prompt("b")], {"a.py": "x = 1\n"}
    ),
    "failures": Scenario(
        [
            reply(tool_use("read_file", path="none").with_id("toolu_1"), tool_use("nothing").with_id("toolu_2")),
            LAST,
            LAST,
        ],
        [prompt("a"), prompt("b")],
    ),
    "long output": Scenario(
        [reply(tool_use("read_file", path="long.txt").with_id("toolu_1")), reply(text("Long.")), LAST],
        [prompt("a"), prompt("b")],
        {"long.txt": "".join(f"{number} ünïcödé \U0001f600\n" for number in range(9000))},
    ),
    "pictures": Scenario(
        [reply(tool_use("view_image", path="a.png").with_id("toolu_1")), reply(text("Blue.")), LAST],
        [prompt("a"), prompt("b")],
        {"a.png": png(8, 8)},
    ),
    "undo and redo": Scenario(
        [reply(EDIT), reply(text("Done.")), LAST, LAST],
        [asks("a", None), does(UNDO, ev.ChangesUndone), prompt("b"), does(REDO, ev.ChangesRedone), prompt("c")],
        {"a.py": "x = 1\n"},
    ),
    "rewound": Scenario(
        [reply(text("One.")), reply(READ), reply(text("Two.")), LAST, LAST],
        [
            prompt("a"),
            prompt("b"),
            does(ops.RewindTo(turn=2, scope="conversation"), ev.Rewound),
            prompt("c"),
            prompt("d"),
        ],
        {"a.py": "x = 1\n"},
    ),
    "rewound with its files, and redone": Scenario(
        [reply(text("One.")), reply(EDIT), reply(text("Two.")), LAST, LAST],
        [
            prompt("a"),
            asks("b", None),
            does(ops.RewindTo(turn=2, scope="both"), ev.Rewound),
            prompt("c"),
            does(ops.RedoChanges(selection=ChangeSelection(turn=2)), ev.ChangesRedone),
            prompt("d"),
        ],
        {"a.py": "x = 1\n"},
    ),
    "stopped": Scenario(
        [reply(text("Half of a sentence."), fault.stall_after(events=3)), LAST], [stopped, prompt("b")]
    ),
    "queued": Scenario([reply(text("One.")), reply(text("Two.")), LAST], [queued, prompt("c")]),
    "another mode": Scenario(
        [reply(text("One.")), reply(text("Two.")), LAST],
        [
            prompt("a"),
            does(ops.SetMode(sandbox="strict"), ev.ModeSet),
            prompt("b"),
            does(ops.SetMode(model=ModelRef(provider="anthropic", model="claude-test-old")), ev.ModeSet),
            prompt("c"),
        ],
    ),
    "a file that changed since it was read": Scenario(
        [reply(READ), reply(text("Read.")), reply(EDIT), reply(text("Changed.")), LAST],
        [prompt("a"), writes("a.py", "x = 1  # mine\n"), prompt("b"), prompt("c")],
        {"a.py": "x = 1\n"},
    ),
    "a block nobody knows": Scenario(
        [reply(block({"type": "server_thing", "data": {"n": 1.5, "blob": "x", "size": 3}}), text("One.")), LAST],
        [prompt("a"), prompt("b")],
        is_known=False,
    ),
    "an id used twice": Scenario(
        [reply(READ), reply(READ), reply(text("Twice.")), reply(READ), LAST],
        [prompt("a"), prompt("b")],
        {"a.py": "x = 1\n"},
    ),
    "refused": Scenario(
        [reply(text("One.")), reply(text("No."), stop_reason="refusal"), LAST], [prompt("a"), prompt("b"), prompt("c")]
    ),
    "an error of the provider": Scenario(
        [reply(text("One.")), fault.unauthorized(), LAST], [prompt("a"), prompt("b"), prompt("c")]
    ),
}


async def bodies(
    folder: Path, scenario: Scenario, *, is_restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> list[bytes]:
    """Play the scenario and return every request body; the workspace has the same path each time."""
    sent: list[bytes] = []

    def noted(wire: AnthropicFormat, request: ModelRequest, pictures: EncodedPictures) -> bytes:
        sent.append(WireFormat.encode(wire, request, pictures))
        return sent[-1]

    monkeypatch.setattr(AnthropicFormat, "encode", noted)
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    ground = Ground(folder)
    ground.clock = FrozenClock()
    for path, content in scenario.files.items():
        ground.write(path, content)
    async with AnthropicServer(*scenario.answers, is_checking=scenario.is_known) as server, AsyncExitStack() as stack:

        async def source(_model: ModelRef) -> Provider:
            return anthropic_provider(api_key="key", base_url=server.url)

        s = await stack.enter_async_context(ground.session([], provider_source=source))
        for step in scenario.steps:
            await step(s, ground)
            if is_restarted:
                await stack.aclose()
                s = await stack.enter_async_context(ground.session([], provider_source=source, resume=s.id))
        assert server.violations == []
        assert server.unused_answers == 0
    return sent


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_restart_between_steps_changes_no_byte_of_any_request(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    folder = tmp_path / "ground"
    without = await bodies(folder, scenario, is_restarted=False, monkeypatch=monkeypatch)
    with_restarts = await bodies(folder, scenario, is_restarted=True, monkeypatch=monkeypatch)
    assert len(without) > 1
    assert with_restarts == without
