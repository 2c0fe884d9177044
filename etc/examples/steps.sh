#!/bin/sh
# The template of an application script of the GBS Programmer Manual (User Application
# Script Interface), filled in: a run of three steps that says by $GBS_LOG how it ended,
# and that goes on where the attempt before gave up. The trouble here is made up:
#
#   attempt 0   the calibration server is away in step 2: RETRY from step 2
#   attempt 1   what step 1 made is of no use: RETRY with RESTART, from scratch
#   attempt 2   step 3 needs somebody to look at the result: HOLD
#   attempt 3   after jjm release: step 3, SUCCEEDED
#
#   steps.sh FIRST LAST   sums up the squares of the numbers from FIRST to LAST

# Record first info.
"$GBS_LOG" INFO "Starting execution of $0 in mode $GBS_MODE on $(uname -n)"

# Load standard script args.
first=$1
last=$2

start_step=1 # normally start at step 1
sum=0        # what step 1 makes
scale=0      # what step 2 makes

# say KEYWORD WORDS... reports how this attempt ended, and ends it: with exit code 0,
# because the log tells the rest.
say() {
	"$GBS_LOG" "$@"
	exit 0
}

# recover takes what the words of the last RETRY or HOLD say: the step to go on with, and
# what the steps before it have made. RESTART is to begin again from scratch.
recover() {
	"$GBS_LOG" INFO "Recovering, attempt $GBS_RETRY_COUNT: $*"
	[ "$1" = RESTART ] && return
	start_step=$1
	sum=$2
	scale=${3:-0}
	if [ "$GBS_RETRY_COUNT" -eq 1 ]; then
		say RETRY RESTART
	fi
}

# run does the steps from a given one on.
run() {
	if [ "$1" -le 1 ]; then
		"$GBS_LOG" INFO Starting step 1
		[ "$first" -le "$last" ] || say FAILED "there is nothing from $first to $last"
		n=$first
		while [ "$n" -le "$last" ]; do sum=$((sum + n * n)) n=$((n + 1)); done
	fi
	if [ "$1" -le 2 ]; then
		"$GBS_LOG" INFO Starting step 2
		[ "$GBS_RETRY_COUNT" -gt 0 ] || say RETRY 2 "$sum"
		scale=10
	fi
	if [ "$1" -le 3 ]; then
		"$GBS_LOG" INFO Starting step 3
		[ "$GBS_RETRY_COUNT" -gt 2 ] || say HOLD 3 "$sum" "$scale"
		echo "$((sum * scale))" >total.txt
		echo "made in mode $GBS_MODE at attempt $GBS_RETRY_COUNT" >"$GBS_HOME/../made.txt"
		"$GBS_LOG" RETURN_FILE "$(cd "$GBS_HOME/.." && pwd)/made.txt"
	fi
}

if [ "$GBS_RETRY_COUNT" -gt 0 ]; then
	i=1
	set --
	while eval "[ \"\${GBS_RETRY_ARG_$i+set}\" ]"; do
		eval "set -- \"\$@\" \"\$GBS_RETRY_ARG_$i\""
		i=$((i + 1))
	done
	recover "$@"
fi
run "$start_step"
say SUCCEEDED total.txt
