"""Undo, redo, the user's writes, comments and rewinds in a whole session."""

from functools import partial
from itertools import permutations

import pytest

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.net import net_change, net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import MODE, WHOLE_FILE, all_keys, review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    ChangeSelection,
    Clash,
    FileImage,
    LineComment,
    Reverted,
    TextBlock,
    UserMessage,
)
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.undo.refusals import describe_outcome
from tests.harness import Ground, Open, with_lines_changed
from tests.legacy_text import EDITS, WRITTEN, edit, program

LINES = [f"line {number}\n" for number in range(60)]
text_with = partial(with_lines_changed, LINES)


def replacing(number: int, text: str) -> Call:
    return Call("edit_file", {"path": "a.txt", "old_str": f"line {number}\n", "new_str": text})


RENAME = Call("run_terminal_cmd", {"command": "mv a.txt b.txt"})
THREE_TURNS: list[Reply] = [
    [replacing(5, "five\n"), replacing(30, "thirty\n")],
    [replacing(6, "six\n"), replacing(45, "forty-five\n")],
    [replacing(31, "thirty-one\n"), replacing(55, "fifty-five\n")],
]
DONE = {
    "line_5": "five\n",
    "line_6": "six\n",
    "line_30": "thirty\n",
    "line_31": "thirty-one\n",
    "line_45": "forty-five\n",
    "line_55": "fifty-five\n",
}


def hunk_with(s: Open, ground: Ground, text: str, *, turn: int) -> ChangeSelection:
    records = [record for record in s.session.transcript.changes.values() if record.turn == turn]
    net = net_change([record.change for record in records if record.change.is_by_agent])
    contents = [ground.blob(image) for image in (net.before, net.after)]
    diff = diff_change(net, *contents)
    keys: list[HunkKey] = [
        named.key
        for named in review_hunks(diff)
        if any(text in diff.new_lines[edit.new_start : edit.new_end] for edit in named.hunk.edits)
    ]
    return ChangeSelection(turn=turn, path="a.txt", hunks=tuple(keys))


async def clash_of_turn(s: Open, turn: int) -> tuple[Clash, FileImage]:
    """Undo a turn that clashes in its only file; return the clash and the file on disk."""
    (outcome,) = (await s.undo(ChangeSelection(turn=turn))).outcomes
    assert outcome.clash is not None
    assert outcome.clash.yours is not None
    return outcome.clash, outcome.clash.yours


async def settle(s: Open, yours: FileImage, content: str) -> ev.ChangesUndone:
    reverts = (Reverted(change_id="1.1"),)
    op = ops.WriteFile(path="a.txt", expected=yours.digest, content=content.encode(), reverts=reverts, purpose="undo")
    return await s.carry_out(op, ev.ChangesUndone)


