#!/usr/bin/env bash
# cppcheck over the engine and the server: whatever it calls an error, a warning, a performance or a
# portability problem fails.
set -euo pipefail
cd "${TB_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v cppcheck >/dev/null || { echo "skipped: cppcheck is not installed"; exit 77; }

# number.c is one table of 40,000 digits spelled by macros: nothing to check, and minutes to expand.
cache=${TB_BUILD:-build/dev}/cppcheck
mkdir -p "$cache"
cppcheck --quiet -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
    --error-exitcode=1 --cppcheck-build-dir="$cache" --suppressions-list=tests/lint/cppcheck.txt \
    -I include -I engine -I server -i engine/encode/number.c engine server
echo "cppcheck: nothing to report"
