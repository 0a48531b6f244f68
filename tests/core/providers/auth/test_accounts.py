"""The accounts that were added: kept with what the user wrote beside them, and none used while one cannot be read."""

from pathlib import Path

import pytest

from desktop_agent.core.base.errors import CredentialsError, UnsafeSettingsError, UsageError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile, LoadedAccounts
from desktop_agent.core.providers.auth.sign_ins import other_sign_ins

KEY = "sk-ant-test-0123456789abcdef"
WORK = Account(
    provider="anthropic", name="work", address="https://models.example", header="x-api-key", headers={"X-Team": "a"}
)
HOME = Account(provider="anthropic", name="home")
GPU = Account(provider="ollama", name="gpu", address="http://10.0.0.9:11434/v1", kind="key")


@pytest.fixture
def file(tmp_path: Path) -> AccountsFile:
    return AccountsFile(tmp_path / "config" / "accounts.toml")


def _write(file: AccountsFile, text: str) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text, encoding="utf-8")


def _model(account: str = "", base_url: str | None = None) -> ModelRef:
    return ModelRef(provider="anthropic", model="m", base_url=base_url, account=account)


def test_without_a_file_every_provider_has_its_usual_account(file: AccountsFile) -> None:
    assert file.load() == LoadedAccounts()
    assert file.load().of("anthropic") == (usual_account("anthropic"),)


def test_accounts_come_back_as_they_were(file: AccountsFile) -> None:
    for account in (WORK, HOME, GPU):
        file.put(account)
    assert file.load() == LoadedAccounts((WORK, HOME, GPU))
    assert file.load().of("anthropic") == (usual_account("anthropic"), WORK, HOME)
    assert file.load().find("anthropic", "Work") == WORK
    assert file.load().find("ollama", "work") is None


def test_an_account_is_replaced_where_it_stands_with_the_comments_kept(file: AccountsFile) -> None:
    file.put(WORK)
    file.put(HOME)
    _write(file, "# mine\n" + file.path.read_text().replace('"https://models.example"', '"https://a.example"  # old'))
    file.put(WORK)
    text = file.path.read_text()
    assert text.startswith("# mine\n")
    assert text.count("[[account]]") == 2
    assert file.load().added == (WORK, HOME)
    plain = Account(provider="anthropic", name="work")
    file.put(plain)
    assert file.load().added == (plain, HOME)


def test_the_usual_account_can_be_another_than_usual(file: AccountsFile) -> None:
    keyed = Account(provider="ollama", kind="key")
    file.put(keyed)
    assert file.load().of("ollama") == (keyed,)
    assert file.remove(keyed)
    assert file.load().of("ollama") == (usual_account("ollama"),)


def test_a_removed_account_is_gone(file: AccountsFile) -> None:
    assert not file.remove(WORK)
    file.put(WORK)
    assert file.remove(WORK)
    assert not file.remove(WORK)
    assert file.load() == LoadedAccounts()


def test_headers_may_be_written_as_a_section(file: AccountsFile) -> None:
    _write(file, '[[account]]\nprovider = "xai"\nname = "a"\n[account.headers]\nX-Team = "a"\n')
    (account,) = file.load().added
    assert account.headers == {"X-Team": "a"}
    file.put(HOME)
    file.put(Account(provider="xai", name="a", headers={"X-Team": "b"}))
    assert [account.headers for account in file.load().added] == [{"X-Team": "b"}, {}]


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ('provider = "antropic"', "openrouter"),
        ('name = "work"', "provider must be one of"),
        ('provider = "anthropic"\nname = "two words"', "letters"),
        ('provider = "anthropic"\nname = 3', "name must be a text"),
        ('provider = "anthropic"\naddress = "https://a.example"', "with a name"),
        ('provider = "anthropic"\nname = "a"\naddress = "a.example"', "address"),
        ('provider = "anthropic"\nname = "a"\nkind = "token"', "kind"),
        ('provider = "anthropic"\nname = "a"\nheader = "basic"', "header"),
        ('provider = "anthropic"\nname = "a"\nheaders = ["X"]', "headers"),
        (f'provider = "anthropic"\nname = "a"\nheaders = {{X-Team = "{KEY}"}}', "secret"),
        (f'provider = "anthropic"\nname = "a"\nkey = "{KEY}"', "'key' is not known"),
        ('provider = "anthropic"\nname = "Work"', "another account"),
    ],
)
def test_a_broken_entry_is_named_with_its_line_and_no_account_is_used(
    file: AccountsFile, entry: str, word: str
) -> None:
    _write(file, f'# mine\n[[account]]\nprovider = "anthropic"\nname = "work"\n\n[[account]]\n{entry}\n')
    before = file.path.read_bytes()
    (problem,) = file.load().problems
    assert f"{file.path}:6: account 2: " in str(problem)
    assert word in str(problem)
    assert KEY not in str(problem)
    for model in (_model(), _model("work")):
        with pytest.raises(UnsafeSettingsError) as caught:
            file.load().of_model(model)
        assert str(problem) in caught.value.detail
    with pytest.raises(UsageError):
        file.put(HOME)
    with pytest.raises(UsageError):
        file.remove(WORK)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("text", ["[[account]\n", "account = 3\n", "[accounts]\n", "\x00"])
