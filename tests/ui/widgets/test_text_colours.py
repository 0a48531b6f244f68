"""Code is coloured by role, piece by piece."""

from desktop_agent.ui.chat.markdown.parser import utf16_slice
from desktop_agent.ui.widgets.text_colours import colour_code, diff_lines, lexer_for_language


def coloured(language: str, code: str, before: str = "") -> list[tuple[str, str]]:
    lexer = lexer_for_language(language)
    assert lexer is not None
    colouring = colour_code(lexer, before, code)
    return [(utf16_slice(code, start, start + length), role) for start, length, role in colouring]


def test_roles_are_found() -> None:
    found = coloured("python", "def f(x):\n    return 'a' + 1  # why")
    assert ("def", "syntax_keyword") in found
    assert ("f", "syntax_function") in found
    assert ("1", "syntax_number") in found
    assert ("# why", "syntax_comment") in found
    assert ("a", "syntax_string") in found


def test_positions_hold_behind_characters_outside_the_basic_plane() -> None:
    assert ("return", "syntax_keyword") in coloured("python", "'😀'; return")


def test_the_piece_before_is_context() -> None:
    assert coloured("python", 'still text"""', before='x = """begin') == [
        ("still text", "syntax_string"),
        ('"""', "syntax_string"),
    ]


def test_names_of_languages_are_not_particular_about_case() -> None:
    assert coloured("Python", "return") == [("return", "syntax_keyword")]
    assert lexer_for_language("klingon") is None


def test_data_on_one_long_line_is_not_read() -> None:
    assert coloured("json", "[" + "1," * 5_000 + "1]") == []


def test_the_lines_of_a_diff_are_told_apart_and_its_file_names_are_no_changes() -> None:
    code = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n 😀\n--- an SQL comment\n+new\n-\n--- a/y"
    assert [(utf16_slice(code, at, at + length), role) for at, length, role in diff_lines(code)] == [
        ("diff --git a/x b/x", "muted"),
        ("--- a/x", "muted"),
        ("+++ b/x", "muted"),
        ("@@ -1 +1,2 @@", "muted"),
        ("--- an SQL comment", "removed_text"),
        ("+new", "added_text"),
        ("-", "removed_text"),
        ("--- a/y", "muted"),  # the name of the other version follows
    ]
