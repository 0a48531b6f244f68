"""Path lists: tool chains that a command can read in a home folder, and the usual places of secrets."""

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

TOOLS_NAMED_BY = (
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

TOOLS_ELSEWHERE = ("/home/linuxbrew/.linuxbrew",)

SECRETS_IN_HOME = (
    # Keys, passwords and the stores of both
    ".ssh", ".gnupg", ".putty", ".pki", ".password-store", ".age", ".step", ".config/sops", ".config/age",
    ".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings", ".config/keepassxc", ".keepass",
    ".config/Bitwarden", ".config/Bitwarden CLI", ".config/1Password", ".config/op", ".vault-token", ".authinfo",
    ".authinfo.gpg", ".netrc", "_netrc", ".Xauthority", ".ICEauthority", ".google_authenticator", ".config/Yubico",
    # Clouds and platforms
    ".aws", ".aws-vault", ".awsvault", ".azure", ".oci", ".boto", ".s3cfg", ".kube", ".config/gcloud", ".config/gh",
    ".config/glab-cli", ".config/hub", ".config/rclone", ".config/containers/auth.json", ".docker/config.json",
    ".docker/run", ".terraform.d/credentials.tfrc.json", ".terraformrc", ".config/doctl", ".config/heroku", ".fly",
    ".vercel", ".local/share/com.vercel.cli", ".netlify", ".config/netlify", ".databrickscfg", ".databricks",
    ".snowflake", ".snowsql", ".ngrok2", ".config/ngrok", ".wakatime.cfg", ".cdsapirc", ".kaggle",
    ".config/configstore", ".pulumi/credentials.json",
    ".config/linode-cli", ".config/hcloud", ".config/scw", ".sentryclirc", ".cloudflared",
    ".config/stripe", ".config/flyctl", ".railway", ".supabase", ".bluemix", ".chef", ".ansible/vault", ".vault_pass",
    # Package registries
    ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".m2/settings-security.xml", ".composer/auth.json", ".config/composer/auth.json",
    ".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".nuget/NuGet/NuGet.Config", ".ivy2/.credentials",
    ".sbt/1.0/credentials.sbt", ".sbt/.credentials", ".julia/servers", ".hex/hex.config", ".conda/anaconda-client",
    ".continuum", ".git-credentials", ".config/git/credentials", ".cache/git/credential", ".git-credential-cache",
    # Models and agents
    ".huggingface", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".claude/.credentials.json",
    ".claude.json", ".codex/auth.json", ".config/github-copilot", ".gemini", ".openai", ".config/openai", ".replicate",
    ".config/wandb", ".config/anthropic", ".aider.conf.yml", ".config/io.datasette.llm/keys.json",
    # Messages, mail, browsers and remote desktops
    ".config/Slack", ".config/Signal", ".config/discord", ".config/Element", ".config/teams-for-linux",
    ".config/Microsoft", ".config/skypeforlinux", ".config/WhatsApp", ".local/share/TelegramDesktop",
    ".local/share/signal-cli", ".local/share/evolution", ".config/evolution", ".local/share/geary", ".thunderbird",
    "Mail", "mail", "Maildir", ".mail", ".mutt", ".muttrc", ".config/mutt", ".config/neomutt", ".msmtprc",
    ".config/msmtp", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".purple", ".weechat", ".config/weechat", ".irssi",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/vivaldi", ".config/opera", ".librewolf", ".cache/mozilla", ".cache/google-chrome", ".cache/chromium",
    ".local/share/qutebrowser", ".config/qutebrowser", ".config/filezilla", ".config/remmina", ".local/share/remmina",
    ".var/app", "snap/firefox", "snap/chromium", "snap/slack", "snap/signal-desktop",
    # Editors that keep sessions and tokens
    ".config/Code", ".config/Code - OSS", ".config/VSCodium", ".config/Cursor", ".config/Windsurf", ".config/zed",
    ".config/JetBrains", ".vscode-server", ".cursor-server", ".vscode/argv.json", ".emacs.d/auth",
    # Wallets
    ".bitcoin", ".litecoin", ".dogecoin", ".dash", ".electrum", ".electrum-ltc", ".ethereum", ".monero", ".zcash",
    ".config/solana", ".config/Exodus", ".config/Ledger Live", ".config/atomic", ".foundry/keystores",
    ".brownie/accounts",
    # Databases and histories
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".config/DBeaverData", ".local/share/DBeaverData", ".bash_history",
    ".zsh_history", ".zhistory", ".histfile", ".history", ".python_history", ".psql_history", ".mysql_history",
    ".sqlite_history", ".node_repl_history", ".rediscli_history", ".dbshell", ".mongodb", ".irb_history", ".lesshst",
    ".viminfo", ".local/share/fish/fish_history", ".local/share/nvim/shada", ".local/state/nvim/shada",
    ".local/share/atuin", ".ipython/profile_default/history.sqlite", ".wget-hsts", ".local/share/recently-used.xbel",
    # macOS
    "Library/Keychains", "Library/Cookies", "Library/Mail", "Library/Messages", "Library/Safari",
    "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
    "Library/Application Support/BraveSoftware", "Library/Application Support/Slack",
    "Library/Application Support/Signal", "Library/Application Support/discord", "Library/Application Support/Code",
    "Library/Application Support/Cursor", "Library/Application Support/Bitcoin",
    "Library/Application Support/1Password",
)  # fmt: skip

SYSTEM_SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/security/opasswd", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard",
    "/etc/openvpn", "/etc/NetworkManager/system-connections", "/etc/wpa_supplicant", "/etc/krb5.keytab",
    "/etc/kubernetes", "/var/lib/kubelet", "/etc/rancher", "/etc/docker/key.json", "/etc/ppp", "/etc/cups",
    "/etc/samba", "/var/lib/samba/private", "/var/lib/docker", "/var/lib/containers", "/var/lib/postgresql",
    "/var/lib/mysql", "/var/lib/redis", "/var/lib/mongodb", "/var/lib/NetworkManager", "/var/lib/bluetooth",
    "/var/backups", "/var/mail", "/var/spool/mail", "/var/spool/cron", "/var/spool/postfix", "/var/db/sudo",
)  # fmt: skip
"""Places that only root or a group can read. A command that root runs could read them."""