async def test_hunks_of_three_turns_in_one_file_are_undone_and_redone_in_any_order(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after(*THREE_TURNS) as s:
        assert ground.read("a.txt") == text_with(**DONE)
        # Turn 2 first, then 1, then 3; other hunks of all three stay.
        first = hunk_with(s, ground, "forty-five\n", turn=2)
        second = hunk_with(s, ground, "fifty-five\n", turn=3)
        left = dict(DONE)
        for selection, line in ((first, "line_45"), (second, "line_55")):
            undone = await s.undo(selection)
            assert [outcome.is_done for outcome in undone.outcomes] == [True]
            del left[line]
            assert ground.read("a.txt") == text_with(**left)
        redone = await s.redo(first)
        assert [outcome.is_done for outcome in redone.outcomes] == [True]
        left["line_45"] = "forty-five\n"
        assert ground.read("a.txt") == text_with(**left)
        await s.redo(second)
        assert ground.read("a.txt") == text_with(**DONE)


async def test_of_several_undone_hunks_one_is_redone_and_the_others_stay_undone(ground: Ground) -> None:
    before = "".join(LINES)
    ground.write("a.txt", before)
    after = text_with(line_5="five\n", line_30="thirty\n", line_55="fifty-five\n")
    everything = Call("edit_file", {"path": "a.txt", "old_str": before, "new_str": after})
    async with ground.after([everything]) as s:
        record = s.session.transcript.changes["1.1"]
        five, thirty = (hunk_with(s, ground, text, turn=1) for text in ("five\n", "thirty\n"))
        await s.undo(five)
        await s.undo(thirty)
        assert record.undone_hunks == {*five.hunks, *thirty.hunks}
        await s.redo(five)
        assert (record.undone_hunks, record.is_undone) == (frozenset(thirty.hunks), False)
        assert ground.read("a.txt") == text_with(line_5="five\n", line_55="fifty-five\n")
        await s.undo(ChangeSelection(turn=1))
        assert (record.undone_hunks, record.is_undone) == (frozenset(), True)
        await s.redo(thirty)
        assert record.undone_hunks >= set(five.hunks)
        assert not record.is_undone


async def test_hunks_undone_one_by_one_are_all_redone_and_undone_with_their_turn(ground: Ground) -> None:
    before = "".join(LINES)
    ground.write("a.txt", before)
    after = text_with(line_5="five\n", line_30="thirty\n", line_55="fifty-five\n")
    everything = Call("edit_file", {"path": "a.txt", "old_str": before, "new_str": after})
    async with ground.after([everything]) as s:
        hunks = [hunk_with(s, ground, text, turn=1) for text in ("five\n", "thirty\n", "fifty-five\n")]
        for hunk in hunks:
            await s.undo(hunk)
        assert ground.read("a.txt") == before
        await s.redo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == after
        await s.undo(hunks[0])
        await s.undo(ChangeSelection(turn=1))
        await s.redo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == after
        await s.undo(ChangeSelection(turn=1))
        for hunk in hunks:
            await s.redo(hunk)
        assert ground.read("a.txt") == after
        await s.undo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == before


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_hunks_beside_converted_line_endings_are_undone_and_redone_in_any_order(
    ground: Ground, order: tuple[int, ...]
) -> None:
    before = "".join(LINES)
    after = text_with(line_5="five\n", line_30="thirty\n").replace("\n", "\r\n")
    ground.write("a.txt", before)
    everything = Call("create_file", {"path": "a.txt", "content": after, "if_exists": "overwrite"})
    async with ground.after([everything]) as s:
        assert ground.read("a.txt") == after
        record = s.session.transcript.changes["1.1"]
        diff = diff_change(record.change, before.encode(), after.encode())
        keys = all_keys(diff)
        assert keys[2:] == ("endings",)
        selections = [ChangeSelection(path="a.txt", hunks=(keys[place],)) for place in order]
        for selection in selections:
            assert [outcome.reason for outcome in (await s.undo(selection)).outcomes] == [""]
        assert ground.read("a.txt") == before
        for selection in selections:
            assert [outcome.reason for outcome in (await s.redo(selection)).outcomes] == [""]
        assert ground.read("a.txt") == after
        # With one hunk undone already, the whole turn is undone and redone, too.
        await s.undo(selections[0])
        await s.undo(ChangeSelection(turn=1))
        assert (ground.read("a.txt"), record.is_undone) == (before, True)
        await s.redo(selections[0])
        await s.redo(ChangeSelection(turn=1))
        assert (ground.read("a.txt"), record.is_undone, record.undone_hunks) == (after, False, frozenset())


@pytest.mark.parametrize("tool", EDITS)
async def test_edits_in_any_encoding_are_undone_and_redone_to_the_byte(ground: Ground, tool: str) -> None:
    before = {f"{number}-{encoding}": program(text).encode(encoding) for number, (text, encoding) in enumerate(WRITTEN)}
    after = dict[str, bytes]()
    calls: list[Call] = []
    for path, (text, encoding) in zip(before, WRITTEN, strict=True):
        ground.write(path, before[path])
        comment = text[: len(text) // 2]
        after[path] = before[path].replace("x = 1".encode(encoding), f"x = 2  # {comment}".encode(encoding))
        calls.append(Call(tool, {**edit(tool, comment), "file_path" if tool == "apply_patch" else "path": path}))

    def on_disk() -> dict[str, bytes]:
        return {path: (ground.workspace / path).read_bytes() for path in before}

    async with ground.after(calls) as s:
        assert on_disk() == after
        await s.undo(ChangeSelection(turn=1))
        assert on_disk() == before
        await s.redo(ChangeSelection(turn=1))
        assert on_disk() == after
        await s.undo(ChangeSelection(turn=1, path=next(iter(before))))
        assert on_disk() == after | dict([next(iter(before.items()))])


async def test_a_line_of_the_persons_among_converted_line_endings_still_clashes(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    after = text_with(line_5="five\n").replace("\n", "\r\n")
    async with ground.after([Call("create_file", {"path": "a.txt", "content": after, "if_exists": "overwrite"})]) as s:
        assert ground.read("a.txt") == after
        mine = text_with(line_5="five\n", line_30="mine\n").replace("\n", "\r\n")
        ground.write("a.txt", mine)
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
        assert outcome.state == "conflict"
        assert ground.read("a.txt") == mine


async def test_hunks_of_a_file_that_was_renamed_count_for_the_turn_that_wrote_them(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n"), replacing(30, "thirty\n")], [RENAME]) as s:
        changes = s.session.transcript.changes
        (row,) = net_changes(changes.values())
        diff = diff_change(row.change, ground.blob(row.change.before), ground.blob(row.change.after))
        five, thirty = (ChangeSelection(path="b.txt", hunks=(named.key,)) for named in review_hunks(diff))
        edited = [record for record in changes.values() if record.turn == 1]

        await s.undo(five)
        assert [record.is_undone for record in edited] == [True, False]
        assert ground.read("b.txt") == text_with(line_30="thirty\n")
        await s.undo(thirty)
        assert all(record.is_undone for record in edited)
        assert ground.read("b.txt") == "".join(LINES)
        redone = await s.redo(ChangeSelection(turn=1))
        assert [outcome.path for outcome in redone.outcomes if outcome.is_done] == ["b.txt"]
        assert ground.read("b.txt") == text_with(line_5="five\n", line_30="thirty\n")
        assert not any(record.is_undone or record.undone_hunks for record in edited)


async def test_a_hunk_that_a_later_turn_wrote_beside_clashes_and_is_left_alone(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after(*THREE_TURNS) as s:
        undone = await s.undo(hunk_with(s, ground, "five\n", turn=1))
        (outcome,) = undone.outcomes
        assert (outcome.state, outcome.clash is not None) == ("conflict", True)
        assert ground.read("a.txt") == text_with(**DONE)
        # Both hunks together are one place, and can be undone together.
        both = [
            await s.undo(hunk_with(s, ground, "six\n", turn=2)),
            await s.undo(hunk_with(s, ground, "five\n", turn=1)),
        ]
        assert [outcome.is_done for event in both for outcome in event.outcomes] == [True, True]
        assert "five" not in ground.read("a.txt").replace("forty-five", "").replace("fifty-five", "")


async def test_a_turn_is_undone_under_a_later_one_and_the_persons_edit_stays(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n")], [replacing(30, "thirty\n")]) as s:
        ground.write("a.txt", ground.read("a.txt").replace("line 50\n", "mine\n"))
        undone = await s.undo(ChangeSelection(turn=1))
        assert [outcome.state for outcome in undone.outcomes] == ["merged"]
        assert ground.read("a.txt") == text_with(line_30="thirty\n", line_50="mine\n")
        await s.redo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == text_with(line_5="five\n", line_30="thirty\n", line_50="mine\n")


async def test_a_created_file_that_is_undone_is_said_to_be_removed(ground: Ground) -> None:
    created = Call("create_file", {"path": "new.txt", "content": "new\n"})
    async with ground.after([created]) as s:
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
        assert (outcome.state, outcome.is_removed) == ("restored", True)
        assert describe_outcome(outcome) == "removed new.txt"
        (outcome,) = (await s.redo_step()).outcomes
        assert describe_outcome(outcome) == "restored new.txt"


async def test_the_redo_of_a_hunk_is_said_to_be_of_that_hunk(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n"), replacing(30, "thirty\n")]) as s:
        hunk = hunk_with(s, ground, "five\n", turn=1)
        await s.undo(hunk)
        (outcome,) = (await s.redo_step()).outcomes
        assert (outcome.state, outcome.hunks) == ("restored", hunk.hunks)


async def test_the_model_is_told_what_was_undone_and_why(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.session([[replacing(5, "five\n")], [Say("one")], [Say("I see.")]], approval="never") as s:
        await s.prompt()
        await s.undo(ChangeSelection(turn=1), reason="Line 5 is generated.")
        await s.prompt("go on")
        last = s.last_request.messages[-1]
        assert isinstance(last, UserMessage)
        texts = [block.text for block in last.content if isinstance(block, TextBlock)]
        assert "undid your changes to: a.txt. Their reason: Line 5 is generated." in texts[0]


async def test_a_clash_is_settled_by_what_the_person_writes(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n")]) as s:
        ground.write("a.txt", text_with(line_5="fünf\n"))
        clash, yours = await clash_of_turn(s, 1)
        assert ground.blob(yours) == text_with(line_5="fünf\n").encode()
        assert ground.blob(clash.wanted) == "".join(LINES).encode()
        assert (await settle(s, yours, text_with(line_5="line 5, fünf\n"))).change_ids == ("1.1",)
        assert ground.read("a.txt") == text_with(line_5="line 5, fünf\n")
        assert s.session.transcript.changed.active() == []
        # The write is an entry like any other: redoing it restores the earlier content.
        await s.redo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == text_with(line_5="fünf\n")


async def test_a_redo_brings_back_the_users_file_that_was_given_up_for_the_one_the_agent_had_deleted(
    ground: Ground,
) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([Call("delete_file", {"path": "a.txt"})]) as s:
        ground.write("a.txt", "mine\n")
        _, yours = await clash_of_turn(s, 1)
        await settle(s, yours, "".join(LINES))
        assert ground.read("a.txt") == "".join(LINES)
        await s.redo(ChangeSelection(turn=1))
        assert ground.read("a.txt") == "mine\n"


OVER = text_with(line_5="cinq\n", line_30="thirty\n", line_45="forty-five\n")
PARTLY_OVER = {
    "several changes": [
        Call("edit_file", {"path": "a.txt", "old_str": "five\n", "new_str": "cinq\n"}),
        replacing(30, "thirty\n"),
        replacing(45, "forty-five\n"),
    ],
    "one change": [Call("create_file", {"path": "a.txt", "content": OVER, "if_exists": "overwrite"})],
}


@pytest.mark.parametrize("is_in_new_session", [False, True])
@pytest.mark.parametrize("has_edit", [False, True])
@pytest.mark.parametrize("second", PARTLY_OVER.values(), ids=PARTLY_OVER)
async def test_the_rest_of_a_change_that_a_settled_clash_wrote_over_in_part_is_undone_without_another_clash(
    ground: Ground, second: Reply, *, is_in_new_session: bool, has_edit: bool
) -> None:
    ground.write("a.txt", "".join(LINES))
    mine = {"line_55": "by me\n"} if has_edit else {}
    async with ground.after([replacing(5, "five\n")], second) as s:
        both = text_with(line_5="cinq\n", line_30="thirty\n", line_45="forty-five\n", **mine)
        ground.write("a.txt", both)
        _, yours = await clash_of_turn(s, 1)
        await settle(s, yours, text_with(line_30="thirty\n", line_45="forty-five\n", **mine))
        turned = [r for r in s.session.transcript.changes.values() if r.turn == 2 and r.change.is_by_agent]
        assert turned[0].is_undone or turned[0].undone_hunks
        assert not all(record.is_undone for record in turned)
        if not is_in_new_session:
            await finish_and_come_back(s, ground, text_with(**mine), both)
        session = s.id
    if is_in_new_session:
        async with ground.session([], resume=session) as s:
            await finish_and_come_back(s, ground, text_with(**mine), both)


async def finish_and_come_back(s: Open, ground: Ground, wanted: str, before: str) -> None:
    done = await s.undo(ChangeSelection(turn=2))
    assert [(outcome.state, outcome.clash) for outcome in done.outcomes] in ([("restored", None)], [("merged", None)])
    assert ground.read("a.txt") == wanted
    for _ in range(2):
        await s.redo_step()
    assert ground.read("a.txt") == before


async def test_a_write_of_the_persons_is_theirs_and_never_over_what_they_did_not_see(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    async with ground.session([]) as s:
        s.submit(ops.WriteFile(path="a.txt", expected=digest_of(b"one\n"), content=b"two\r\n"))
        recorded = await s.rx.expect(ev.ChangesRecorded)
        assert [(change.author, change.path) for change in recorded.changes] == [("person", "a.txt")]
        assert ground.read("a.txt") == "two\r\n"
        s.submit(ops.WriteFile(path="a.txt", expected=digest_of(b"one\n"), content=b"three\n"))
        notice = await s.rx.expect(ev.Notice)
        assert notice.code == "not_written"
        assert "changed in the meantime" in notice.title
        assert ground.read("a.txt") == "two\r\n"
        await undone_nothing(s)


async def test_a_hunk_that_is_not_there_is_named_and_nothing_is_written(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n")]) as s:
        (outcome,) = (await s.undo(ChangeSelection(path="a.txt", hunks=("0123456789abcdef",)))).outcomes
        assert (outcome.state, outcome.reason) == ("failed", "This file has no such change.")
        assert len(s.session.transcript.changed.active()) == 1


async def test_a_write_that_settles_a_change_nobody_made_is_refused(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    async with ground.session([]) as s:
        made_up = (Reverted(change_id="7.7"),)
        expected = digest_of(b"one\n")
        s.submit(ops.WriteFile(path="a.txt", expected=expected, content=b"2\n", reverts=made_up, purpose="undo"))
        assert "No such change" in (await s.rx.expect(ev.Notice)).title
        assert ground.read("a.txt") == "one\n"


async def undone_nothing(s: Open) -> None:
    assert (await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.Notice)).code == "nothing_selected"


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/nothing-here", "link/x"])
async def test_a_write_outside_the_folder_is_refused(ground: Ground, path: str) -> None:
    (ground.workspace / "link").symlink_to(ground.workspace.parent)
    async with ground.session([]) as s:
        s.submit(ops.WriteFile(path=path, expected=None, content=b"x"))
        assert "is not in the folder" in (await s.rx.expect(ev.Notice)).title
    assert not (ground.workspace.parent / "outside.txt").exists()
    assert not (ground.workspace.parent / "x").exists()


async def test_remarks_are_sent_as_one_prompt_and_are_gone_then(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        for number, text in ((4, "Why five?"), (1, "Rename this.")):
            comment = LineComment(
                id=f"c{number}", path="a.txt", side="new", start=number, end=number + 1, quote="five\n", text=text
            )
            s.submit(ops.AddComment(comment=comment))
        prompt = await s.carry_out(ops.SendComments(text="Two things:"), ev.PromptSubmitted)
        assert prompt.text == (
            "Two things:\n\na.txt, line 2:\n> five\nRename this.\n\na.txt, line 5:\n> five\nWhy five?"
        )
        await s.rx.expect(ev.TurnEnded)
        assert s.session.transcript.changed.comments == {}


async def test_going_back_takes_files_and_conversation_together_or_apart(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    script: list[Reply] = [
        [replacing(5, "five\n")],
        [Say("one")],
        [replacing(30, "thirty\n")],
        [Say("two")],
        [Say("3")],
    ]
    async with ground.session(script, approval="never") as s:
        await s.prompt("first")
        await s.prompt("second")
        assert (await s.carry_out(ops.RewindTo(turn=2, scope="both"), ev.Rewound)).turn == 2
        assert ground.read("a.txt") == text_with(line_5="five\n")
        await s.prompt("third")
        said = [
            block.text
            for message in s.last_request.messages
            if isinstance(message, UserMessage)
            for block in message.content
            if isinstance(block, TextBlock)
        ]
        assert said == ["first", "third"]
        assert (await s.carry_out(ops.RewindTo(turn=9, scope="files"), ev.Notice)).code == "nothing_selected"


async def test_a_file_that_the_person_renames_or_deletes_comes_back_by_an_undo(ground: Ground) -> None:
    ground.write("a.txt", "one\r\ntwo")
    (ground.workspace / "a.txt").chmod(0o755)
    digest = digest_of(b"one\r\ntwo")
    async with ground.session([]) as s:
        renamed = await s.carry_out(ops.MoveFile(path="a.txt", to="new/b.txt", expected=digest), ev.ChangesRecorded)
        assert [(change.author, change.kind, change.path) for change in renamed.changes] == [
            *(("person", "renamed", "new/b.txt"), ("person", "deleted", "a.txt"))
        ]
        assert not (ground.workspace / "a.txt").exists()
        assert (ground.workspace / "new/b.txt").stat().st_mode & 0o777 == 0o755
        deleted = await s.carry_out(ops.WriteFile(path="new/b.txt", expected=digest, content=None), ev.ChangesRecorded)
        assert not (ground.workspace / "new/b.txt").exists()
        await s.undo(ChangeSelection(change_ids=tuple(change.id for change in deleted.changes)))
        assert ground.read("new/b.txt") == "one\r\ntwo"
        await s.undo(ChangeSelection(change_ids=tuple(change.id for change in renamed.changes)))
        assert ground.read("a.txt") == "one\r\ntwo"
        assert (ground.workspace / "a.txt").stat().st_mode & 0o777 == 0o755
        assert not (ground.workspace / "new").exists()


@pytest.mark.parametrize(
    ("path", "to", "content", "said"),
    [
        ("a.txt", "b.txt", b"one\n", "There is already a b.txt."),
        ("a.txt", "c.txt", b"other", "a.txt was changed in the meantime."),
        ("gone.txt", "c.txt", b"", "gone.txt was changed in the meantime."),
        ("gone\udcff.txt", "c.txt", b"", '"gone\\377.txt" was changed in the meantime.'),
        ("a.txt", "../c.txt", b"one\n", "../c.txt is not in the folder of this conversation."),
        ("a.txt", "out/c.txt", b"one\n", "out/c.txt is not in the folder of this conversation."),
        ("d", "e", b"", "d has become a folder."),
    ],
)
async def test_a_renaming_that_would_lose_something_is_refused_and_changes_nothing(
    ground: Ground, path: str, to: str, content: bytes, said: str
) -> None:
    ground.write("a.txt", "one\n")
    ground.write("b.txt", "two\n")
    (ground.workspace / "d").mkdir()
    (ground.workspace / "out").symlink_to(ground.workspace.parent)
    async with ground.session([]) as s:
        notice = await s.carry_out(ops.MoveFile(path=path, to=to, expected=digest_of(content)), ev.Notice)
        assert (notice.code, notice.title) == ("not_written", said)
        assert s.session.transcript.changes == {}
    assert (ground.read("a.txt"), ground.read("b.txt")) == ("one\n", "two\n")


@pytest.mark.parametrize(
    "path", ["nul\0", "no-byte-\ud800", "two-bytes-of-one-letter-\udcc3\udca9", "d/../a.txt", "d/", "."]
)
async def test_a_write_to_what_no_change_names_so_is_refused(ground: Ground, path: str) -> None:
    ground.write("a.txt", "one\n")
    ground.write("d/x", "")
    async with ground.session([]) as s:
        for expected in (None, digest_of(b"one\n"), digest_of(b"")):
            s.submit(ops.WriteFile(path=path, expected=expected, content=b"two\n"))
            assert "is not in the folder" in (await s.rx.expect(ev.Notice)).title
    assert ground.read("a.txt") == "one\n"


@pytest.mark.parametrize(
    ("path", "old", "new"), [("d", b"", b"text"), ("link", b"a.txt", b"x\0"), ("link", b"a.txt", b"")]
)
async def test_a_write_of_text_where_none_can_be_is_refused(ground: Ground, path: str, old: bytes, new: bytes) -> None:
    (ground.workspace / "d").mkdir()
    (ground.workspace / "link").symlink_to("a.txt")
    async with ground.session([]) as s:
        s.submit(ops.WriteFile(path=path, expected=digest_of(old), content=new))
        assert "cannot hold this" in (await s.rx.expect(ev.Notice)).title
        assert s.session.transcript.changes == {}


async def test_one_content_that_is_missing_keeps_nothing_else_from_being_redone(ground: Ground) -> None:
    for path in ("a.txt", "b.txt"):
        ground.write(path, "".join(LINES))
    other = Call("edit_file", {"path": "b.txt", "old_str": "line 5\n", "new_str": "five\n"})
    async with ground.after([replacing(5, "five\n"), other]) as s:
        ground.write("a.txt", ground.read("a.txt") + "mine\n")
        undone = await s.undo(ChangeSelection(turn=1))
        (merged,) = (change for change in undone.changes if change.path == "a.txt")
        assert merged.before is not None
        for blob in ground.paths.blobs.rglob(f"{merged.before.digest}*"):
            blob.unlink()
        redone = await s.redo(ChangeSelection(turn=1))
        assert {outcome.path: outcome.state for outcome in redone.outcomes} == {"a.txt": "failed", "b.txt": "restored"}
        assert ground.read("b.txt") == text_with(line_5="five\n")


async def test_folders_that_came_with_a_file_go_also_when_it_was_gone_already_if_they_are_empty(
    ground: Ground,
) -> None:
    create, delete = (
        Call("create_file", {"path": "a/b/c.txt", "content": "c\n"}),
        Call("delete_file", {"path": "a/b/c.txt"}),
    )
    async with ground.after([create, delete]) as s:
        undone = await s.undo(ChangeSelection(turn=1))
        assert all(outcome.is_done for outcome in undone.outcomes)
        assert {outcome.path for outcome in undone.outcomes} == {"a", "a/b", "a/b/c.txt"}
        assert not (ground.workspace / "a").exists()
        await s.redo_step()
        assert list((ground.workspace / "a/b").iterdir()) == []
        (ground.workspace / "a/mine.txt").write_text("mine\n")
        undone = await s.undo(ChangeSelection(turn=1))
        assert {outcome.path for outcome in undone.outcomes} == {"a/b/c.txt", "a/b"}


async def test_undone_permissions_of_a_file_with_other_changes_are_a_step_that_redo_takes_back(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    before = (ground.workspace / "a.txt").stat().st_mode
    chmod = Call("run_terminal_cmd", {"command": "chmod 700 a.txt"})
    async with ground.after([replacing(5, "five\n"), chmod]) as s:
        after = (ground.workspace / "a.txt").stat().st_mode
        assert after != before
        await s.undo(ChangeSelection(path="a.txt", turn=1, hunks=(MODE,)))
        assert (ground.workspace / "a.txt").stat().st_mode == before
        await s.redo_step()
        assert (ground.workspace / "a.txt").stat().st_mode == after
        assert ground.read("a.txt") == text_with(line_5="five\n")


async def test_a_created_file_goes_with_the_undo_also_after_an_undo_between_two_deletions(ground: Ground) -> None:
    create = Call("create_file", {"path": "new.txt", "content": "new\n"})
    delete = Call("run_terminal_cmd", {"command": "rm new.txt"})
    script: list[Reply] = [[create], [Say("one")], [delete], [Say("two")], [delete], [Say("three")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        await s.prompt()
        await s.undo(ChangeSelection(turn=2))
        await s.prompt()
        await s.undo(ChangeSelection(turn=3))
        for _ in range(2):
            await s.redo_step()
        assert list(ground.workspace.iterdir()) == []
        undone = await s.undo()
        assert all(outcome.is_done for outcome in undone.outcomes)
        assert list(ground.workspace.iterdir()) == []


async def test_what_is_undone_already_is_not_undone_again_where_another_brought_it_back(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    ground.write("gone.txt", "gone\n")
    edits = [replacing(5, "five\n"), replacing(30, "thirty\n"), Call("delete_file", {"path": "gone.txt"})]
    async with ground.after(edits) as s:
        five = hunk_with(s, ground, "five\n", turn=1)
        deletion = ChangeSelection(path="gone.txt", hunks=(WHOLE_FILE,))
        await s.undo(five)
        await s.undo(deletion)
        steps = list(s.session.transcript.changed.steps)
        ground.write("a.txt", text_with(line_5="five\n", line_30="thirty\n"))
        (ground.workspace / "gone.txt").unlink()
        for selection in (five, deletion):
            assert (await s.carry_out(ops.UndoChanges(selection=selection), ev.Notice)).code == "nothing_selected"
        assert ground.read("a.txt") == text_with(line_5="five\n", line_30="thirty\n")
        assert not (ground.workspace / "gone.txt").exists()
        assert s.session.transcript.changed.steps == steps


async def test_what_is_in_force_is_not_redone_where_another_took_it_away(ground: Ground) -> None:
    ground.write("a.txt", "".join(LINES))
    async with ground.after([replacing(5, "five\n"), replacing(30, "thirty\n")]) as s:
        five = hunk_with(s, ground, "five\n", turn=1)
        ground.write("a.txt", text_with(line_30="thirty\n"))
        assert (await s.carry_out(ops.RedoChanges(selection=five), ev.Notice)).code == "nothing_selected"
        assert ground.read("a.txt") == text_with(line_30="thirty\n")


async def test_a_hunk_of_a_renamed_file_that_the_user_wrote_in_the_place_of_a_deleted_one_is_left_alone(
    ground: Ground,
) -> None:
    ground.write("b.txt", "first\n")
    delete, rename = Call("delete_file", {"path": "b.txt"}), Call("run_terminal_cmd", {"command": "mv b.txt c.txt"})
    async with ground.session([[delete], [Say("one")], [rename], [Say("two")]], approval="never") as s:
        await s.prompt()
        ground.write("b.txt", "the user's\n")
        await s.prompt()
        row = next(row for row in net_changes(s.session.transcript.changes.values()) if row.path == "c.txt")
        diff = diff_change(row.change, *(ground.blob(image) for image in (row.change.before, row.change.after)))
        keys = tuple(named.key for named in review_hunks(diff))
        assert keys
        undone = await s.undo(ChangeSelection(path="c.txt", hunks=keys))
        assert [(outcome.path, outcome.state) for outcome in undone.outcomes] == [("c.txt", "conflict")]
        assert ground.read("c.txt") == "the user's\n"
        assert s.session.transcript.changed.steps == []
