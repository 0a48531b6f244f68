# Starts Desktop Agent from a checkout, setting everything up first when needed. Arguments go to desktop-agent.
. (Join-Path $PSScriptRoot 'setup.ps1')

# A complete set of test dependencies contains the runtime ones: do not shrink it.
$isForTests = Test-Path (Join-Path $venv '.stamp-requirements-test.txt')
New-Venv (Join-Path $PSScriptRoot $(if ($isForTests) { 'requirements-test.txt' } else { 'requirements.txt' }))
& (Join-Path $bin 'desktop-agent') @args
exit $LASTEXITCODE
