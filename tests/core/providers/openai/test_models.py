"""Lists of models in OpenAI's forms."""

import json

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.providers.faults import FailedCall
from desktop_agent.core.providers.openai import read_models

CALL = FailedCall(address="https://api.openai.com")


def test_the_list_of_a_plan_has_slugs_and_leaves_out_what_is_hidden() -> None:
    page = {
        "models": [
            {"slug": "gpt-large", "display_name": "GPT Large", "visibility": "list", "context_window": 272_000},
            {"slug": "gpt-hidden", "visibility": "hide"},
            {"display_name": "without a slug"},
            "no object",
            {"slug": "gpt-small"},
        ]
    }
    models = read_models(json.dumps(page).encode(), CALL)
    assert [(model.name, model.label, model.context_tokens) for model in models] == [
        ("gpt-large", "GPT Large", 272_000),
        ("gpt-small", "", None),
    ]


def test_the_usual_list_is_read_as_before_whatever_stands_beside_it() -> None:
    page = {"object": "list", "data": [{"id": "a"}], "models": [{"slug": "b"}]}
    assert [model.name for model in read_models(json.dumps(page).encode(), CALL)] == ["a"]


@pytest.mark.parametrize("page", ["{}", "[]", '{"models": 7}', "no JSON"])
def test_what_is_no_list_is_refused(page: str) -> None:
    with pytest.raises(ProviderError):
        read_models(page.encode(), CALL)
