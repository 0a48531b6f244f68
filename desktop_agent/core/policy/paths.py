"""Tells which paths are special: git's own files, and files that often hold secrets. Judges by names only."""

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from desktop_agent.core.base.regex import regex

Sensitivity = Literal["git", "secret", "own"]

OWN_FOLDER = ".desktop-agent"

SECRET_FOLDERS = frozenset({
    ".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", ".gcloud", ".password-store", ".oci", ".gsutil", ".chef",
    ".secrets", ".envs",
})  # fmt: skip
_FOLDERS_FOR_SECRETS = frozenset({"secrets", "private_keys", "private-keys"})
"""Folders that can also hold source code. Data directly in them is secret, the rest is judged by name."""

_STAGES = (
    "prod|production|live|dev|devel|develop|development|stag|stage|staging|test|testing|tests|qa|uat|e2e|ci|cd|docker|local"
    "|preview|preprod|sandbox|demo|private|secrets?|personal|override|vault|default|shared|web|api|app|db|server|backend"
)
_COPIES = (
    "bak|backup|old|orig|original|save|saved|copy|kopie|tmp|temp|new|prev|previous|swp|swo|disabled|off|rej|dpkg-old"
    "|rpmsave"
)
_VARIANT = regex(rf"(?:[._\- ]+(?:{_STAGES}|{_COPIES}|v?\d[\d_-]*)|[._\- ]*\(\d+\)|~|#)$")

_OWN_WORD = regex(r"(?<=.)[._-][a-z0-9_-]+$")
"""A suffix with any word, which makes another version of a hidden file, such as `.npmrc-work`."""

_LONGEST_NAME = 255

_TEMPLATE = regex(r"(?:^|[._-])(?:example|sample|template|tmpl|tpl|dist|schema|dummy|placeholder)s?(?:$|[._-])")

_MANUAL = regex(r"\.[1-9][a-z]*\.gz$")

_CODE = frozenset(
    """
    py pyi pyx ipynb md mdx rst adoc org tex html htm css scss less js jsx mjs cjs ts tsx mts cts vue svelte java kt
    kts groovy scala clj ex exs erl hs ml mli lua pl pm r jl dart go rs c h cc cpp cxx hpp hh cs fs vb swift m mm rb
    php zig nim proto graphql png jpg jpeg gif svg ico webp pdf mp3 mp4 pyc o so class snap lock map wasm
    """.split()  # noqa: SIM905 - words, to be read
)
"""If such a file is named after secrets, it is only about secrets."""

_DATA = frozenset(
    """
    json json5 jsonc yaml yml toml ini cfg conf config properties xml plist txt text csv tsv dat data db sqlite env
    enc b64 base64 sql dump zip tar gz tgz pw xlsx xls ods odt docx doc rtf
    """.split()  # noqa: SIM905 - words, to be read
)

_KEYS = frozenset(
    """
    pem key p8 p12 pfx pkcs12 jks jceks bks keystore kdb kdbx ppk asc gpg pgp agekey keytab ovpn tfstate tfvars
    kubeconfig dockerconfigjson dockercfg htpasswd wallet opvault agilekeychain kwallet keychain 1pif 1pux
    """.split()  # noqa: SIM905 - words, to be read
)

_KEYS_IN_BETWEEN = _KEYS - {"key", "gpg", "pgp", "asc", "wallet", "keychain", "kwallet"}
"""Extensions that mean the same even before another extension, because they are no ordinary words."""

