"""Validates values against a JSON Schema. `jsonschema` takes 0.1 s to import, so import this late."""

from collections.abc import Mapping
from typing import Any, cast

from jsonschema import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from desktop_agent.core.base.errors import UsageError


class SchemaCheck:
    """Checks values against one schema. References are not fetched."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        """Raises `UsageError` when `schema` is not a JSON Schema."""
        checked = cast("dict[str, Any]", schema)
        kind = validator_for(checked)
        try:
            kind.check_schema(checked)
        except SchemaError as error:
            place = ".".join(map(str, error.absolute_path)) or "the schema"
            raise UsageError("The output schema is no JSON Schema.", detail=f"{place}: {error.message}") from error
        registry: Registry[Any] = Registry()
        self._validator = kind(checked, registry=registry)

    def mistake_in(self, value: object) -> str:
        """Return the outermost mistake in a value, or an empty string."""
        try:
            mistakes = self._validator.iter_errors(cast("Any", value))
            found: ValidationError | None = min(mistakes, key=lambda one: len(one.absolute_path), default=None)
        except (Unresolvable, RecursionError) as error:
            return f"the schema cannot be applied ({error})"
        if found is None:
            return ""
        place = ".".join(map(str, found.absolute_path)) or "the value"
        return f"{place}: {found.message}"
