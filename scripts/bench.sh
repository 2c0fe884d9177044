#!/bin/sh
# Prints every figure beside what it is compared with; docs/PERFORMANCE.md
# explains them. Arguments are passed on: scripts/bench.sh -run lookup,true
set -eu
cd "$(dirname "$0")/.."
make --no-print-directory build
exec go run ./test/bench "$@"
