#!/bin/sh
# Runs a command while the real batch systems and gatekeepers are there: with.sh
# COMMAND...
#
# First it removes what earlier runs left that were killed: their processes,
# mounts and files. This run's own temporary files are in one folder, which
# TMPDIR names to the command, and which is locked as long as the run lives.
# If the command fails, the folder is kept, and with.sh prints its name. At most
# $most_kept folders are kept; then the files of a failed command are removed.
# Without a command, with.sh only removes the kept folders and what killed runs
# left. make test and each campaign begin with that.
#
# As root on Debian it begins to install and start them, all at
# once and in the background - a test that needs one waits for it. However they
# were before, they are well and empty then; only one that somebody's tests use
# at this moment is left as it is. At the end they are taken down, unless
# JJM_KEEP_BEDS is set. Elsewhere it only runs the command.
#
# If no bed is up and the machine has memory, that folder is in memory: a disk
# without a journal looks at each inode that was removed in the last seconds when
# it makes a file, which took a twentieth of the CPU of a test run.
#
#   JJM_BEDS   which of them        slurm condor condor2 sge gram arc
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/testbed/common.sh
. "$here/common.sh"
beds=${JJM_BEDS-slurm condor condor2 sge gram arc}
runs=${JJM_RUNS:-/tmp/jjm-run} # JJM_RUNS is for tests of this script
most_kept=10
caller_alone=${JJM_BED_ALONE:-0} # for tests of this script
unset JJM_BED_ALONE

# remove_run FOLDER ends what is left of a run and removes its files.
remove_run() {
	end_below "$1"
	unmount_below "$1"
	rm -rf --one-file-system "$1"
}

# sweep removes the folders whose lock nobody holds, except the kept folders. A
# folder without a lock may just be made.
sweep() {
	for run in "$runs".*; do
		[ -O "$run" ] || continue
		[ ! -O "$run/kept" ] || continue
		if [ -e "$run/lock" ]; then
			flock -n "$run/lock" true || continue
			say "removing $run, which a killed run has left"
			remove_run "$run"
		elif [ -n "$(find "$run" -prune -mmin +10)" ]; then
			remove_run "$run"
		fi
	done
}

# kept_folders prints the folders of failed runs. keep has renamed their locks.
kept_folders() {
	for kept in "$runs".*/kept; do
		[ ! -O "$kept" ] || echo "${kept%/kept}"
	done
}

# keep keeps the folder of this run until forget, unless others are kept already.
keep() {
	mv "$run/lock" "$run/kept" # works on a full disk too
	if [ "$(kept_folders | wc -l)" -le "$most_kept" ]; then
		say "the files of this run are in $run until the next make test or campaign begins"
	else
		say "the files of this run are removed, because those of $most_kept failed runs are kept: $runs.*"
		remove_run "$run"
	fi
}

# forget removes the kept folders.
forget() {
	kept_folders | while read -r folder; do
		say "removing $folder, the files of a failed run"
		remove_run "$folder" </dev/null
	done
}

begin_run() {
	run=$(mktemp -d "$runs.XXXX") || exit 1
	if fits_in_memory && mount -t tmpfs -o size=8g jjm "$run"; then mount --make-shared "$run"; fi
	chmod 1777 "$run" # tests have several accounts
	exec 7>"$run/lock.new"
	flock 7 && mv "$run/lock.new" "$run/lock"
}

# fits_in_memory: daemons that run already in a world of their own would not see
# what is mounted now.
fits_in_memory() {
	[ "$(id -u)" = 0 ] && [ "$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 12 ] || return 1
	ancestors=$(ancestors)
	for bed in $beds; do
		left=$(living_below "${JJM_TESTBED:-/var/lib/jjm-testbed}/$bed")
		[ -z "$left" ] || { say "files are on disk: processes $(echo "$left" | tr "\n" " ")of bed $bed live" && return 1; }
	done
}

# start_bed NAME brings one up in the background. Until it is well no test uses
# it, unless some do already.
start_bed() {
	alone=$caller_alone
	mkdir -p "${JJM_TESTBED:-/tmp}"
	exec 6>>"$(users_lock "$1")"
	if flock -n 6; then alone=1; fi
	( # keeps the lock, but the daemons that it starts do not
		JJM_BED_ALONE=$alone "$here/$1.sh" up >"$run/$1.log" 2>&1 </dev/null 6>&- 7>&-
		exit $?
	) &
	eval "up_$1=$!"
	exec 6>&-
}

sweep
if [ $# = 0 ]; then
	forget
	exit 0
fi
begin_run
trap 'end_below "$run"; exit 130' HUP INT TERM

if [ -n "$beds" ] && { [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ]; }; then
	echo "test beds: NOT STARTED: batch systems and gatekeepers are installed as root on Debian only" >&2
	beds=""
fi
for bed in $beds; do start_bed "$bed"; done

# In the background, because a shell acts on a signal only when its command is over.
status=0
TMPDIR=$run "$@" 7>&- <&0 &
wait $! || status=$?

downs=""
for bed in $beds; do
	eval "wait \$up_$bed" || { echo "test bed $bed did not come up:" >&2; tail -n 20 "$run/$bed.log" >&2; }
	[ -z "${JJM_KEEP_BEDS:-}" ] || continue
	"$here/$bed.sh" down >/dev/null 2>&1 </dev/null 7>&- &
	downs="$downs $!"
done
for down in $downs; do wait "$down" || :; done
end_below "$run"
if [ "$status" = 0 ]; then
	remove_run "$run"
else
	keep
fi
exit "$status"
