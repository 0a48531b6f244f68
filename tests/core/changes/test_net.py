"""Several changes to one file come to one."""

from desktop_agent.core.changes.net import net_change
from desktop_agent.core.model import Author, ChangeKind, FileChange, FileImage

OLD = FileImage(digest="0" * 64, size=1, mode=0o644)
NEW = FileImage(digest="1" * 64, size=2, mode=0o644)
RUNNABLE = FileImage(digest="0" * 64, size=1, mode=0o755)


def change(
    kind: ChangeKind, before: FileImage | None, after: FileImage | None, author: Author = "agent", added: int = 1
) -> FileChange:
    return FileChange(
        id="1.1", path="a.py", kind=kind, author=author, before=before, after=after, added=added, removed=0
    )


def test_one_change_is_itself() -> None:
    only = change("modified", OLD, NEW)
    assert net_change([only]) is only


def test_it_goes_from_before_the_first_to_after_the_last() -> None:
    net = net_change([change("created", None, OLD), change("modified", OLD, NEW, "shell", added=3)])
    assert (net.kind, net.before, net.after, net.author, net.added) == ("created", None, NEW, "shell", 4)


def test_a_file_edited_and_deleted_is_deleted() -> None:
    assert net_change([change("modified", OLD, NEW), change("deleted", NEW, None)]).kind == "deleted"


def test_a_file_created_and_deleted_again_is_absent_on_both_sides() -> None:
    net = net_change([change("created", None, OLD), change("deleted", OLD, None)])
    assert (net.before, net.after) == (None, None)


def test_an_edit_taken_back_by_hand_leaves_a_change_of_mode() -> None:
    assert net_change([change("modified", OLD, NEW), change("modified", NEW, RUNNABLE)]).kind == "mode_changed"
