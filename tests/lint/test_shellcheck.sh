#!/usr/bin/env bash
# Every shell script of the project, found by its first line, under shellcheck.
set -euo pipefail
cd "${TB_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"
command -v shellcheck >/dev/null || { echo "skipped: shellcheck is not installed"; exit 77; }

mapfile -t scripts < <(find .ci server tests -type f -exec awk \
    'FNR == 1 { if (/^#!.*[\/ ](ba)?sh$/) print FILENAME; nextfile }' {} + | sort)
[[ ${#scripts[@]} -gt 0 ]]
shellcheck "${scripts[@]}"
echo "shellcheck: ${#scripts[@]} scripts, nothing to report"
