"""How annotations, defaults and the docstring become the schema for the model and the arguments."""

import dataclasses
import enum
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field

from desktop_agent import ApprovalRequest, Call, FunctionTool, Say, tool
from tests.api.conftest import MakeAgent

if TYPE_CHECKING:
    from decimal import Decimal as NotThere


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


@dataclasses.dataclass
class Place:
    """A place on a map."""

    x: int
    y: int = 0


class Options(TypedDict):
    loud: bool


class Inner(Struct):
    size: int


class Box(Struct, frozen=True):
    inner: Inner
    name: str = "box"


class Model(BaseModel):
    count: int


def take(value: object) -> str:
    """Take it."""
    return repr(value)


def value_of(arguments: BaseModel) -> object:
    return arguments.__dict__["value"]


BOX_SCHEMA = {
    "type": "object",
    "properties": {
        "inner": {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]},
        "name": {"type": "string", "default": "box"},
    },
    "required": ["inner"],
}


def yes(_: ApprovalRequest) -> bool:
    return True


def taking(annotation: object, default: object = ...) -> FunctionTool:
    def taken(value: object) -> str:
        return take(value)

    taken.__annotations__["value"] = annotation
    taken.__defaults__ = None if default is ... else (default,)
    return FunctionTool(taken, name="take", description="Take it.")


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema["properties"]["value"]
    name = found.get("$ref", "").rpartition("/")[2]
    return schema["$defs"][name] | {key: found[key] for key in found if key != "$ref"} if name else found


@pytest.mark.parametrize(
    ("annotation", "given", "received", "schema"),
    [
        (Literal["a", "b"], "a", "a", {"type": "string", "enum": ["a", "b"]}),
        (Unit, "F", Unit.FAHRENHEIT, {"type": "string", "enum": ["C", "F"]}),
        (list[Unit], ["C"], [Unit.CELSIUS], None),
        (Place, {"x": 1}, Place(1), None),
        (Options, {"loud": True}, {"loud": True}, None),
        (Box, {"inner": {"size": 1}}, Box(Inner(1)), BOX_SCHEMA),
        (list[Box], [{"inner": {"size": 1}}], [Box(Inner(1))], {"type": "array", "items": BOX_SCHEMA}),
        (dict[str, Box], {"a": {"inner": {"size": 1}}}, {"a": Box(Inner(1))}, None),
        (tuple[int, ...], [1, 2], (1, 2), None),
        (Model, {"count": 2}, Model(count=2), None),
        (Annotated[int, "How many."], 3, 3, {"type": "integer", "description": "How many."}),
        (Annotated[Box, "Its box."], {"inner": {"size": 1}}, Box(Inner(1)), BOX_SCHEMA | {"description": "Its box."}),
    ],
    ids=str,
)
def test_an_annotation_is_told_to_the_model_and_its_value_is_what_the_function_gets(
    annotation: object, given: object, received: object, schema: dict[str, object] | None
) -> None:
    own = taking(annotation)
    if schema is not None:
        assert resolved(own.definition().input_schema) == schema
    assert value_of(own.parse({"value": given})) == received


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (int, 3, 3),
        (Unit, Unit.CELSIUS, "C"),
        (Place, Place(1, 2), {"x": 1, "y": 2}),
        (Box, Box(Inner(1)), {"inner": {"size": 1}, "name": "box"}),
        (str | None, None, None),
        (Box | None, None, None),
    ],
    ids=str,
)
def test_a_default_is_told_and_what_the_function_gets_without_the_argument(
    annotation: object, default: object, told: object
) -> None:
    own = taking(annotation, default)
    schema = own.definition().input_schema
    assert "required" not in schema
    assert resolved(schema).get("default") == told
    assert value_of(own.parse({})) == default


@pytest.mark.parametrize(
    ("annotation", "given", "problem"),
    [
        (Box, {"inner": {"size": "big"}}, "value: Expected `int`, got `str` - at `$.inner.size`"),
        (Unit, "K", "value: Input should be 'C' or 'F'"),
        (Place, {"x": 1, "z": 2}, "value.z: Unexpected keyword argument"),
        (Options, {}, "loud"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named_with_its_place(annotation: object, given: object, problem: str) -> None:
    with pytest.raises(Exception, match="Invalid arguments for take: ") as raised:
        taking(annotation).parse({"value": given})
    assert problem in str(raised.value)


def test_what_the_docstring_says_of_an_argument_is_told_with_it_and_only_there() -> None:
    @tool
    def weather(city: str, days: Annotated[int, Field(ge=1, description="At least one.")] = 1) -> str:
        """Tell the weather.

        Args:
            city: Its name.
            days: Not this.
        """
        return city * days

    definition = weather.definition()
    assert definition.description == "Tell the weather."
    told: Any = definition.input_schema["properties"]
    assert {name: told[name]["description"] for name in told} == {"city": "Its name.", "days": "At least one."}


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (Box(Inner(1)), '{"inner":{"size":1},"name":"box"}'),
        ([Place(1), Unit.CELSIUS], '[{"x":1,"y":0},"C"]'),
        ({"box": Box(Inner(2), name="b")}, '{"box":{"inner":{"size":2},"name":"b"}}'),
        (object(), "answer returned what is no JSON"),
    ],
    ids=["structs", "a list", "a dict", "an object"],
)
async def test_what_a_function_returns_is_read_as_json(agent_with: MakeAgent, result: object, content: str) -> None:
    @tool(is_read_only=True)
    def answer() -> object:
        """Answer."""
        return result

    async with agent_with([Call("answer", {})], [Say("Done.")], tools=[answer]) as agent:
        (call,) = (await agent.run("Go.")).calls
    assert content in call.result.content


class Adder:
    """Add to what it holds."""

    def __init__(self, base: int) -> None:
        self.base = base

    async def __call__(self, more: int) -> int:
        return self.base + more

    def less(self, by: int) -> int:
        """Take away from what it holds."""
        return self.base - by


@pytest.mark.parametrize(
    ("function", "call", "content"),
    [
        (FunctionTool(Adder(3), name="add"), Call("add", {"more": 4}), "7"),
        (Adder(3).less, Call("less", {"by": 1}), "2"),
        (FunctionTool(partial(Adder(3).less), name="less", description="Less."), Call("less", {"by": 3}), "0"),
    ],
    ids=["an object", "a method", "a partial"],
)
async def test_whatever_can_be_called_can_be_a_tool(
    agent_with: MakeAgent, function: object, call: Call, content: str
) -> None:
    async with agent_with([call], [Say("Done.")], tools=[function], approve=yes) as agent:
        (done,) = (await agent.run("Go.")).calls
    assert done.result.content == content


class Node(Struct):
    below: "list[Node]"


def late(value: "NotThere") -> None:
    """Do it."""


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: taking(MakeAgent), "'value' of the tool 'take': a model cannot give it: .* Annotate it with str, int"),
        (lambda: taking(Struct | Adder), "Annotate it with"),
        (lambda: taking(Node), "Node holds itself"),
        (lambda: taking(object, object()), "the default of 'value' of the tool 'take' cannot be told .* Take None"),
        (lambda: tool(late), "names what is not defined yet, 'NotThere': import it"),
        (lambda: tool(lambda: None), "'<lambda>' is no name for a tool: give one of letters"),
        (lambda: tool(name="look up", description="Look.")(take), "'look up' is no name for a tool"),
    ],
)
def test_what_cannot_be_a_tool_says_what_would_do(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        make()
