#!/bin/sh
# NAME.sh ENERGY FILE...: the lines "event NUMBER energy GEV" of the files above ENERGY.
energy=$1
shift
awk -v energy="$energy" '$4 > energy' "$@" >NAME.txt || exit 1
"$GBS_LOG" INFO "processed=$# files"
