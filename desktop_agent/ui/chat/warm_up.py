"""Loads what the first message needs, before there is one."""


def warm_up() -> None:
    """Import the markdown and code readers and use them once. Touches no widget: call it in any thread.

    Without it the first conversation takes about 60 ms longer to appear. Not to be called before the first paint.
    """
    from desktop_agent.ui.chat.markdown.inline import rich_text
    from desktop_agent.ui.chat.markdown.stream import MarkdownStream
    from desktop_agent.ui.chat.syntax_colours import lexer_for_language

    stream = MarkdownStream()
    stream.feed("# Title\n\nSome *text*.\n")
    stream.close()
    for block in stream.blocks:
        rich_text(block.content, stream.references)
    for language in ("python", "bash"):
        lexer_for_language(language)