def test_a_file_that_is_something_else_is_a_fault_with_its_line(file: AccountsFile, text: str) -> None:
    _write(file, text)
    assert file.load().problems
    with pytest.raises(UnsafeSettingsError):
        file.load().of_model(_model())


def test_an_account_that_cannot_be_used_is_not_written(file: AccountsFile) -> None:
    with pytest.raises(UsageError, match="secret"):
        file.put(Account(provider="anthropic", name="a", headers={"X-Team": KEY}))
    assert not file.path.exists()


def test_a_model_is_asked_by_the_account_it_names_at_that_accounts_address(file: AccountsFile) -> None:
    file.put(WORK)
    loaded = file.load()
    assert loaded.of_model(_model("work")) == WORK
    assert loaded.of_model(_model("WORK", "https://models.example/")) == WORK
    assert loaded.of_model(_model()).where == "https://api.anthropic.com"


def test_the_usual_account_goes_where_the_user_says(file: AccountsFile) -> None:
    account = file.load().of_model(_model(base_url="http://127.0.0.1:9"))
    assert (account.name, account.where) == ("", "http://127.0.0.1:9")


def test_a_named_account_goes_nowhere_else(file: AccountsFile) -> None:
    file.put(WORK)
    with pytest.raises(CredentialsError, match="belongs to https") as caught:
        file.load().of_model(_model("work", "https://api.anthropic.com"))
    assert "own address only" in caught.value.hint


def test_an_account_that_is_gone_is_named_with_those_there_are(file: AccountsFile) -> None:
    file.put(HOME)
    with pytest.raises(CredentialsError, match="no account 'work' for Anthropic") as caught:
        file.load().of_model(_model("work"))
    for known in ("usual", "home", "auth set anthropic --account work"):
        assert known in caught.value.hint


def test_a_model_of_an_unknown_provider_is_bad_usage(file: AccountsFile) -> None:
    with pytest.raises(UsageError, match="no provider"):
        file.load().of_model(ModelRef(provider="gone", model="m"))


def files(home: Path) -> tuple[Path, Path]:
    return home / ".codex" / "auth.json", home / ".claude" / ".credentials.json"


def test_without_them_there_is_nothing_to_say() -> None:
    assert other_sign_ins() == ()


def test_each_is_explained_with_what_to_do_instead(isolated_home: Path) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")
    codex, claude = other_sign_ins()
    assert codex.program == "Codex"
    assert "once" in codex.reason
    assert claude.program == "Claude Code"
    assert "does not permit" in claude.reason
    assert "API key" in claude.instead


def test_they_are_where_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("{}")
    (found,) = other_sign_ins({"CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "gone")})
    assert found.program == "Codex"


def test_nothing_in_them_is_read(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was opened")

    with monkeypatch.context() as nothing_opens:
        for name in ("builtins.open", "io.open", "os.open"):
            nothing_opens.setattr(name, refuse)
        assert len(other_sign_ins()) == 2
