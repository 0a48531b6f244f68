"""Finds the texts of one module that go through Qt's translation, and the calls of which it cannot tell the text."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

PLURAL = "plural"
"""The function of `desktop_agent.ui.translation.plurals`, with context, number, one and many."""


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One text to be translated: the context in which Qt looks it up, and the English source."""

    context: str
    source: str
    is_plural: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What one module has: its messages, and where it translates something that is not written there."""

    messages: tuple[Message, ...]
    unknown: tuple[str, ...]
    """As source code, such as `words(setting.about.title)`."""


@dataclass(frozen=True, slots=True)
class Translating:
    """A function that translates one of its arguments."""

    context: str
    position: int
    is_plural: bool = False


def translating_functions(tree: ast.Module) -> Mapping[str, Translating]:
    """Return the functions of a module that only translate one of their arguments."""
    found: dict[str, Translating] = {}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [argument.arg for argument in function.args.args]
        for call in _calls(function):
            is_plural = _name(call.func) == PLURAL
            if not is_plural and not _is_translate(call):
                continue
            text = call.args[3 if is_plural else 1]
            if isinstance(text, ast.Name) and text.id in names and isinstance(call.args[0], ast.Constant):
                found[function.name] = Translating(_literal(call.args[0]), names.index(text.id), is_plural)
    return found


class ModuleTexts:
    """One module, and the translating functions of the package, by dotted name."""

    def __init__(self, tree: ast.Module, functions: Mapping[str, Translating], own: Mapping[str, Translating]) -> None:
        self._tree = tree
        self._named = dict(own)
        """Functions by the name they have here."""
        self._modules: dict[str, str] = {}
        """Imported modules that have such functions, by the name they have here."""
        self._functions = functions
        self._assigned: dict[str, list[ast.expr]] = {}
        for name, value in _assigned(tree):
            self._assigned.setdefault(name, []).append(value)
        for imported in tree.body:
            if isinstance(imported, ast.ImportFrom):
                self._import(imported)
        self._messages: list[Message] = []
        self._unknown: list[str] = []

    def find(self) -> Found:
        """Return what the module has."""
        self._visit(self._tree, "", frozenset())
        return Found(tuple(dict.fromkeys(self._messages)), tuple(self._unknown))

    def _import(self, imported: ast.ImportFrom) -> None:
        for alias in imported.names:
            name = alias.asname or alias.name
            full = f"{imported.module}.{alias.name}"
            if full in self._functions:
                self._named[name] = self._functions[full]
            elif any(function.startswith(f"{full}.") for function in self._functions):
                self._modules[name] = full

    def _visit(self, node: ast.AST, context: str, parameters: frozenset[str]) -> None:
        if isinstance(node, ast.ClassDef):
            context = node.name
        if isinstance(node, ast.FunctionDef):
            parameters = frozenset(argument.arg for argument in node.args.args)
        if isinstance(node, ast.Call):
            self._take(node, context, parameters)
        for child in ast.iter_child_nodes(node):
            self._visit(child, context, parameters)

    def _take(self, call: ast.Call, context: str, parameters: frozenset[str]) -> None:
        """Keep the messages of a call, if it is one that translates."""
        name, arguments = _name(call.func), call.args
        if name == PLURAL or name == "QT_TRANSLATE_NOOP" or _is_translate(call):
            text = arguments[3 if name == PLURAL else 1]
            if isinstance(text, ast.Name) and text.id in parameters:
                return  # the body of a translating function
            self._keep(call, Translating(_literal(arguments[0]), 0, name == PLURAL), text)
        elif name == "self.tr":
            self._keep(call, Translating(context, 0), arguments[0])
        elif name.endswith(".tr"):
            self._unknown.append(ast.unparse(call))  # the class that Qt looks it up in is not known
        elif (known := self._function(name)) is not None and len(arguments) > known.position:
            self._keep(call, known, arguments[known.position])

    def _function(self, name: str) -> Translating | None:
        module, _, function = name.rpartition(".")
        if module:
            return self._functions.get(f"{self._modules.get(module)}.{function}")
        return self._named.get(name)

    def _keep(self, call: ast.Call, function: Translating, text: ast.expr) -> None:
        sources = list(self._texts(text))
        if None in sources:
            self._unknown.append(ast.unparse(call))
        self._messages += [Message(function.context, source, function.is_plural) for source in sources if source]

    def _texts(self, text: ast.expr) -> Iterator[str | None]:
        """Yield what a text can be; None where that is not written in the module."""
        match text:
            case ast.Constant(value=str(value)):
                yield value
            case ast.IfExp(body=body, orelse=other):
                yield from self._texts(body)
                yield from self._texts(other)
            case ast.Name(id=name):
                yield from self._name(name)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self._texts(value)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                yield from self._texts(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=table), attr="get"), args=[_, *default]):
                yield from self._table(table)
                for value in default:
                    yield from self._texts(value)
            case ast.Subscript(value=ast.Name(id=table)):
                yield from self._table(table)
            case _:
                yield None

    def _table(self, name: str) -> Iterator[str | None]:
        """Yield all texts in what is assigned to a name, wherever in the module."""
        if name not in self._assigned:
            yield None
        for value in self._assigned.get(name, ()):
            yield from _values(value)

    def _name(self, name: str) -> Iterator[str | None]:
        """Yield all texts that are assigned to a name, wherever in the module."""
        if name not in self._assigned:
            yield None
        for value in self._assigned.get(name, ()):
            yield from self._texts(value)


def declared(tree: ast.Module, table: str, position: int) -> Iterator[str]:
    """Yield the text at a place among the arguments of each call in the constant `table`."""
    for call in _calls(dict(_assigned(tree))[table]):
        if len(call.args) > position:
            yield _literal(call.args[position])


def texts_in(tree: ast.Module, table: str) -> Iterator[str]:
    """Yield all texts in the values of the constant `table`."""
    yield from _values(dict(_assigned(tree))[table])


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in ast.walk(tree):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name):
                        yield target.id, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _values(value: ast.expr) -> Iterator[str]:
    """Yield the texts in a table: the values of a dictionary, the items of a tuple."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Dict(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            for each in values:
                yield from _values(each)
        case _:
            return


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _is_translate(call: ast.Call) -> bool:
    return _name(call.func) == "QCoreApplication.translate"


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f"….{name}"  # of something that has no name of its own
        case _:
            return ""


def _literal(expression: ast.expr) -> str:
    value: object = ast.literal_eval(expression)
    assert isinstance(value, str), ast.unparse(expression)
    return value


def sorted_messages(messages: Iterable[Message]) -> list[Message]:
    """Return each once, in the order in which Qt's tools write them."""
    return sorted(set(messages))