HOST_KEYS = ("/etc/ssh", "ssh_host_*_key")

SECRETS_NAMED_BY = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "BORG_PASSPHRASE_FILE", "BOTO_CONFIG",
    "CLOUDSDK_CONFIG", "DOCKER_CONFIG", "GH_CONFIG_DIR", "GNUPGHOME", "GOOGLE_APPLICATION_CREDENTIALS", "HISTFILE",
    "HF_TOKEN_PATH", "KUBECONFIG", "LESSHISTFILE", "MYSQL_HISTFILE", "NETRC", "NODE_REPL_HISTORY",
    "NPM_CONFIG_USERCONFIG", "PASSWORD_STORE_DIR", "PGPASSFILE", "PSQL_HISTORY", "PYTHON_HISTORY", "RCLONE_CONFIG",
    "SOPS_AGE_KEY_FILE", "SQLITE_HISTORY", "TF_CLI_CONFIG_FILE", "VAULT_TOKEN_FILE", "XAUTHORITY",
    "npm_config_userconfig",
)  # fmt: skip

SECRETS_BESIDE_TOOLS = (("CARGO_HOME", "credentials"), ("CARGO_HOME", "credentials.toml"))

STARTED_BY_ITSELF = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".config/fish", ".gitconfig", ".config/git", ".config/autostart", ".config/systemd", ".config/environment.d",
    ".local/bin", "bin",
)  # fmt: skip
"""Paths in a home folder that a shell, git or a login reads or runs by itself, so that no command may write them."""
