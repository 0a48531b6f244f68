"""The user's own data about models, in `models.toml`: docs/guide/models.md. It overrides all other data."""

from collections.abc import Collection, Hashable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.plain_text import HIDING
from desktop_agent.core.models.known_model import KnownModel, Rates, is_level
from desktop_agent.core.models.vendors import VENDORS
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.table_file import (
    TableFile,
    amount_in,
    choice_in,
    optional_flag_in,
    size_in,
    table_of,
    text_in,
    texts_in,
)
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of

MODELS_FILE_NAME = "models.toml"

_PRICES = ("input_price", "output_price", "cache_read_price", "cache_write_price")
_KEYS = (*(field for field in KnownModel.__struct_fields__ if field != "price"), *_PRICES)


class StatedModels(Struct, frozen=True):
    models: tuple[KnownModel, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class ModelsFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TableFile(path, "model", "models")
        self._read: tuple[FileStamp | None, StatedModels] | None = None

    def load(self) -> StatedModels:
        """Return all usable tables, and the problems of the others. Blocks; never raises."""
        stamp = stamp_of(self.path)
        if self._read is None or not is_unchanged(stamp, self._read[0]):
            self._read = stamp, self._stated()
        return self._read[1]

    def _stated(self) -> StatedModels:
        models, problems = self._file.load(_model, lambda model: (model.provider, model.name))
        return StatedModels(models, tuple(replace(problem, is_fault=False) for problem in problems))


def _model(entry: object, others: Collection[Hashable]) -> KnownModel:
    values = table_of(entry, _KEYS)
    name = text_in(values, "name", is_needed=True)
    if name != name.strip() or HIDING.search(name):
        raise ValueError("name has blanks around it, or signs that cannot be seen")
    provider = choice_in(values, "provider", tuple(vendor.id for vendor in VENDORS))
    if (provider, name) in others:
        raise ValueError(f"{name!r} of {provider} is in the file twice")
    efforts = texts_in(values, "efforts") if "efforts" in values else None
    unknown = next((level for level in efforts or () if not is_level(level)), None)
    if unknown is not None:
        raise ValueError(f"efforts: {unknown!r} is no level; it must be a word in small letters, such as high")
    return KnownModel(
        provider=provider,
        name=name,
        label=HIDING.sub(" ", text_in(values, "label")).strip(),
        context_tokens=size_in(values, "context_tokens"),
        output_tokens=size_in(values, "output_tokens"),
        takes_images=optional_flag_in(values, "takes_images"),
        takes_tools=optional_flag_in(values, "takes_tools"),
        thinks=optional_flag_in(values, "thinks"),
        efforts=efforts,
        price=_price(*(amount_in(values, key) for key in _PRICES)),
    )


def _price(read: float | None, written: float | None, cached: float | None, kept: float | None) -> Rates | None:
    if read is not None and written is not None:
        return Rates(input=read, output=written, cache_read=cached, cache_write=kept)
    if any(price is not None for price in (read, written, cached, kept)):
        raise ValueError("a price needs both input_price and output_price")
    return None
