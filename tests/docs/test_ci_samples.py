"""The CI samples and the image's recipe are valid, and use existing commands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from desktop_agent.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "container"
SAMPLES = sorted(FOLDER.glob("*.y*ml"))
COMMAND = re.compile(r"desktop-agent ((?:run|doctor|batch)\b[^'>|&#]*)")


def scripts_in(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for each in cast("dict[str, Any]", value).values():
                yield from scripts_in(each)
        case list():
            for each in cast("list[Any]", value):
                yield from scripts_in(each)
        case str():
            yield value
        case _:
            pass


def test_the_samples_are_there() -> None:
    assert [path.name for path in SAMPLES] == ["dask-cluster.yaml", "github-actions.yml", "gitlab-ci.yml"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_valid_and_asks_for_what_there_is(sample: Path) -> None:
    documents = list(yaml.safe_load_all(sample.read_text(encoding="utf-8")))
    assert all(isinstance(document, dict) for document in documents)
    lines = [found for text in scripts_in(documents) for found in COMMAND.findall(text.replace("\\\n", " "))]
    for line in lines:
        build_parser().parse_args(shlex.split(line))
    assert lines or sample.name == "dask-cluster.yaml"


def test_the_recipe_of_the_image_copies_what_is_there() -> None:
    recipe = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    lock = re.findall(r"^(?:ARG |# .*--build-arg )LOCK=(\S+)$", recipe, re.MULTILINE)
    copied = [
        word for words in re.findall(r"^COPY (?!--from)(.*) \S+$", recipe, re.MULTILINE) for word in words.split()
    ]
    assert "${LOCK}" in copied
    assert [name for name in (*lock, *copied) if name != "${LOCK}" and not (ROOT / name).exists()] == []
    assert len(lock) == 2
