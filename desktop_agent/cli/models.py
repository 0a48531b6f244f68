"""`desktop-agent models`: an account's models and their properties."""

import argparse
import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from desktop_agent.cli.console import Console, table
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import KnownModel, ability_words, effort_words, price_words, size_words
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.model_choice import NamedModel

_HEADING = ("model", "context", "answer", "takes", "effort", "price per million, in / out")
_NUMBERS = (1, 2)


def main(args: argparse.Namespace, console: Console) -> None:
    bench = Workbench.from_environment(args.environ)
    for problem in bench.models_file.load().problems:
        console.say(f"warning: {problem}")
    model = bench.model_meant(NamedModel(provider=args.provider, account=args.account))
    if model.provider == DEMO:
        raise UsageError("The demo has no models to list.", hint="Name another provider with --provider.")
    account = bench.accounts.load().of_model(model)
    if args.refresh:
        asyncio.run(bench.models.refresh(account))  # noqa: TID251 - entry point
    models, fetched_at = bench.models.models(account), bench.models.fetched_at(account)
    document: JsonObject = {
        "models": [_document(account, model) for model in models],
        "fetched_at": fetched_at.isoformat() if fetched_at is not None else None,
    }
    console.result(document, _text(account, models, fetched_at))


def _text(account: Account, models: Sequence[KnownModel], fetched_at: datetime | None) -> str:
    again = "`--refresh` asks for it"
    if fetched_at is None:
        when = f"The list of {account.full_label} was not fetched yet; {again}."
    else:
        when = f"{account.full_label} listed them on {fetched_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC; {again} again."
    if not models:
        return f"No model is known. {when}"
    rows = [_HEADING, *map(_row, models)]
    return f"{table(rows, right=_NUMBERS)}\n\n{number_of(len(models), 'model')}. {when}"


def _row(model: KnownModel) -> tuple[str, ...]:
    size, longest = size_words(model.context_tokens), size_words(model.output_tokens)
    return model.name, size, longest, ability_words(model), effort_words(model), price_words(model.price)


def _document(account: Account, model: KnownModel) -> JsonObject:
    facts = ("name", "label", "context_tokens", "output_tokens", "takes_images", "takes_tools", "thinks", "efforts")
    price = picked(model.price, "input", "output", "cache_read", "cache_write") if model.price is not None else None
    return {"provider": model.provider, "account": account.name, **picked(model, *facts), "price": price}
