"""Kinds of arguments that several tools take."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from desktop_agent.core.tools.files.globs import Glob


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, UnicodeError) as error:
        raise ValueError(f"{name!r} is no text encoding; use a name such as utf-8, latin-1 or utf-16") from error
    return name


PathText = Annotated[str, Field(min_length=1)]
"""A path as the model names it. The boundary decides whether it is in the workspace."""

TextEncoding = Annotated[str, AfterValidator(_known_encoding)]
"""The name of a text encoding that Python knows."""


def _valid_glob(pattern: str) -> str:
    Glob(pattern)
    return pattern


GlobText = Annotated[str, AfterValidator(_valid_glob)]
"""A glob that `Glob` takes."""


def one_of(name: str, values: tuple[str, ...], *, listed: str = "{}") -> BeforeValidator:
    """Return what takes one of `values` in upper or lower case, and names them all when it is something else.

    `listed` is how their list is written.
    """

    def known(value: object) -> object:
        word = value.lower() if isinstance(value, str) else value
        if word not in values:
            raise ValueError(f"{name} must be one of {listed.format(', '.join(values))}")
        return word

    return BeforeValidator(known)
