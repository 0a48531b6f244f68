"""Undo and redo are planned as deltas of each file."""

from msgspec.structs import replace

from desktop_agent.core.protocol.model import FileChange, FileImage, Reverted
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.undo.plan import Delta, plan_revert


def image(text: str | None) -> FileImage | None:
    return None if text is None else FileImage(digest=digest_of(text.encode()), size=len(text), mode=0o644)


def change(identifier: str, before: str | None, after: str | None, path: str = "a") -> FileChange:
    kind = "created" if before is None else "deleted" if after is None else "modified"
    return FileChange(id=identifier, path=path, kind=kind, author="agent", before=image(before), after=image(after))


def delta(base: str | None, wanted: str | None) -> Delta:
    return Delta(image(base), image(wanted))


def test_the_only_change_of_a_file_goes_back_to_its_before() -> None:
    one = change("1.1", "old", "new")
    (plan,) = plan_revert("undo", [one], [one])
    assert (plan.path, plan.deltas, plan.change_ids) == ("a", (delta("new", "old"),), ("1.1",))


def test_several_changes_of_a_file_are_one_delta_from_the_last_to_the_first() -> None:
    chain = [change("1.1", None, "A"), change("1.2", "A", "B"), change("2.1", "B", "C")]
    (plan,) = plan_revert("undo", chain, chain)
    assert plan.deltas == (delta("C", None),)


def test_redo_goes_forwards() -> None:
    chain = [change("1.1", None, "A"), change("1.2", "A", "B")]
    (plan,) = plan_revert("redo", chain, chain)
    assert plan.deltas == (delta(None, "B"),)


def test_a_change_under_a_later_one_is_a_delta_to_be_merged() -> None:
    chain = [change("1.1", "O", "A"), change("2.1", "A", "B")]
    (plan,) = plan_revert("undo", chain[:1], chain)
    assert plan.deltas == (delta("A", "O"),)


def test_where_somebody_wrote_in_between_there_are_two_deltas_the_last_one_first() -> None:
    chain = [change("1.1", "O", "A"), change("2.1", "person's", "B")]
    (undo,) = plan_revert("undo", chain, chain)
    assert undo.deltas == (delta("B", "person's"), delta("A", "O"))
    (redo,) = plan_revert("redo", chain, chain)
    assert redo.deltas == (delta("O", "A"), delta("person's", "B"))


def test_the_chain_holds_everybodys_changes_between_the_selected_ones() -> None:
    theirs = replace(change("1.2", "A", "P"), author="person")
    records = [change("1.1", "O", "A"), theirs, change("2.1", "P", "B"), change("3.1", "B", "C")]
    (plan,) = plan_revert("undo", [records[0], records[2]], records)
    assert [item.id for item in plan.chain] == ["1.1", "1.2", "2.1"]


def test_redoing_exactly_what_the_last_undo_took_back_knows_the_way_to_the_very_bytes() -> None:
    one, two = change("1.1", "O", "A"), change("1.2", "A", "B")
    undone = replace(
        change("1.3", "mine", "merged"),
        author="undo",
        reverts=(Reverted(change_id="1.1"), Reverted(change_id="1.2")),
    )
    records = [one, two, undone]
    assert plan_revert("redo", [one, two], records)[0].inverse == delta("merged", "mine")
    assert plan_revert("redo", [one], records)[0].inverse is None
    assert plan_revert("undo", [one, two], records)[0].inverse is None


def test_the_undo_of_the_last_of_several_hunks_is_no_way_back_to_all_of_them() -> None:
    one = change("1.1", "O", "B")
    first = replace(change("1.2", "B", "A"), author="undo", reverts=(Reverted(change_id="1.1", hunks=("one",)),))
    last = replace(change("1.3", "A", "O"), author="undo", reverts=(Reverted(change_id="1.1"),))
    (plan,) = plan_revert("redo", [one], [one, first, last])
    assert (plan.inverse, plan.deltas) == (None, (delta("O", "B"),))


def test_the_redo_of_what_was_partly_in_force_is_no_way_back_to_before_all_of_it() -> None:
    one, two = change("1.1", None, "A"), change("1.2", "A", "B")
    undone = replace(change("1.3", "B", "A"), author="undo", reverts=(Reverted(change_id="1.2"),))
    both = (Reverted(change_id="1.1", is_redo=True), Reverted(change_id="1.2", is_redo=True))
    redone = replace(change("1.4", "A", "B"), author="undo", reverts=both)
    (plan,) = plan_revert("undo", [one, two], [one, two, undone, redone])
    assert (plan.inverse, plan.deltas) == (None, (delta("B", None),))


def test_half_of_a_renaming_brings_the_other_half() -> None:
    gone = replace(change("1.1", "A", None, path="old"), moved_to="new")
    came = replace(change("1.2", None, "A", path="new"), kind="renamed", moved_from="old")
    other = change("1.3", "X", "Y", path="b")
    for half in (gone, came):
        plans = plan_revert("undo", [half], [gone, came, other])
        assert [(plan.path, plan.moves_to) for plan in plans] == [("old", ""), ("new", "old")]
    assert [plan.moves_to for plan in plan_revert("redo", [came], [gone, came, other])] == ["new", ""]


def test_files_are_independent_of_each_other() -> None:
    changes = [change("1.1", "O", "A"), change("1.2", "X", "Y", path="b"), change("2.1", "A", "B")]
    plans = plan_revert("undo", changes[:2], changes)
    assert [(plan.path, plan.deltas) for plan in plans] == [("a", (delta("A", "O"),)), ("b", (delta("Y", "X"),))]