_EXACT = regex(
    r"""
      [._]netrc | \.?npmrc | \.yarnrc\.yml | \.?pypirc | \.?pgpass(?:\.conf)? | \.my\.cnf | \.mylogin\.cnf | \.?htpasswd
    | \.?git-credentials | \.?(?:dockercfg|dockerconfigjson) | \.?terraformrc | terraform\.rc | \.?s3cfg | \.boto
    | \.?rclone\.conf | \.?passwd-s3fs | \.(?:passwd|password|passwords|token|tokens|secret|secrets|credentials|creds)
    | \.?vault[_-](?:pass|password|token)(?:\.txt)? | \.authinfo
    | \.fetchmailrc | \.msmtprc | \.mbsyncrc | \.offlineimaprc
    | \.sentryclirc | \.databrickscfg | \.cdsapirc | \.wakatime\.cfg | \.ngrok\.yml | ngrok\.yml | kaggle\.json
    | \.snowsql | \.mycli-history | \.\w+_history | fish_history | consolehost_history\.txt | \.histfile
    | (?:[\w-]+[_-])?\.?kube[._-]?config(?:\.ya?ml)? | talosconfig(?:\.ya?ml)? | k3s\.yaml
    | credentials | \.?flaskenv | \.dev\.vars
    | id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?[^.]* | [\w.-]*[_-](?:rsa|ed25519|ecdsa) | (?:\w+[_-])?deploy[_-]key
    | ssh_host_\w+_key | wallet\.dat | utc--.+ | rootkey\.csv
    | \.gitcookies | cookies?\.txt | cookies\.sqlite | logins\.(?:json|csv) | login\ data | key[34]\.db
    | (?:bitwarden|lastpass|1password)[_-]?(?:export|vault)?[\w-]*\.(?:json|csv) | \.muttrc
    | (?:keystore|signing|key)\.properties | local\.settings\.json | wg\d+\.conf | wireguard\.conf | ipsec\.secrets
    | passwds?\.(?:txt|csv) | token\.txt | keys?\.txt
    | (?:age|anthropic|aws|azure|gemini|github|gitlab|google|groq|hf|mistral|openai|openrouter|stripe|xai)[_-]keys?\.txt
    """,
    re.VERBOSE,
)
_ENVIRONMENT = regex(
    rf"""
      \.env(?:rc)?(?:[._\-@+, ].*|s|\d*|{_STAGES})              # .env, .envrc, .env.production, .env-prod, .envrc.local
    | env(?:rc)?(?:[._-](?:{_STAGES}|{_COPIES}|\d+))+            # env.production, env-prod; but not env.py, env.yml
    | .+\.env(?:[._-](?:{_STAGES}|{_COPIES}|\d+))*              # prod.env, app.env.local
    """,
    re.VERBOSE,
)
_IN_DATA = regex(
    r"""
    (?:^|[^a-z])(?:
        secrets? | credentials? | creds | passwords? | (?<=[_-])passwds? | passphrases?
      | (?:passw|kennw)(?:ort|orte|örter|oerter) | contraseñas? | mots?[_-]de[_-]passe
      | (?:api|access|secret|private|signing|encryption|master|ssh|account|storage)[_-]?keys?
      | (?:access|auth|api|bearer|refresh|oauth2?|session|login|bot|github|gitlab|npm|pypi|slack|vault|deploy)
        [_-]?tokens?
      | recovery[_-]?(?:codes?|keys?|kit|phrase) | backup[_-]?codes? | mnemonics? | seed[_-]?phrase
    )(?:$|[^a-z])(?!(?:rules?|polic(?:y|ies)|strength|scann?(?:er|ing)?|validation|requirements?|reset|rotation)(?:$|[^a-z]))
    | (?:client|app|consumer|shared|oauth2?)[_-]?secrets? | firebase[_-]?admin[_-]?sdk
    """,
    re.VERBOSE,
)

_IN_FOLDER = frozenset(
    {
        ("gh", "hosts.yml"), (".m2", "settings.xml"), (".m2", "settings-security.xml"), ("huggingface", "token"),
        (".huggingface", "token"), ("etc", "shadow"), ("etc", "gshadow"),
    }
)  # fmt: skip

_IN_JSON = regex(r"service[_-]?accounts? | (?:^|[_.-])(?:key|keyfile|keystore|token)$ | (?:^|[_-])sa$", re.VERBOSE)
"""Names that indicate secrets in JSON only. In YAML, a service account is just a name."""

_REMARKABLE = regex(
    r"pass|key|cred|token|secret|kube|rsa|account|recovery|mnemonic|s3cfg|s3fs|rclone|vault|wallet|rcs?$|id_|25519|ecdsa"
    r"|talos|cookie|login|1pif|1pux|\.properties|local\.settings|^wg\d|wireguard|ipsec|history|kennw|contrase|mots?[_-]de"
    r"|^auth\.json|shadow|bitwarden|^wp-config|^hosts\.y"
    r"|^env(?:rc)?[._-]|^_netrc|rc[._ -]|^utc--|^k3s|^ngrok|^kaggle|^\.?dockerc|^terraform\.rc|^pgpass"
    r"|backup[_-]?code|seed[_-]?phrase|admin[_-]?sdk|sa\."
    r"|\.(?:env|pem|p8|p12|pfx|pkcs|jks|jceks|bks|kdb|ppk|asc|gpg|pgp|ovpn|tfstate|tfvars|docker|opvault|kwallet)"
)
"""Every name of a secret file that has no leading dot contains one of these."""


def holds_secrets(name: str) -> bool:
    """Whether a file with this plain name (see `plain_name`) usually holds secrets, in any folder.

    A list of names is never complete, so this checks parts: the kind of file, suffixes of other versions, and words.
    """
    if len(name) > _LONGEST_NAME or _TEMPLATE.search(name):
        return False
    return not _MANUAL.search(name) and any(map(_is_of_secrets, _variants_of(name)))


def _variants_of(name: str) -> Iterator[str]:
    if name.endswith((".swp", ".swo")) and name.startswith("."):
        name = name[1:]  # an editor's copy of what it has open
    left = name.lstrip("#")
    while left not in ("", "."):
        yield left
        if left.startswith(".") and left.rpartition(".")[2] not in _CODE:
            yield _OWN_WORD.sub("", left)
        shorter = _VARIANT.sub("", left)
        left = shorter if shorter != left else ""


