"""Descriptions of arguments in docstrings, in the three common styles."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.tools.function_tool import taken_apart

GOOGLE = """Tell the weather.

    Ask it once a day.

    Args:
        city: Its name.
            In its own language.
        days (int, optional): How many.

    Returns:
        A text.
    """
NUMPY = """Tell the weather.

    Ask it once a day.

    Parameters
    ----------
    city : str
        Its name.
        In its own language.
    days : int, optional
        How many.

    Returns
    -------
    str
        A text.
    """
SPHINX = """Tell the weather.

    Ask it once a day.

    :param city: Its name.
        In its own language.
    :param int days: How many.
    :returns: A text.
    """
ARGUMENTS = {"city": "Its name. In its own language.", "days": "How many."}


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["Google", "NumPy", "Sphinx"])
def test_what_is_said_of_arguments_leaves_the_description(docstring: str) -> None:
    found = taken_apart(inspect.cleandoc(docstring), ["city", "days"])
    assert found.arguments == ARGUMENTS
    assert found.description.startswith("Tell the weather.\n\nAsk it once a day.")
    assert found.description.endswith("A text.")
    assert "Its name" not in found.description


@pytest.mark.parametrize(
    "docstring",
    [
        *("Sort.\n\nArgs:\n    other: None of ours.", "Sort.\n\nArgs:\n    Give them in order.", "Sort.\n\nArgs:"),
        *("Sort.\n\n:param other: None of ours.", "Parameters are listed below.", "Parameters\n---"),
    ],
)
def test_a_docstring_that_says_nothing_of_these_arguments_stays_as_it_is(docstring: str) -> None:
    found = taken_apart(docstring, ["city"])
    assert (found.description, found.arguments) == (docstring.strip(), {})


@given(st.text(alphabet="Args:\nParameters- paramcity", max_size=80))
def test_any_text_is_taken_apart(docstring: str) -> None:
    found = taken_apart(docstring, ["city"])
    assert set(found.arguments) <= {"city"}
    assert len(found.description) <= len(docstring)
