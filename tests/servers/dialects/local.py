"""Local servers: their answers besides those of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.chat import ChatDialect
from tests.servers.dialects.openai import CREATED, models_or_nothing
from tests.servers.script import Refusal, Whole


def local_model(name: str, owner: str = "library") -> JsonObject:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner}


@dataclass(frozen=True)
class LocalDialect(ChatDialect):
    says: Mapping[str, Whole] | None = None
    unknown: Whole = Whole(404, "404 page not found")  # noqa: RUF009 - it is frozen

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        if path == f"{self.base}/models":
            return models_or_nothing(method, path, models)
        return (self.says or {}).get(path, self.unknown)


OLLAMA = LocalDialect(
    models=(local_model("nomic-embed-text:latest"), local_model("qwen3:8b")),
    says={"/": Whole(200, "Ollama is running"), "/api/version": Whole(200, {"version": "0.14.2"})},
)
LM_STUDIO = LocalDialect(
    models=(local_model("qwen/qwen3-8b", "organization_owner"),),
    says={
        "/api/v0/models": Whole(
            200, {"object": "list", "data": [{"id": "qwen/qwen3-8b", "type": "llm", "max_context_length": 32768}]}
        )
    },
    unknown=Whole(200, {"error": "Unexpected endpoint or method. (GET)"}),
)
LLAMA_CPP = LocalDialect(
    models=(local_model("Qwen3-8B-Q4_K_M.gguf", "llamacpp"),),
    says={
        "/health": Whole(200, {"status": "ok"}),
        "/props": Whole(200, {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}),
    },
    unknown=Whole(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
)
LOADING = LocalDialect(
    unknown=Whole(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
)
