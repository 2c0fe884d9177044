#!/bin/sh
# Runs a command while the real batch systems are there: with.sh COMMAND...
#
# As root on Debian it begins to install and start them, all at once and in the
# background - a test that needs one waits for it - and takes them down at the
# end, unless JJM_KEEP_BEDS is set. Elsewhere it only runs the command.
set -u
here=$(cd "$(dirname "$0")" && pwd)
beds="slurm condor sge"

if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ]; then
	echo "test beds: NOT STARTED: Slurm, HTCondor and Grid Engine are installed as root on Debian only" >&2
	exec "$@"
fi

log=$(mktemp -d)
for bed in $beds; do
	"$here/$bed.sh" up >"$log/$bed" 2>&1 </dev/null &
	eval "up_$bed=$!"
done

status=0
"$@" || status=$?

for bed in $beds; do
	eval "wait \$up_$bed" || { echo "test bed $bed did not come up:" >&2; tail -n 20 "$log/$bed" >&2; }
	[ -n "${JJM_KEEP_BEDS:-}" ] || "$here/$bed.sh" down >/dev/null 2>&1 </dev/null
done
rm -rf "$log"
exit "$status"
