"""Places in a home folder with keys, tokens, messages, money or histories, which confined commands must not read."""

PLACES = (
    # Keys and passwords
    ".ssh/id_rsa", ".ssh/config", ".gnupg/private-keys-v1.d/a.key", ".password-store/mail.gpg", ".putty/sshkeys/a",
    ".pki/nssdb/key4.db", ".local/share/keyrings/login.keyring", ".local/share/kwalletd/kdewallet.kwl",
    ".gnome2/keyrings/login.keyring", ".step/secrets/root_ca_key", ".age/key.txt", ".config/sops/age/keys.txt",
    "Passwords.kdbx", "Documents/passwords.kdbx", ".config/keepassxc/keepassxc.ini", ".config/Bitwarden/data.json",
    ".config/1Password/settings.json", ".config/op/config", ".authinfo", ".authinfo.gpg", ".netrc", ".vault-token",
    # Clouds and platforms
    ".aws/credentials", ".aws-vault/keys/a", ".azure/accessTokens.json", ".oci/oci_api_key.pem", ".boto", ".s3cfg",
    ".config/gcloud/credentials.db", ".kube/config", ".docker/config.json", ".terraform.d/credentials.tfrc.json",
    ".terraformrc", ".config/doctl/config.yaml", ".config/heroku/config", ".fly/config.yml", ".vercel/auth.json",
    ".local/share/com.vercel.cli/auth.json", ".netlify/config.json", ".config/netlify/config.json",
    ".config/rclone/rclone.conf",
    ".databrickscfg", ".snowflake/config.toml", ".snowsql/config", ".ngrok2/ngrok.yml", ".config/ngrok/ngrok.yml",
    ".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".config/hub", ".config/containers/auth.json",
    ".wakatime.cfg", ".cdsapirc", ".kaggle/kaggle.json", ".config/configstore/firebase-tools.json",
    ".pulumi/credentials.json",
    ".config/linode-cli", ".config/hcloud/cli.toml", ".config/sentry/auth", ".sentryclirc", ".cloudflared/cert.pem",
    # Package registries
    ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials",
    ".m2/settings.xml", ".m2/settings-security.xml", ".composer/auth.json", ".config/composer/auth.json",
    ".config/pypoetry/auth.toml", ".nuget/NuGet/NuGet.Config", ".ivy2/.credentials", ".sbt/1.0/credentials.sbt",
    ".julia/servers/pkg.julialang.org/auth.toml", ".hex/hex.config", ".local/share/uv/credentials/credentials.toml",
    ".conda/anaconda-client/token", ".config/git/credentials", ".git-credentials",
    # Models
    ".huggingface/token", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".claude/.credentials.json",
    ".claude.json", ".codex/auth.json", ".config/github-copilot/hosts.json", ".gemini/oauth_creds.json",
    ".openai/key", ".config/openai/key", ".replicate/token", ".config/wandb/settings",
    # Messages and mail
    ".config/Slack/Cookies", ".config/Signal/config.json", ".config/discord/Local Storage/a.log", "Mail/inbox",
    ".config/Element/IndexedDB/a", ".config/teams-for-linux/Cookies", ".local/share/TelegramDesktop/tdata/key_datas",
    ".thunderbird/a.default/logins.json", ".local/share/evolution/mail/a", "Maildir/new/1", ".mutt/muttrc", ".muttrc",
    ".msmtprc", ".mbsyncrc", ".local/share/signal-cli/data/1", ".purple/accounts.xml", ".weechat/sec.conf",
    # Browsers and editors
    ".mozilla/firefox/a.default/logins.json", ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Cookies", ".config/BraveSoftware/a", ".config/vivaldi/Default/Cookies",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Cursor/User/globalStorage/state.vscdb", ".vscode/argv.json", ".vscode-server/data/Machine/.token",
    ".config/zed/settings.json", ".config/JetBrains/a/options/security.xml", ".config/filezilla/sitemanager.xml",
    ".config/remmina/a.remmina", ".var/app/org.signal.Signal/config/a", "snap/firefox/common/a", ".emacs.d/auth",
    # Wallets
    ".bitcoin/wallet.dat", ".electrum/wallets/default_wallet", ".ethereum/keystore/UTC", ".monero/wallet",
    ".config/solana/id.json", ".config/Exodus/exodus.wallet", ".litecoin/wallet.dat", ".dogecoin/wallet.dat",
    # Databases and histories
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
    ".mysql_history", ".sqlite_history", ".node_repl_history", ".rediscli_history", ".lesshst", ".viminfo",
    ".local/share/fish/fish_history", ".local/share/nvim/shada/main.shada", ".ipython/profile_default/history.sqlite",
    # The user's own
    "Documents/tax.pdf", "Downloads/contract.pdf", "Desktop/todo.txt", "notes.txt", ".env", "other-project/.env",
    ".bashrc", ".zshrc", ".profile", ".Xauthority", ".ICEauthority", ".config/an-application-of-next-year/token",
    ".an-application-of-next-year/token", ".local/share/an-application/db", ".local/state/an-application/log",
    ".cache/an-application/token", ".gitconfig-work",
)  # fmt: skip
