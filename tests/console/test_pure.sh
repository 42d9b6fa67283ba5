#!/usr/bin/env bash
# The console's modules that touch no page: formats, ranges, rows, axes, the API's client.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec node --test ./*.test.mjs
