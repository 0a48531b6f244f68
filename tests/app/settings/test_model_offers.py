"""Which accounts the model picker offers, and at which address."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.app.settings.model_offering import ModelLists, accounts_offered
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import ModelCatalog
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.settings.loading import FileProblem

WORK = Account(provider="anthropic", name="work", address="https://models.example")
TEAM = Account(provider="openai-chat", name="team", address="https://team.example/v1")
SONNET = ModelRef(provider="anthropic", model="sonnet")
OWN_ADDRESS = "http://127.0.0.1:4000"


def labels(loaded: LoadedAccounts, now: ModelRef | None = None) -> list[str]:
    return [account.full_label for account in accounts_offered(loaded, now, lambda account: account)]


def test_the_account_of_the_present_model_comes_first() -> None:
    loaded = LoadedAccounts(added=(WORK,))
    assert labels(loaded)[:2] == ["Anthropic", "work (models.example)"]
    assert labels(loaded, replace(SONNET, account="work"))[:2] == ["work (models.example)", "Anthropic"]
    assert labels(loaded, ModelRef(provider="xai", model="grok"))[0] == "xAI"


def test_one_key_at_one_address_is_offered_once_unless_both_ways_are_used() -> None:
    assert "OpenAI" in labels(LoadedAccounts())
    assert "OpenAI, Chat Completions" not in labels(LoadedAccounts())
    assert "team (team.example)" in labels(LoadedAccounts(added=(TEAM,)))
    chat = labels(LoadedAccounts(), ModelRef(provider="openai-chat", model="gpt"))
    assert chat[0] == "OpenAI, Chat Completions"
    assert "OpenAI" not in chat, "the same account under its other name"


def test_a_cloud_is_offered_only_if_it_was_set_up_or_is_in_use() -> None:
    clouds = {"Amazon Bedrock", "Google Vertex AI", "Microsoft Foundry", "Claude Platform on AWS"}
    assert not clouds & set(labels(LoadedAccounts()))
    usual = Account(provider="vertex", kind="profile", cloud={"region": "global"})
    named = Account(provider="foundry", name="lab", kind="profile", cloud={"resource": "lab"})
    offered = labels(LoadedAccounts(added=(usual, named)))
    assert "Google Vertex AI" in offered
    assert "Microsoft Foundry (lab)" in offered
    assert "Microsoft Foundry" not in offered
    assert labels(LoadedAccounts(), ModelRef(provider="bedrock", model="claude"))[0] == "Amazon Bedrock"
    key = {"AWS_BEARER_TOKEN_BEDROCK": "a-key"}
    assert "Amazon Bedrock" in [each.full_label for each in accounts_offered(LoadedAccounts(), None, replace, key)]


async def test_a_clouds_models_are_known_so_that_its_list_is_never_asked_for(tmp_path: Path) -> None:
    asked: list[Account] = []

    async def list_models(account: Account) -> Sequence[ListedModel]:
        asked.append(account)
        return ()

    lists = ModelLists(ModelCatalog(tmp_path, list_models, clock=SystemClock()), changed=lambda: None)
    cloud = usual_account("bedrock")
    await lists.read([cloud, WORK])
    await lists.refresh([cloud, WORK])
    assert asked == [WORK]
    offers = lists.offers(cloud, is_connected=True)
    assert not offers.is_listing
    assert all(model.known.context_tokens and model.known.price for model in offers.models)
    assert len(offers.models) == 3


def test_the_present_account_is_asked_where_it_is_asked_now_and_others_where_the_settings_say() -> None:
    now = replace(SONNET, base_url=OWN_ADDRESS)
    offered = accounts_offered(
        LoadedAccounts(), now, lambda account: replace(account, address="https://gateway.example")
    )
    found = {account.provider: account.where for account in offered}
    assert found["anthropic"] == OWN_ADDRESS
    assert found["xai"] == "https://gateway.example"


def test_an_account_that_is_gone_leaves_the_others() -> None:
    assert labels(LoadedAccounts(added=(WORK,)), replace(SONNET, account="gone"))[:2] == [
        *("Anthropic", "work (models.example)")
    ]


def test_an_account_that_belongs_elsewhere_is_offered_where_it_belongs() -> None:
    now = replace(SONNET, account="work", base_url="https://elsewhere.example")
    first = next(iter(accounts_offered(LoadedAccounts(added=(WORK,)), now, lambda account: account)))
    assert first == WORK


def test_while_the_file_is_broken_no_account_is_offered() -> None:
    problem = FileProblem(Path("accounts.toml"), "account", "is no table")
    assert labels(LoadedAccounts(added=(WORK,), problems=(problem,))) == []
