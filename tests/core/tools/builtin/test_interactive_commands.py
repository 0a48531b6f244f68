import pytest

from desktop_agent.core.tools.builtin.run_terminal_cmd import interactive_program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("vim a.txt", "vim"),
        ("/usr/bin/nano", "nano"),
        ("top", "top"),
        ("htop -d 5", "htop"),
        ("less README.md", "less"),
        ("more x", "more"),
        ("sudo -E vim /etc/hosts", "vim"),
        ("EDITOR=x FOO='a b' vim a", "vim"),
        ("env TERM=dumb nano", "nano"),
        ("git log | less; less README.md", "less"),
        ("git log | vim -", "vim"),
        ("cd src && vi a", "vi"),
        ("ls\nvim a", "vim"),
        ("cd x\r\nvim a\r\n", "vim"),
        ("vim a && echo \x1b", "vim"),
        ("echo \U0001f600; vim", "vim"),
        ("(top)", "top"),
        ("true; emacs -nw", "emacs"),
    ],
)
def test_an_interactive_program_is_found(command: str, program: str) -> None:  # T-88
    assert interactive_program(command) == program


@pytest.mark.parametrize(
    "command",
    [
        *("echo useless > a.txt", "echo useless", "echo top", "grep -r vim .", "git log", "man ls"),
        *("vimdiff --version", "vim -es -c wq a", "nvim --headless +q", "emacs --batch -l x.el", "emacs -batch"),
        *("top -bn1", "less --help", "git log | less", "git diff 2>&1 | less -R", "cat a | sort | more"),
        *("man ls | sudo less", "nanoc compile", "python top.py", "./more.sh", "cat <<EOF\nvim is an editor\nEOF"),
        *("cat <<'EOF' > a\ntop\nEOF", "echo 'unbalanced", "# vim\nls", "FOO=vim", "", "&&"),
    ],
)
def test_anything_else_is_not(command: str) -> None:
    """Z-49: substrings do not count."""
    assert interactive_program(command) is None
