#!/bin/sh
# merge.sh [-o DIR] DIR...: merge what runs of mc.sh left below the given
# directories into files in DIR (by default the current one), as one run over
# all the events would have written them: the events in order, the histogram
# added up. It refuses events that are there twice, and gaps.
#
# Files that jjm collected, such as montecarlo.17.3.histogram.txt, serve as
# they are.
set -eu
LC_ALL=C
export LC_ALL

to=.
if [ "${1:-}" = -o ] && [ $# -ge 2 ]; then
	to=$2
	shift 2
fi
if [ $# -eq 0 ]; then
	echo "usage: merge.sh [-o DIR] DIR..." >&2
	exit 2
fi
awk=${MC_AWK:-awk}
mkdir -p "$to"
part=$to/merge.part
trap 'rm -f "$part"' EXIT

for phase in generate simulate reconstruct; do
	find "$@" -type f -name "*$phase.[0-9]*-[0-9]*.txt" -exec cat {} + | sort -n >"$part"
	# MC_AWK may hold two words, and the dollars are those of awk.
	# shellcheck disable=SC2086,SC2016
	range=$($awk -v phase="$phase" '
		NR == 1 { first = $1 }
		NR > 1 && $1 == last { fail = sprintf("event %.0f is there twice", $1); exit }
		NR > 1 && $1 != last + 1 { fail = sprintf("events %.0f to %.0f are missing", last + 1, $1 - 1); exit }
		{ last = $1 }
		END {
			if (NR == 0) fail = "no files"
			if (fail != "") {
				print "merge.sh: " phase ": " fail | "cat 1>&2"
				exit 1
			}
			printf "%09.0f-%09.0f\n", first, last
		}' "$part")
	mv "$part" "$to/$phase.$range.txt"
done

find "$@" -type f -name '*histogram.txt' -exec cat {} + >"$part"
events=$(wc -l <"$to/generate.$range.txt")
# shellcheck disable=SC2086,SC2016
sum=$($awk -v events="$events" '
	!($1 in count) { order[++keys] = $1 }
	{ count[$1] += $2 }
	END {
		if (count["generated"] != events) {
			printf "merge.sh: the histograms hold %d events, the files %d\n", count["generated"], events | "cat 1>&2"
			exit 1
		}
		for (i = 1; i <= keys; i++) printf "%s %d\n", order[i], count[order[i]]
	}' "$part")
printf '%s\n' "$sum" >"$part"
mv "$part" "$to/histogram.txt"
