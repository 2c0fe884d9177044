#!/bin/sh
# chain.sh: what the three steps of the chain run, see generate.toml.
#
#   chain.sh generate FIRST N   N events from number FIRST on: hits.txt has the number
#                               and the energy of each
#   chain.sh process FILE       the events of FILE above 50: tracks.txt
#   chain.sh summary FILE...    how many events the files have, and their energies
#                               added up: summary.txt
#
# Each step reads the files by the names on its command line, wherever they are.
set -eu

# did WORDS: tells jjm how much was done, where it runs below jjm.
did() {
	[ -z "${GBS_LOG:-}" ] || "$GBS_LOG" INFO "processed=$*"
}

step=$1
shift
case $step in
generate)
	awk -v first="$1" -v n="$2" 'BEGIN { for (i = first; i < first + n; i++) print i, i * 37 % 101 }' >hits.txt
	did "$2 events"
	;;
process)
	awk '$2 > 50' "$1" >tracks.txt
	did "1 files"
	;;
summary)
	cat "$@" | awk '{ sum += $2 } END { print NR " events, " sum + 0 " in all" }' >summary.txt
	did "$# files"
	;;
*)
	echo "chain.sh: $step: want generate, process or summary" >&2
	exit 2
	;;
esac
