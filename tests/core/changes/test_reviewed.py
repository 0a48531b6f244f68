"""What the review shows of one path: what stands of it, and who wrote each hunk."""

from msgspec.structs import replace

from desktop_agent.core.changes.attribution import reviewed_diff
from desktop_agent.core.diff.hunks import MODE, all_keys, review_hunks
from desktop_agent.core.protocol.model import Author, FileChange, FileImage
from desktop_agent.core.system.files import FileState

TEXT = [f"line {number}\n" for number in range(60)]


class Chain:
    """Changes of one file, one after the other, and what their images hold."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.changes: list[FileChange] = []
        self._last = self.image("".join(TEXT))

    def image(self, text: str) -> FileImage:
        state = FileState(content=text.encode())
        self.contents[state.digest] = state.content
        return state.image()

    def then(self, author: Author, **lines: str) -> FileChange:
        before = self.contents[self._last.digest].decode().splitlines(keepends=True)
        after = [lines.get(f"at_{number}", line) for number, line in enumerate(before)]
        image = self.image("".join(after))
        number = len(self.changes) + 1
        change = FileChange(id=f"1.{number}", path="a", kind="modified", author=author, before=self._last, after=image)
        self.changes.append(change)
        self._last = image
        return change

    def read(self, image: FileImage | None) -> bytes | None:
        return None if image is None else self.contents[image.digest]


def test_hunks_that_later_entries_took_back_are_shown_as_undone() -> None:
    chain = Chain()
    change = chain.then("agent", at_5="five\n", at_40="forty\n")
    chain.then("undo", at_40="line 40\n")
    diff = reviewed_diff([change], chain.changes, chain.read)
    first, second = (hunk.key for hunk in review_hunks(diff))
    assert diff.undone == {second}
    chain.then("undo", at_5="line 5\n")
    assert reviewed_diff([change], chain.changes, chain.read).undone == {first, second}


def test_each_hunk_names_its_authors_where_there_are_several() -> None:
    chain = Chain()
    chain.then("agent", at_5="five\n")
    chain.then("person", at_6="mine\n", at_30="thirty, mine\n")
    chain.then("shell", at_50="fifty\n")
    selected = [change for change in chain.changes if change.is_by_agent]
    diff = reviewed_diff(selected, chain.changes, chain.read)
    assert [authors for _, authors in diff.authors] == [("agent", "person"), ("person",), ("shell",)]


def test_what_nobody_recorded_between_two_changes_is_the_persons() -> None:
    chain = Chain()
    chain.then("agent", at_5="five\n")
    chain.then("person", at_30="mine\n")
    chain.then("agent", at_50="fifty\n")
    recorded = [chain.changes[0], chain.changes[2]]
    diff = reviewed_diff(recorded, recorded, chain.read)
    assert [authors for _, authors in diff.authors] == [("agent",), ("person",), ("agent",)]


def test_one_author_needs_no_naming() -> None:
    chain = Chain()
    changes = [chain.then("agent", at_5="five\n"), chain.then("agent", at_50="fifty\n")]
    assert reviewed_diff(changes, changes, chain.read).authors == ()


def test_a_mode_is_a_thing_to_decide_about_of_its_own() -> None:
    chain = Chain()
    change = chain.then("agent", at_5="five\n")
    assert change.after is not None
    executable = replace(change, after=replace(change.after, mode=0o755))
    diff = reviewed_diff([executable], [executable], chain.read)
    assert all_keys(diff)[-1] == MODE
