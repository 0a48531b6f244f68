import pytest

from desktop_agent.ui.translation import plural


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 files"), (1, "1 file"), (2, "2 files"), (999, "999 files"), (1_234_567, "1 234 567 files")],
)
def test_english_needs_no_translation(count: int, said: str) -> None:
    assert plural("Nothing", count, "%n file", "%n files").replace("\N{NARROW NO-BREAK SPACE}", " ") == said


def test_the_singular_may_leave_the_number_out() -> None:
    assert plural("Nothing", 1, "Send comment", "Send %n comments") == "Send comment"
