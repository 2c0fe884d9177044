#!/bin/sh
# NAME.sh MASS FIRST EVENTS SEED: a line for each event, around MASS.
awk -v mass="$1" -v first="$2" -v n="$3" -v seed="$4" -v model="$TOY_MODEL" 'BEGIN {
	srand(seed)
	width = model == "peak" ? 2.5 : 20
	for (i = 0; i < n; i++)
		printf "event %d mass %.3f\n", first + i, mass + width * (rand() - 0.5)
}' >NAME.txt || exit 1
[ "$(wc -l <NAME.txt)" -eq "$3" ] || exit 1
"$GBS_LOG" INFO "processed=$3 events"