def _is_of_secrets(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    if name == "wp-config.php":
        return True
    if stem == "credentials" and ending not in ("md", "rst", "adoc", "html"):
        return True  # also `credentials.py`: people write them into such a file
    if (dot and stem and ending in _CODE) or ending == "pub":
        return False
    if _EXACT.fullmatch(name) or _ENVIRONMENT.fullmatch(name):
        return True
    if dot and ending in _KEYS:
        return True
    if any(part in _KEYS_IN_BETWEEN for part in stem.split(".")[1:]):  # `a.tfvars.json`, `a.pem.enc`
        return ending in _DATA or ending in _KEYS
    if not stem or ending not in _DATA:
        return re.match(r"(?:credentials|secrets?)\.", name) is not None
    return _IN_DATA.search(stem) is not None or (ending.startswith("json") and _IN_JSON.search(stem) is not None)


_GLOB = regex(r"[*?\[\]{}]")
_IGNORED = regex("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]")


def plain_name(name: str) -> str:
    """`name` as the most lenient file system sees it: `.GIT`, `.git.` and `git~1` are `.git`."""
    text = _IGNORED.sub("", unicodedata.normalize("NFC", name)).casefold()
    text = re.sub(r"::?\$.*$", "", text)  # NTFS streams: `.git::$INDEX_ALLOCATION`
    stripped = text.rstrip(". ") or text
    return ".git" if re.fullmatch(r"git~\d+", stripped) else stripped


def sensitivity(relative_path: str) -> Sensitivity | None:
    """Return what is special about a file; None for an ordinary one. `relative_path` can also be absolute."""
    if _is_ordinary(relative_path):
        name = relative_path.rpartition("/")[2].lower()
        is_code = name.rpartition(".")[2] in _CODE and not name.startswith(("credentials.", "wp-config."))
        if is_code or not _REMARKABLE.search(name):
            return None  # a quick answer for nearly all paths: searches check thousands
    return looked_at_closely(relative_path)


def _is_ordinary(path: str) -> bool:
    framed = f"/{path}/"
    if not path.isascii() or "/." in framed or "./" in framed or " /" in framed:
        return False
    if _GLOB.search(path):
        return False
    lower = framed.lower()
    if "/secrets/" in lower or "/private" in lower:
        return False
    return not ("\\" in path or ":" in path or "~" in path)


def looked_at_closely(relative_path: str) -> Sensitivity | None:
    parts = [plain_name(part) for part in PurePosixPath(normalized(relative_path)).parts]
    if ".git" in parts:
        return "git"
    if OWN_FOLDER in parts:
        return "own"
    if not parts:
        return None
    name = parts[-1]
    if any(part in SECRET_FOLDERS for part in parts):
        return None if name.endswith(".pub") else "secret"
    is_for_secrets = len(parts) > 1 and parts[-2] in _FOLDERS_FOR_SECRETS and _is_data(name)
    if len(name) <= _LONGEST_NAME and any(_is_in_its_folder(parts, variant) for variant in _variants_of(name)):
        return "secret"
    meant = {name, _GLOB.sub("", name)}  # in a command or a rule, `.env*` also means `.env`
    return "secret" if is_for_secrets or any(map(holds_secrets, meant)) else None


def _is_in_its_folder(parts: list[str], name: str) -> bool:
    if name == "auth.json":
        return not _FOLDERS_OF_TEXTS.intersection(parts[:-1])
    return (parts[-2] if len(parts) > 1 else "", name) in _IN_FOLDER


def _is_data(name: str) -> bool:
    if len(name) > _LONGEST_NAME or _TEMPLATE.search(name):
        return False
    for variant in _variants_of(name):
        stem, dot, ending = variant.rpartition(".")
        if (stem and ending in _DATA) or not (dot or variant in _NOTES):
            return True
    return False


_FOLDERS_OF_TEXTS = frozenset(
    {"i18n", "intl", "l10n", "lang", "langs", "languages", "locale", "locales", "messages", "strings", "translations"}
)
_NOTES = frozenset({"readme", "makefile", "license", "dockerfile"})


def normalized(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/")) if path else "."


def inside(path: str, folder: str, root: str) -> str | None:
    """Return `path`, as seen from `folder`, relative to `root`; None if it leads outside. Judges by the text alone."""
    if path.startswith("~"):
        return None
    joined = posixpath.normpath(posixpath.join(folder, path))
    base = posixpath.normpath(root)
    if joined == base:
        return "."
    prefix = base if base.endswith("/") else f"{base}/"
    return joined[len(prefix) :] if joined.startswith(prefix) else None
