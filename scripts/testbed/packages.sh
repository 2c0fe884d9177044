# shellcheck shell=sh
# What several beds need of the machine: Debian's packages, and accounts.
# Sourced by their scripts; the functions return 1 and say why if they cannot.

# install_packages NAME... installs those that are missing, without starting
# anything.
install_packages() {
	missing=""
	for p in "$@"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	echo "installing$missing" >&2
	tries=0
	# shellcheck disable=SC2086 # the list is meant to be split
	until apt_get $missing; do
		tries=$((tries + 1))
		[ $tries -lt 5 ] || { echo "apt-get cannot install$missing" >&2; return 1; }
		[ $tries = 1 ] || sleep 3
		apt-get -o DPkg::Lock::Timeout=900 update -qq </dev/null >/dev/null 2>&1 9>&- || :
	done
}

# RUNLEVEL=1 keeps invoke-rc.d from starting what it installs.
apt_get() {
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=900 \
		install -qq -y --no-install-recommends "$@" </dev/null >/dev/null 2>&1 9>&-
}

# make_account NAME [UID HOME] makes an account with a shell, a group of its own
# and a home folder; without UID and HOME one of the system, without them.
# Another bed may make the same account at the same moment.
make_account() {
	if ! id "$1" >/dev/null 2>&1; then
		if [ -n "${2:-}" ]; then
			useradd -u "$2" -U -M -d "$3" -s /bin/sh "$1" 2>/dev/null || :
		else
			useradd -r -U -M -d /nonexistent -s /usr/sbin/nologin "$1" 2>/dev/null || :
		fi
		tries=0
		until id "$1" >/dev/null 2>&1; do
			tries=$((tries + 1))
			[ $tries -lt 100 ] || { echo "cannot make the account $1" >&2; return 1; }
			sleep 0.05
		done
	fi
	[ -n "${2:-}" ] || return 0
	home=$(getent passwd "$1" | cut -d: -f6)
	[ -d "$home" ] || mkdir -p "$home" || return 1
	chown "$1": "$home"
}
