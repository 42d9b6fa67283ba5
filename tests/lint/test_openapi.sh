#!/usr/bin/env bash
# docs/openapi.yaml against the OpenAPI rules of spectral, which tests/run installs from npm.
set -euo pipefail
cd "${TB_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"
spectral=build/lint/node_modules/.bin/spectral
if [[ ! -x $spectral ]]; then
    if [[ -f build/lint/why ]]; then echo "skipped: $(<build/lint/why)"; else
        echo "skipped: the linter is not installed (tests/run installs it)"
    fi
    exit 77
fi
node "$spectral" lint --fail-severity=warn --ruleset tests/lint/openapi.yaml docs/openapi.yaml
