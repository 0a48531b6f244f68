"""Optional fields of a body that a model was found not to take: left out from then on, in this run."""

from collections.abc import Collection

from desktop_agent.core.providers.http.refusals import Refusal


class LeftOut:
    """Remembers them by model."""

    def __init__(self, *optional: str, never: Collection[str] = ()) -> None:
        """`optional` names the fields that a request makes sense without; a dotted one is a field within a field.

        Those in `never` are left out for every model.
        """
        self._optional = frozenset(optional)
        self._never = frozenset(never)
        self._by_model: dict[str, frozenset[str]] = {}

    def for_model(self, model: str) -> frozenset[str]:
        """Return what is left out for a model."""
        return self._by_model.get(model, self._never)

    def add(self, refusal: Refusal, model: str) -> bool:
        """Return whether `refusal` names an optional field that was sent until now."""
        field = refusal.parameter
        if refusal.fault != "invalid_request" or field not in self._optional or field in self.for_model(model):
            return False
        self._by_model[model] = self.for_model(model) | {field}
        return True
