# Shared by run.ps1 and test.ps1 (dot-sourced): makes .venv from a lock, as setup.sh does. Installs nothing of the system.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 3.0

$root = Split-Path -Parent $PSScriptRoot
$venv = Join-Path $root '.venv'
$onWindows = [Environment]::OSVersion.Platform -eq 'Win32NT' # also in PowerShell 5.1, which has no $IsWindows
$bin = Join-Path $venv $(if ($onWindows) { 'Scripts' } else { 'bin' })
$python = Join-Path $bin $(if ($onWindows) { 'python.exe' } else { 'python' })

function Say([string] $text) { [Console]::Error.WriteLine($text) }

function Invoke-Program([string] $program, [string[]] $arguments) { # ends the script if the program fails
    & $program @arguments
    if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
}

function Test-Python([string] $program, [string] $line) { # whether the line runs without an error
    $ErrorActionPreference = 'Continue' # PowerShell 5.1 would end at the first word on standard error, even if nobody reads it
    if (-not (Get-Command $program -ErrorAction SilentlyContinue)) { return $false }
    & $program -c $line 2>$null | Out-Null
    return $LASTEXITCODE -eq 0
}

function Find-Python { # returns a Python from 3.11 to 3.14
    $check = 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))'
    foreach ($candidate in 'python', 'python3', 'py') {
        if (Test-Python $candidate $check) { return $candidate }
    }
    Say 'Desktop Agent needs Python 3.11 or later, and none was found.'
    exit 2
}

function Install-Packages([string[]] $arguments) { # by uv where it is there and knows the packages, else by pip
    if (Get-Command uv -ErrorAction SilentlyContinue) {
        & uv pip install --quiet --python $python @arguments
        if ($LASTEXITCODE -eq 0) { return }
    }
    Invoke-Program $python (@('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check') + $arguments)
}

function New-Venv([string] $lock) { # installs exactly what the lock says, and the project itself; skipped when both are as before
    $found = Find-Python
    $hashes = (Get-FileHash $lock, (Join-Path $root 'pyproject.toml')).Hash -join ' '
    $stamp = "$hashes $(& $found -c 'import sys; print(sys.version, sys.prefix)')"
    $kept = Join-Path $venv ".stamp-$(Split-Path -Leaf $lock)"
    if ((Test-Path $kept) -and (Get-Content $kept -Raw).Trim() -eq $stamp) { return }
    if (-not (Test-Python $python 'pass')) {
        Say "Creating $venv"
        Invoke-Program $found @('-m', 'venv', '--clear', $venv)
    }
    Say 'Installing the locked dependencies (once; they are reused until the lock changes)'
    Install-Packages @('--require-hashes', '--only-binary', ':all:', '--requirement', $lock)
    Install-Packages @('--no-deps', '--no-build-isolation', '--editable', $root)
    Get-ChildItem $venv -Filter '.stamp-*' -Force | Remove-Item -Force
    Set-Content $kept $stamp
}
