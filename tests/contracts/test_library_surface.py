"""The library's names, fields, signatures and defaults are as promised."""

from library_surface import GOLDEN, surface

HOW = """
The public surface of the library has changed. What was added is a new minor version, what was taken away or changed a
new major one (docs/library.md, "What is stable"): give the old a successor first, and let it warn. If it is meant:
write the list anew with `python packaging/tools/library_surface.py`, and a line in CHANGELOG.md.
"""


def test_the_surface_of_the_library_is_as_it_was_promised() -> None:
    promised, found = GOLDEN.read_text("utf-8").splitlines(), list(surface())
    gone, new = sorted({*promised} - {*found}), sorted({*found} - {*promised})
    assert (gone, new) == ([], []), HOW


def test_a_method_that_a_class_has_from_another_one_is_part_of_it() -> None:
    found = list(surface())
    assert "StructuredResult.text: str" in found
    assert "FunctionTool.name: str" in found
    assert any(line.startswith("Agent.run async def (self, prompt: str, ") for line in found)
