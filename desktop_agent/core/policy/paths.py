"""Which paths are special: git's own files, and files that often hold secrets.

Names are compared as the least particular file system would: case, trailing dots and blanks, and characters that some
systems ignore do not make another file.
"""

import posixpath
import re
import unicodedata
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Literal

Sensitivity = Literal["git", "secret", "own"]
"""`git`: git's internals. `secret`: often holds secrets. `own`: this application's own files in a project."""

OWN_FOLDER = ".desktop-agent"

SECRET_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "*.asc", "*.gpg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc",
    ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg", ".vault-token", ".terraformrc",
    "credentials", "credentials.*", "secrets.*", "secret.*", "*.tfstate", "*.tfvars", "kubeconfig",
    "service-account*.json",
)  # fmt: skip
"""Names of files that often hold secrets, as globs in lower case."""

SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", ".gcloud", ".password-store"})

HARMLESS_NAMES = (
    ".env.example", ".env.sample", ".env.template", ".env.dist", "*.example", "*.sample", "*.template", "id_*.pub",
    "secrets.py", "secrets.md", "secrets.rs", "secrets.go", "secrets.ts", "secrets.js",
)  # fmt: skip
"""Names that only look like secrets: templates without values, public keys, source code about secrets."""


def _as_fragment(glob: str) -> str:
    """Return a regular expression for a name."""
    return re.escape(glob).replace(r"\*", ".*")


_REMARKABLE = re.compile("|".join(map(_as_fragment, SECRET_NAMES)))
"""What the name of an ordinary-looking path must be, in lower case, to be worth a closer look."""

_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]")


def plain_name(name: str) -> str:
    """Return `name` as the least particular file system sees it: `.GIT`, `.git.` and `git~1` are `.git`."""
    text = _IGNORED.sub("", unicodedata.normalize("NFC", name)).casefold()
    text = re.sub(r"::?\$.*$", "", text)  # NTFS streams: `.git::$INDEX_ALLOCATION`
    stripped = text.rstrip(". ") or text
    return ".git" if re.fullmatch(r"git~\d+", stripped) else stripped


def sensitivity(relative_path: str) -> Sensitivity | None:
    """Say what is special about a path, relative to the workspace or absolute; None for an ordinary file."""
    if _is_ordinary(relative_path) and not _REMARKABLE.fullmatch(relative_path.rpartition("/")[2].lower()):
        return None  # nearly all paths: searches ask for tens of thousands
    return looked_at_closely(relative_path)


def _is_ordinary(path: str) -> bool:
    """Whether nothing in the path's folders can be special: no dots at an end of a name, nothing that is ignored."""
    framed = f"/{path}/"
    if not path.isascii() or "/." in framed or "./" in framed or " /" in framed:
        return False
    return not ("\\" in path or ":" in path or "~" in path)


def looked_at_closely(relative_path: str) -> Sensitivity | None:
    """Say the same as `sensitivity`, name by name."""
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
    if any(fnmatchcase(name, pattern) for pattern in HARMLESS_NAMES):
        return None
    return "secret" if any(fnmatchcase(name, pattern) for pattern in SECRET_NAMES) else None


def normalized(path: str) -> str:
    """Squeeze `./`, `//` and `x/../` out of a path, by its text alone."""
    return posixpath.normpath(path.replace("\\", "/")) if path else "."


def inside(path: str, folder: str, root: str) -> str | None:
    """Return `path`, written in a command that runs in `folder`, relative to `root`; None when it leads outside.

    By its text alone: a symlink is for the boundary and the sandbox to see through.
    """
    if path.startswith("~"):
        return None
    joined = posixpath.normpath(posixpath.join(folder, path))
    base = posixpath.normpath(root)
    if joined == base:
        return "."
    prefix = base if base.endswith("/") else f"{base}/"
    return joined[len(prefix) :] if joined.startswith(prefix) else None
