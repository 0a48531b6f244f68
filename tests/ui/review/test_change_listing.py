"""The list is narrowed by who wrote a file, by what was decided, and by its path."""

from desktop_agent.ui.review.change_listing import FileFilter
from desktop_agent.ui.review.changed_files import group_by_file
from tests.ui.review.stage import Session


def test_every_criterion_narrows_the_list(session: Session) -> None:
    session.change(1, "a", "src/Pages.py", "1\n", "2\n")
    session.change(1, "b", "src/pages_test.py", "1\n", "2\n", author="shell")
    session.change(1, "", "src/pages_test.py", "2\n", "3\n", author="person")
    session.rename(1, "c", "old/pages.txt", "notes.txt", "x\n")
    files = group_by_file(session.transcript.changes.values())
    files = [files[0]._replace(mark="kept"), files[1]._replace(mark="conflict"), files[2]]

    def listed(wanted: FileFilter) -> list[str]:
        return [file.path for file in wanted.select(files)]

    assert FileFilter(text=" ").is_empty
    assert len(listed(FileFilter())) == 3
    assert listed(FileFilter(author="shell")) == ["src/pages_test.py"]
    assert listed(FileFilter(author="person")) == ["src/pages_test.py"]
    assert listed(FileFilter(author="mcp")) == []
    session.change(2, "", "src/Pages.py", "2\n", "3\n", author="unknown")
    assert FileFilter(author="unknown").passes(group_by_file(session.transcript.changes.values())[0])
    assert listed(FileFilter(state="undecided")) == ["src/pages_test.py", "notes.txt"]
    assert listed(FileFilter(state="kept")) == ["src/Pages.py"]
    assert listed(FileFilter(state="conflict", text="test")) == ["src/pages_test.py"]
    assert listed(FileFilter(text="pages SRC")) == ["src/Pages.py", "src/pages_test.py"]
    assert listed(FileFilter(text="old")) == ["notes.txt"]
