"""What of a home folder a command may read: tool chains, their caches, and settings without which work goes wrong.

Names are relative to the home folder. A name stands for all that is in it, but for what `guarded` hides. A place that
is not listed here is not visible; a user adds it with the setting `home_visible`.
"""

TOOLS = (
    # Programs that the user installed, and the shell's view of a terminal
    "bin", ".bin", ".local/bin", ".local/lib", ".local/lib64", ".local/include", ".local/libexec", ".local/pipx",
    ".local/share/pipx", ".local/opt", ".terminfo", ".inputrc", ".editorconfig", ".linuxbrew", ".nix-profile",
    ".nix-defexpr", ".local/state/nix/profiles", ".guix-profile", ".local/share/man", ".local/share/bash-completion",
    # git
    ".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes", ".config/git",
    # Python
    ".pyenv", ".venv", ".venvs", ".virtualenvs", ".local/share/virtualenv", ".local/share/virtualenvs", ".pip",
    ".config/pip", ".cache/pip", ".config/uv", ".cache/uv", ".local/share/uv", ".rye", ".pdm", ".local/share/pdm",
    ".cache/pdm", ".local/share/pypoetry", ".cache/pypoetry", ".config/pypoetry/config.toml", ".poetry",
    ".local/share/hatch", ".cache/hatch", ".cache/pre-commit", ".conda/environments.txt", ".conda/envs", ".conda/pkgs",
    ".condarc", "anaconda3", "miniconda3", "miniforge3", "mambaforge", "micromamba", ".mamba", ".pixi",
    ".config/matplotlib", ".cache/matplotlib", ".cython", ".numba_cache",
    # JavaScript
    ".nvm", ".npm", ".npm-global", ".npm-packages", ".node_modules", ".node-gyp", ".cache/node-gyp", ".cache/node",
    ".cache/npm", ".volta", ".fnm", ".local/share/fnm", ".n", ".yarn", ".cache/yarn", ".config/yarn/global", ".yarnrc",
    ".pnpm-store", ".local/share/pnpm", ".cache/pnpm", ".bun", ".deno", ".cache/deno", ".cache/ms-playwright",
    ".cache/Cypress", ".cache/electron", ".cache/puppeteer", ".cache/typescript", ".cache/turbo",
    # Compiled languages
    ".cargo", ".rustup", ".cache/sccache", "go", ".cache/go-build", ".config/go", ".cache/golangci-lint", "sdk",
    ".ccache", ".cache/ccache", ".cache/bazel", ".cache/bazelisk", ".cache/zig", ".zigup", ".conan2/p",
    ".conan2/profiles",
    ".cache/vcpkg", ".vcpkg", ".swiftly", ".swiftpm/cache", ".cache/org.swift.swiftpm", ".dub", ".nimble", ".choosenim",
    ".elan", ".cache/mathlib", ".platformio", ".arduino15", ".espressif",
    # Virtual machines' languages
    ".m2/repository", ".m2/wrapper", ".gradle/caches", ".gradle/wrapper", ".gradle/jdks", ".gradle/native",
    ".gradle/init.d", ".gradle/gradle.properties", ".sdkman", ".jdks", ".jenv", ".jabba", ".ivy2/cache", ".ivy2/local",
    ".cache/coursier", ".local/share/coursier", ".sbt/boot", ".sbt/launchers", ".konan", ".clojure", ".lein",
    ".android/avd", "Android/Sdk", ".dotnet", ".nuget/packages", ".nuget/plugins", ".local/share/NuGet",
    ".pub-cache", ".dart-tool", "flutter", ".fvm",
    # Further languages
    ".julia/packages", ".julia/artifacts", ".julia/compiled", ".julia/registries", ".julia/environments",
    ".julia/juliaup", ".julia/bin", ".juliaup", ".opam", ".ghcup", ".stack", ".cabal", ".local/state/cabal",
    ".cache/cabal", ".hlint", ".rbenv", ".rvm", ".gem", ".bundle/cache", ".bundle/config", ".local/share/gem",
    ".local/share/rv", ".cpan", ".cpanm", ".plenv", "perl5", ".luarocks", ".composer/cache", ".composer/vendor",
    ".cache/composer", ".config/composer/vendor", ".phpenv", ".mix", ".hex/packages", ".kerl", ".kiex", ".cache/rebar3",
    ".R", "R", ".local/share/R", ".cache/R", ".roswell", "quicklisp",
    # Version managers of everything
    ".asdf", ".local/share/mise", ".config/mise/config.toml", ".local/share/rtx", ".mise", ".proto", ".tenv", ".tfenv",
    ".terraform.d/plugins", ".terraform.d/plugin-cache", ".cache/helm", ".local/share/helm", ".krew", ".arkade/bin",
    # Data that programs load
    ".cache/huggingface/hub", ".cache/huggingface/datasets", ".cache/torch", ".cache/tiktoken", ".keras/models",
    "nltk_data", "scikit_learn_data", ".cache/fontconfig", ".config/fontconfig", ".fonts", ".local/share/fonts",
    "texmf", ".texlive", ".TinyTeX",
    # macOS
    "Library/Caches/pip", "Library/Caches/uv", "Library/Caches/Homebrew", "Library/Caches/go-build",
    "Library/Caches/Yarn", "Library/Caches/pypoetry", "Library/Caches/ms-playwright", "Library/Python",
    "Library/pnpm", "Library/Fonts", "Library/Java", "Library/Android/sdk", "Library/Developer/Xcode/DerivedData",
)  # fmt: skip

