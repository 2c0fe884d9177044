#!/bin/sh
# mc.sh FIRST N: simulate N events, numbered from FIRST, of
# e+ e- -> Z/gamma* -> mu+ mu- in three phases. The files are written to the
# current directory:
#
#   generate.<range>.txt simulate.<range>.txt reconstruct.<range>.txt histogram.txt
#
# mc.awk, beside this script, holds the physics and says what is in them. Every
# event has its own random numbers: merge.sh makes of the files of any number
# of runs exactly those of one run over all their events.
#
# Below jjm it tells how far it is ($JJM_PROGRESS), how many events it has made and how it
# ended ($GBS_LOG); it runs as well without, then it tells its end on standard error.
#
# To see what happens when an application misbehaves, name an event in:
#
#   MC_EXIT_AT    exit with code 3 at that event, without a word
#   MC_FAIL_AT    report FAILED: the job fails for good
#   MC_RETRY_AT   ask for a RETRY with the argument step2; the second attempt succeeds
#   MC_HOLD_AT    ask for a HOLD; a second attempt would succeed
#   MC_HANG_AT    hang until killed
#   MC_KILL_AT    kill -9 this script
#
# MC_AWK names the awk to use, such as "busybox awk".
set -eu
LC_ALL=C
export LC_ALL

usage() {
	echo "usage: mc.sh FIRST N (whole numbers, no leading zeros, N at least 1)" >&2
	exit 2
}

# tell KEYWORD WORD...: one line for the GBS log file, or for people.
tell() {
	if [ -n "${GBS_LOG:-}" ]; then
		"$GBS_LOG" "$@"
	else
		echo "mc.sh: $*" >&2
	fi
}

# ended CODE: awk ended with a code other than 0. A report counts only from an
# application that exits with 0; without jjm to read it, the code must do.
ended() {
	case $1 in
	10) tell FAILED "the simulation broke down at event $MC_FAIL_AT" ;;
	11) tell RETRY step2 ;;
	12) tell HOLD step2 ;;
	*)
		echo "mc.sh: awk ended with code $1 in phase $phase" >&2
		exit "$1"
		;;
	esac
	[ -n "${GBS_LOG:-}" ] || exit 1
	exit 0
}

[ $# -eq 2 ] || usage
for number; do
	case $number in
	'' | *[!0-9]* | 0?*) usage ;;
	esac
	[ ${#number} -le 15 ] || usage # 2^53 is the end of exact numbers
done
first=$1 n=$2
[ "$n" -ge 1 ] || usage

here=$(dirname "$0")
awk=${MC_AWK:-awk}
MC_PID=$$
export MC_PID
if [ "${GBS_RETRY_COUNT:-0}" -ge 1 ]; then
	unset MC_RETRY_AT MC_HOLD_AT
fi

range=$(printf '%09d-%09d' "$first" $((first + n - 1)))
files=
in=/dev/null
for phase in generate simulate reconstruct; do
	out=$phase.$range.txt
	# MC_AWK may hold two words. A file gets its name when it is complete.
	# shellcheck disable=SC2086
	$awk -v phase="$phase" -v first="$first" -v n="$n" -v out="$out.part" -v hist=histogram.part \
		-f "$here/mc.awk" "$in" || ended $?
	mv "$out.part" "$out"
	files="$files $out"
	in=$out
done
mv histogram.part histogram.txt
[ -z "${GBS_LOG:-}" ] || "$GBS_LOG" INFO "processed=$n events"
# The names hold no blanks: each is a word of its own.
# shellcheck disable=SC2086
tell SUCCEEDED $files histogram.txt
