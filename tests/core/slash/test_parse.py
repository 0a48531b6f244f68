"""Reading commands: what was meant is what is read, and nothing that can be typed is too much for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.slash.declarations import (
    first_word,
    is_command,
    parse,
    plain_text,
    prompt_of,
    split_words,
)

anything = st.text(max_size=200)
tricky = st.text(alphabet="\"'\\ \t\nab-=/", max_size=40)


class TestWhatIsACommand:
    @pytest.mark.parametrize("text", ["/status", "/", "/pin add x", "/no such thing"])
    def test_a_line_that_begins_with_a_slash_is_a_command(self, text: str) -> None:
        assert is_command(text)

    @pytest.mark.parametrize(
        ("text", "prompt"),
        [
            (" /etc/hosts is odd", "/etc/hosts is odd"),
            ("//etc/hosts is odd", "/etc/hosts is odd"),
            ("fix a/b", "fix a/b"),
            ("///", "//"),
            ("\n/x", "/x"),
        ],
    )
    def test_a_space_or_a_second_slash_makes_it_a_prompt(self, text: str, prompt: str) -> None:
        assert not is_command(text)
        assert prompt_of(text) == prompt

    @given(anything)
    def test_every_prompt_can_be_sent(self, prompt: str) -> None:
        wanted = prompt.strip()
        assert not is_command(f" {wanted}")
        assert prompt_of(f" {wanted}") == wanted


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("add don't touch it", ("add", "don't", "touch", "it")),
            ('file "a b.txt" now', ("file", "a b.txt", "now")),
            ("'a \"b\"' c", ('a "b"', "c")),
            (r"C:\Users\x", (r"C:\Users\x",)),
            (r'"say \"hi\" and \\"', ('say "hi" and \\',)),
            ('"open', ('"open',)),
            ('"a"b', ('"a"b',)),
            ('""', ("",)),
            ("", ()),
        ],
    )
    def test_quotes_group_words_and_apostrophes_do_not(self, text: str, words: tuple[str, ...]) -> None:
        assert split_words(text) == words

    @given(st.lists(st.one_of(anything, tricky), max_size=6))
    def test_any_words_can_be_said_in_quotes(self, words: list[str]) -> None:
        quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
        assert list(split_words(" ".join(f'"{word}"' for word in quoted))) == words

    @given(st.one_of(anything, tricky))
    def test_nothing_that_is_typed_is_too_much(self, text: str) -> None:
        parse(f"/{text}")
        parse(text)
        split_words(text)
        first_word(text)
        plain_text(text)

    def test_the_rest_of_a_command_is_as_it_was_written(self) -> None:
        invocation = parse("/PIN  add  two  spaces\nand a line ")
        assert invocation.name == "pin"
        assert invocation.rest == "add  two  spaces\nand a line"
        assert first_word(invocation.rest) == ("add", "two  spaces\nand a line")

    @pytest.mark.parametrize(
        ("text", "plain"), [('"a  b"', "a  b"), ('"a" and "b"', '"a" and "b"'), ("don't", "don't"), ("'x'", "x")]
    )
    def test_quotes_around_all_of_a_text_are_no_part_of_it(self, text: str, plain: str) -> None:
        assert plain_text(text) == plain
