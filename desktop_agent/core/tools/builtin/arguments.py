"""Kinds of arguments that several tools take."""

from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.tools.globs import Glob


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