IF_WITHOUT_CREDENTIALS = (
    ".gitconfig", ".config/git/config", ".pip/pip.conf", ".config/pip/pip.conf", ".config/uv/uv.toml", ".condarc",
    ".cargo/config", ".cargo/config.toml", ".gradle/gradle.properties", ".gradle/init.d", ".bundle/config", ".yarnrc",
    ".gem/gemrc", ".config/pypoetry/config.toml", ".config/mise/config.toml", ".config/go/env", ".lein/profiles.clj",
    ".R/Renviron", ".config/yarn/global/.yarnrc",
)  # fmt: skip
"""Settings in which some users keep a token or a password. They are hidden while they look as if they held one."""

NAMED_BY = (
    "ASDF_DATA_DIR", "ASDF_DIR", "BUN_INSTALL", "BUNDLE_PATH", "CARGO_HOME", "CONDA_PREFIX", "COMPOSER_HOME",
    "CURL_CA_BUNDLE", "DENO_DIR", "DOTNET_ROOT", "GEM_HOME", "GEM_PATH", "GIT_SSL_CAINFO", "GOBIN", "GOCACHE",
    "GOMODCACHE", "GOPATH", "GOROOT", "GRADLE_HOME", "GRADLE_USER_HOME", "HOMEBREW_PREFIX", "JAVA_HOME",
    "JULIA_DEPOT_PATH", "MAVEN_HOME", "M2_HOME", "MAMBA_ROOT_PREFIX", "MISE_DATA_DIR", "NODE_EXTRA_CA_CERTS",
    "NODE_PATH", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "NUGET_PACKAGES", "NVM_BIN", "NVM_DIR", "OPAMROOT",
    "PIP_CACHE_DIR", "PIP_CERT", "PIP_FIND_LINKS", "PIPX_HOME", "PNPM_HOME", "PUB_CACHE", "PYENV_ROOT", "PYTHONHOME",
    "PYTHONPATH", "RBENV_ROOT", "REQUESTS_CA_BUNDLE", "RUSTUP_HOME", "SDKMAN_DIR", "SHELL", "SSL_CERT_DIR",
    "SSL_CERT_FILE", "STACK_ROOT", "TERMINFO", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "VIRTUAL_ENV",
    "VOLTA_HOME", "WORKON_HOME", "YARN_CACHE_FOLDER", "npm_config_cache", "npm_config_prefix",
)  # fmt: skip
"""Variables of the application's own environment that name where a tool chain, its cache or a certificate lies."""

ELSEWHERE = ("/home/linuxbrew/.linuxbrew",)
"""Tool chains that lie among home folders without being in one."""
