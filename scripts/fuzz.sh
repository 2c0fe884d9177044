#!/bin/sh
# Runs every fuzz target of the module for the time given (default 30s each).
set -eu
cd "$(dirname "$0")/.."
time="${1:-30s}"
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$dir" </dev/null
	done
done
