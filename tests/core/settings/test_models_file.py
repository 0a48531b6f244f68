"""What the user says of models: what can be used counts, and the rest is named with its line."""

from pathlib import Path

import pytest

from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.settings.models_file import ModelsFile, StatedModels

HEAD = '[[model]]\nprovider = "ollama"\nname = "q"\n'


def read(folder: Path, text: str) -> StatedModels:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return ModelsFile(path).load()


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    assert ModelsFile(tmp_path / "models.toml").load() == StatedModels()


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    text = """
[[model]]
provider = "ollama"
name = "qwen3:32b"
label = "Qwen 3"
context_tokens = 40960
output_tokens = 8192
takes_images = false
takes_tools = true
thinks = true
efforts = ["low", "high"]
input_price = 0.5
output_price = 1.5
cache_read_price = 0.05
cache_write_price = 0
"""
    assert read(tmp_path, text) == StatedModels(
        (
            KnownModel(
                provider="ollama", name="qwen3:32b", label="Qwen 3", context_tokens=40_960, output_tokens=8_192,
                takes_images=False, takes_tools=True, thinks=True, efforts=("low", "high"),
                price=Rates(input=0.5, output=1.5, cache_read=0.05, cache_write=0.0),
            ),
        )
    )  # fmt: skip


def test_what_is_left_out_is_not_known_and_an_empty_list_says_none(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD).models == (KnownModel(provider="ollama", name="q"),)
    assert read(tmp_path, f"{HEAD}efforts = []\n").models[0].efforts == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("contex_tokens = 4", "'contex_tokens' is not known"),
        ("context_tokens = 0", "context_tokens must be a whole number greater than 0"),
        ("context_tokens = true", "context_tokens must be a whole number greater than 0"),
        ('output_tokens = "many"', "output_tokens must be a whole number greater than 0"),
        ("takes_images = 1", "takes_images must be true or false"),
        ('efforts = "high"', "efforts must be a list of texts"),
        ('efforts = ["High!"]', "efforts: 'High!' is no level"),
        ('efforts = [""]', "efforts: '' is no level"),
        ("input_price = 1", "a price needs both input_price and output_price"),
        ("cache_read_price = 1", "a price needs both"),
        ("input_price = -1\noutput_price = 1", "input_price must be a number, 0 or more"),
        ("input_price = nan\noutput_price = 1", "input_price must be a number, 0 or more"),
        ('label = "x"\n[[model]]\nprovider = "nobody"\nname = "q"', "provider must be one of anthropic"),
        ('label = "x"\n[[model]]\nprovider = "ollama"', "name must be a text"),
        ('label = "x"\n[[model]]\nprovider = "ollama"\nname = " q"', "name has blanks around it"),
        (f'label = "x"\n{HEAD}', "stands in the file twice"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_place(tmp_path: Path, line: str, reason: str) -> None:
    good = '[[model]]\nprovider = "xai"\nname = "good"\n'
    stated = read(tmp_path, f"{good}\n{HEAD}{line}\n")
    (problem,) = stated.problems
    assert reason in problem.message
    assert (problem.key, problem.line) in {("model 2", 5), ("model 3", 9)}
    assert not problem.is_fault
    assert stated.models[0] == KnownModel(provider="xai", name="good")


@pytest.mark.parametrize("text", ["model = 1", "[[models]]\nname='x'", "no toml"])
def test_a_file_that_says_something_else_is_named(tmp_path: Path, text: str) -> None:
    stated = read(tmp_path, text)
    assert stated.models == ()
    assert stated.problems
    assert not any(problem.is_fault for problem in stated.problems)


def test_a_change_of_the_file_is_seen(tmp_path: Path) -> None:
    file = ModelsFile(tmp_path / "models.toml")
    assert file.load().models == ()
    file.path.write_text(HEAD)
    assert [model.name for model in file.load().models] == ["q"]
