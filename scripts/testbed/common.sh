# shellcheck shell=sh
# What the scripts of the test beds share; they source it.

# A test run has a folder for its temporary files, which ends with it. Daemons
# that are started here do not.
unset TMPDIR

me=$(basename "$0")
say() { echo "$me: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

# slowness is how many times slower than an idle machine this one is, 1 to 20, as package await reads it.
slowness=${JJM_SLOWNESS:-1}
slowness=${slowness%%.*}
case $slowness in
[1-9] | 1[0-9] | 20) ;;
[2-9][0-9] | [1-9][0-9][0-9]*) slowness=20 ;;
*) slowness=1 ;;
esac

# within SECONDS COMMAND... repeats a command until it succeeds. The time is a guard against hangs, and grows with the
# slowness of the machine.
within() {
	end=$(($(date +%s) + $1 * slowness))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# in_time COMMAND... ends a command that hangs. Its status decides whether a bed works, so the guard grows with the
# slowness of the machine, too.
in_time() { timeout $((60 * slowness)) "$@"; }

# put FILE [MODE] writes standard input to a file, in one step.
put() { cat >"$1.new" && { [ -z "${2:-}" ] || chmod "$2" "$1.new"; } && mv "$1.new" "$1"; }

# ---- locks -------------------------------------------------------------------
# Descriptor 9 is this script's lock, descriptor 8 that of the bed's users.
# Daemons must have neither: they would keep the locks for ever.

# users_lock NAME prints the file that tests lock while they use a bed: shared,
# or alone if they disturb it (package internal/testkit/testbed).
users_lock() { echo "${JJM_TESTBED:-/tmp}/jjm-testbed-$1.lock"; }

# alone NAME succeeds if no test uses the bed, and keeps tests out until this
# script ends. With JJM_BED_ALONE=1 the caller holds that lock.
alone() {
	[ "${JJM_BED_ALONE:-}" != 1 ] || return 0
	exec 8>>"$(users_lock "$1")" && flock -n 8
}

# locked FILE keeps other scripts of the same bed out.
locked() {
	mkdir -p "$(dirname "$1")"
	exec 9>"$1"
	flock -w 600 9 || fail "another $me holds $1 for 10 minutes"
}

# ---- processes ---------------------------------------------------------------

# ended PID succeeds if a process does no more: gone, or a zombie, which a
# container without an init keeps for ever.
ended() { ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }

# process_of FILE NAME prints the process id that a file has, if that process
# lives and its program is of that name (15 letters, as in /proc/PID/comm).
process_of() {
	[ -s "$1" ] || return 1
	p=$(cat "$1")
	[ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$2" ] && ! ended "$p" || return 1
	echo "$p"
}

# frozen PID succeeds for a process that SIGSTOP has stopped.
frozen() { grep -q '^State:.T' "/proc/$1/status" 2>/dev/null; }

# ancestors prints this script's process and those above it.
ancestors() {
	p=$$
	while [ "${p:-0}" -gt 1 ]; do
		echo "$p"
		p=$(awk '/^PPid:/ { print $2 }' "/proc/$p/status" 2>/dev/null)
	done
}

# living_below FOLDER prints the processes that have to do with a folder: their
# program, root or working folder is below it, or their command line or their
# environment names something there.
living_below() {
	{
		env -i PATH="$PATH" grep -lszE "$1(/|\$)" /proc/[0-9]*/cmdline /proc/[0-9]*/environ || :
		find /proc/[0-9]*/exe /proc/[0-9]*/cwd /proc/[0-9]*/root -prune \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null || :
	} | cut -d/ -f3 | sort -un | while read -r p; do
		ended "$p" || echo "$ancestors" | grep -qx "$p" || echo "$p"
	done
}

# end_below FOLDER kills them all, as often as new ones come.
end_below() {
	ancestors=$(ancestors)
	if ! within 240 killed_below "$1"; then
		say "processes of $1 do not end: $(echo "$left" | tr '\n' ' ')"
		return 1
	fi
}

# killed_below FOLDER kills them once, and succeeds if there are none.
killed_below() {
	left=$(living_below "$1")
	[ -n "$left" ] || return 0
	# shellcheck disable=SC2086 # a list
	kill -KILL $left 2>/dev/null || :
	return 1
}

# mounts_below FOLDER prints what is mounted there, the innermost first.
mounts_below() { awk -v r="$1/" 'index($2 "/", r) == 1 { print $2 }' /proc/mounts | sort -r; }

# unmount_below FOLDER takes away what is mounted there, by a test that was killed
# perhaps.
unmount_below() { for dir in $(mounts_below "$1"); do umount -l "$dir"; done; }

# ---- accounts ----------------------------------------------------------------

# grid_users prints the accounts of grid users. The gatekeepers' beds run jobs as them, and Slurm's accounting knows
# them.
grid_users() { echo "jjmgrid1 jjmgrid2"; }

# make_grid_accounts HOMES makes them, each with a group of its own and a home below the folder HOMES. Another bed may
# make the same account at the same moment.
make_grid_accounts() {
	uid=61011
	for user in $(grid_users); do
		id "$user" >/dev/null 2>&1 || useradd -u $uid -U -M -d "$1/$user" -s /bin/sh "$user" 2>/dev/null || :
		within 240 id "$user" || fail "cannot make the account $user"
		home=$(home_of "$user")
		mkdir -p "$home"
		chown "$user": "$home"
		uid=$((uid + 1))
	done
}

home_of() { getent passwd "$1" | cut -d: -f6; }

# ---- packages ----------------------------------------------------------------

# apt_install PACKAGE... installs those that are missing. An installation that
# was killed is finished first.
apt_install() {
	missing=""
	for p; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	say "installing$missing"
	for _ in 1 2 3 4 5; do # pause: between two attempts, each of which lasts as long as it needs
		# shellcheck disable=SC2086 # a list
		! apt_get install --no-install-recommends $missing || return 0
		DEBIAN_FRONTEND=noninteractive dpkg --configure -a </dev/null >/dev/null 2>&1 8>&- 9>&- || :
		apt_get update || sleep 3
	done
	fail "apt-get cannot install$missing"
}

# RUNLEVEL=1 keeps invoke-rc.d from starting what is installed.
apt_get() {
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=300 -qq -y "$@" \
		</dev/null >/dev/null 2>&1 8>&- 9>&-
}
