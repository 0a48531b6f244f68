from tests.docs.markdown_page import PAGE, markdown_page


def test_the_document_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown_page(), "run `python -m tests.docs.markdown_page`"
