"""Where secrets usually lie: hidden also inside what a command may see, such as a home folder that is the workspace.

The list is the second line. The first is that a home folder is empty but for what `toolchains` lists.
"""

IN_HOME = (
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
"""Relative to a home folder."""

OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/security/opasswd", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard",
    "/etc/openvpn", "/etc/NetworkManager/system-connections", "/etc/wpa_supplicant", "/etc/krb5.keytab",
    "/etc/kubernetes", "/var/lib/kubelet", "/etc/rancher", "/etc/docker/key.json", "/etc/ppp", "/etc/cups",
    "/etc/samba", "/var/lib/samba/private", "/var/lib/docker", "/var/lib/containers", "/var/lib/postgresql",
    "/var/lib/mysql", "/var/lib/redis", "/var/lib/mongodb", "/var/lib/NetworkManager", "/var/lib/bluetooth",
    "/var/backups", "/var/mail", "/var/spool/mail", "/var/spool/cron", "/var/spool/postfix", "/var/db/sudo",
)  # fmt: skip
"""Only root, or a group, reads these; a confined command of root's would, too."""

HOST_KEYS = ("/etc/ssh", "ssh_host_*_key")
"""A folder, and which files of it are the machine's own keys."""

NAMED_BY = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "BORG_PASSPHRASE_FILE", "BOTO_CONFIG",
    "CLOUDSDK_CONFIG", "DOCKER_CONFIG", "GH_CONFIG_DIR", "GNUPGHOME", "GOOGLE_APPLICATION_CREDENTIALS", "HISTFILE",
    "HF_TOKEN_PATH", "KUBECONFIG", "LESSHISTFILE", "MYSQL_HISTFILE", "NETRC", "NODE_REPL_HISTORY",
    "NPM_CONFIG_USERCONFIG", "PASSWORD_STORE_DIR", "PGPASSFILE", "PSQL_HISTORY", "PYTHON_HISTORY", "RCLONE_CONFIG",
    "SOPS_AGE_KEY_FILE", "SQLITE_HISTORY", "TF_CLI_CONFIG_FILE", "VAULT_TOKEN_FILE", "XAUTHORITY",
    "npm_config_userconfig",
)  # fmt: skip
"""Variables of the application's own environment that name files or folders with secrets."""

BESIDE_TOOLS = (("CARGO_HOME", "credentials"), ("CARGO_HOME", "credentials.toml"))
"""Files with secrets in the folder of a tool chain, by the variable that names the folder."""
