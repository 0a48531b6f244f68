"""What a program printed is shown as a terminal would leave it, and only so much of it."""

import pytest

from desktop_agent.ui.chat.output import OutputExcerpt, first_lines, readable
from desktop_agent.ui.terminal.tail import MAX_LINE


def test_control_characters_are_shown_as_the_model_reads_them() -> None:
    assert first_lines("rm -rf /home\rok\r\n\x1b[1;32mgreen\x1b[0m\ttab\x00", 12).text == (
        "rm -rf /home\\x0dok\n\\x1b[1;32mgreen\\x1b[0m\ttab\\x00"
    )


def test_the_first_lines_say_how_many_are_behind() -> None:
    assert first_lines("a\nb\nc\nd\n", 2) == OutputExcerpt("a\nb", 2)
    assert first_lines("a\nb\n", 2) == OutputExcerpt("a\nb", 0)


def test_a_line_of_a_megabyte_is_cut() -> None:
    assert len(first_lines("x" * 1_000_000, 12).text) == MAX_LINE


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ('{"output": "printed", "metadata": {}}', "printed"),
        ('{"ok": false, "error": "no such file"}', "no such file"),
        ('{"path": ".", "entries": ["a", "b"], "total": 2}', "a\nb"),
        ('["a.py:1", "b.py:2"]', "a.py:1\nb.py:2"),
        ('{"a.py": 3, "b.py": 1}', "a.py: 3\nb.py: 1"),
        ('{"ok": true, "nested": {}}', '{"ok": true, "nested": {}}'),
        ("{not json", "{not json"),
        ("[1", "[1"),
        ('[NAME is kept back.]\n{"output": "printed", "metadata": {}}', "printed"),
        ('[NAME is kept back.]\n{"output": "", "metadata": {}}', ""),
        ("{}", ""),
        ("[]", ""),
        ('{"output": "", "metadata": {"exit_code": 0}}', ""),
        ('{"output": "", "metadata": {}, "note": "Ended."}', "Ended."),
    ],
)
def test_answers_in_json_are_shown_as_text(content: str, text: str) -> None:
    assert readable(content) == text


def test_of_a_long_line_the_beginning_is_shown_and_how_far_it_goes_on() -> None:
    text = "".join(f"word{number} " for number in range(200_000))
    excerpt = first_lines(f"short\n{text}\n", 12)
    assert excerpt.text == "short\n" + text[:MAX_LINE]
    assert (excerpt.cut_lines, excerpt.cut_chars) == (1, len(text) - MAX_LINE)
