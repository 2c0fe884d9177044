#!/bin/sh
# NAME.sh SCALE FILE...: the sum of the numbers in the files, times SCALE.
scale=$1
shift
awk -v scale="$scale" '{ n += $1 } END { printf "%g\n", n * scale }' "$@" >NAME.sum || exit 1
"$GBS_LOG" INFO "processed=$# files"
