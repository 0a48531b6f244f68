"""Undo and redo are planned on the chain of each file's changes."""

from desktop_agent.core.changes.revert import RevertStep, plan_revert
from desktop_agent.core.files import digest_of
from desktop_agent.core.model import FileChange, FileImage


def image(text: str | None) -> FileImage | None:
    return None if text is None else FileImage(digest=digest_of(text.encode()), size=len(text), mode=0o644)


def change(identifier: str, before: str | None, after: str | None, path: str = "a") -> FileChange:
    kind = "created" if before is None else "deleted" if after is None else "modified"
    return FileChange(id=identifier, path=path, kind=kind, author="agent", before=image(before), after=image(after))


def test_the_only_change_of_a_file_goes_back_to_its_before() -> None:
    one = change("1.1", "old", "new")
    plan = plan_revert("undo", [one], [one])
    assert plan.steps == (RevertStep("a", image("new"), image("old"), ("1.1",)),)
    assert plan.conflicts == ()


def test_several_changes_of_a_file_are_one_write_from_the_last_to_the_first() -> None:
    chain = [change("1.1", None, "A"), change("1.2", "A", "B"), change("2.1", "B", "C")]
    plan = plan_revert("undo", chain, chain)
    assert plan.steps == (RevertStep("a", image("C"), None, ("2.1", "1.2", "1.1")),)


def test_redo_walks_the_chain_forwards() -> None:
    chain = [change("1.1", None, "A"), change("1.2", "A", "B")]
    plan = plan_revert("redo", chain, chain)
    assert plan.steps == (RevertStep("a", None, image("B"), ("1.1", "1.2")),)


def test_a_later_change_outside_the_selection_stands_in_the_way() -> None:
    chain = [change("1.1", "O", "A"), change("2.1", "A", "B")]
    plan = plan_revert("undo", chain[:1], chain)
    assert plan.steps == ()
    assert [(c.change_ids, c.state) for c in plan.conflicts] == [(("1.1",), "conflict")]
    assert "later change" in plan.conflicts[0].reason


def test_an_earlier_undone_change_stands_in_the_way_of_a_redo() -> None:
    chain = [change("1.1", "O", "A"), change("2.1", "A", "B")]
    plan = plan_revert("redo", chain[1:], chain)
    assert plan.steps == ()
    assert "redo that first" in plan.conflicts[0].reason


def test_where_somebody_wrote_in_between_the_walk_stops_and_says_so() -> None:
    chain = [change("1.1", "O", "A"), change("2.1", "person's", "B")]
    plan = plan_revert("undo", chain, chain)
    assert plan.steps == (RevertStep("a", image("B"), image("person's"), ("2.1",)),)
    assert plan.conflicts[0].change_ids == ("1.1",)
    assert "somebody else" in plan.conflicts[0].reason


def test_files_are_independent_of_each_other() -> None:
    changes = [change("1.1", "O", "A"), change("1.2", "X", "Y", path="b"), change("2.1", "A", "B")]
    plan = plan_revert("undo", changes[:2], changes)
    assert [step.path for step in plan.steps] == ["b"]
    assert [conflict.path for conflict in plan.conflicts] == ["a"]
