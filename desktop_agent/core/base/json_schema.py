"""Validates values against a JSON Schema. `jsonschema` takes 0.1 s to import, so import this module late."""

from collections.abc import Mapping
from typing import Any, cast

from jsonschema import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable


class SchemaCheck:
    """Checks values against one schema. References in the schema are not fetched."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        """Raises `ValueError` that says where `schema` is not a JSON Schema."""
        checked = cast("dict[str, Any]", schema)
        kind = validator_for(checked)
        registry: Registry[Any] = Registry()
        try:
            kind.check_schema(checked)
            self._validator = kind(checked, registry=registry)
        except SchemaError as error:
            place = ".".join(map(str, error.absolute_path)) or "the schema"
            raise ValueError(f"{place}: {error.message}") from error
        except (Unresolvable, RecursionError) as error:
            raise ValueError(str(error)) from error

    def mistake_in(self, value: object, name: str) -> str:
        """Return the outermost mistake; empty if there is none. Raises `ValueError` if the schema cannot be applied."""
        try:
            mistakes = self._validator.iter_errors(cast("Any", value))
            found: ValidationError | None = min(mistakes, key=lambda one: len(one.absolute_path), default=None)
        except (Unresolvable, RecursionError) as error:
            raise ValueError(f"the schema cannot be applied ({error})") from error
        if found is None:
            return ""
        return f"{'.'.join(map(str, found.absolute_path)) or name}: {found.message}"
