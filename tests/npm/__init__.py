"""Programs from npm for tests: `package.json` names them, the lock has their hashes and no address.

`packaging/test.sh` installs them into the virtual environment. To add one, in this folder:
`npm install --save-exact --package-lock-only --omit-lockfile-registry-resolved PACKAGE`.
"""
