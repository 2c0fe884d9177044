#!/bin/sh
# Registers jjm with a Globus GRAM5 gatekeeper as jobmanager-jjm, or takes that
# back: install.sh install | uninstall | check. Settings: DESTDIR, SYSCONFDIR
# (/etc), PERLDIR (/usr/share/perl5), DATADIR (/usr/share). A configuration that
# is there already is kept.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
etc=$root${SYSCONFDIR:-/etc}
perl=$root${PERLDIR:-/usr/share/perl5}/Globus/GRAM/JobManager
rvf=$root${DATADIR:-/usr/share}/globus/globus_gram_job_manager

fail() { echo "install.sh: $*" >&2; exit 1; }

# place FILE FOLDER copies in one step: a job manager may read it at any time.
place() {
	mkdir -p "$2"
	cp "$here/$1" "$2/.$1.new"
	chmod 644 "$2/.$1.new"
	mv "$2/.$1.new" "$2/$1"
	echo "$2/$1"
}

case ${1:-} in
install)
	place jjm.pm "$perl"
	place jjm.rvf "$rvf"
	[ -e "$etc/globus/globus-jjm.conf" ] || place globus-jjm.conf "$etc/globus"
	place jobmanager-jjm "$etc/grid-services/available"
	;;
uninstall)
	service=$etc/grid-services/jobmanager-jjm
	if [ -L "$service" ]; then rm "$service"; fi
	for file in "$perl/jjm.pm" "$rvf/jjm.rvf" "$etc/grid-services/available/jobmanager-jjm"; do
		if [ -e "$file" ]; then
			rm "$file"
			echo "$file"
		fi
	done
	# What the administrator wrote stays.
	if cmp -s "$here/globus-jjm.conf" "$etc/globus/globus-jjm.conf"; then
		rm "$etc/globus/globus-jjm.conf"
		echo "$etc/globus/globus-jjm.conf"
	fi
	;;
check)
	for file in "$perl/jjm.pm" "$rvf/jjm.rvf" "$etc/globus/globus-jjm.conf" "$etc/grid-services/available/jobmanager-jjm"; do
		[ -r "$file" ] || fail "$file is missing: run install.sh install"
	done
	perl -c "$perl/jjm.pm" 2>&1 || fail "$perl/jjm.pm does not load: see above"
	globus-rvf-check "$rvf/jjm.rvf" || fail "$rvf/jjm.rvf is not right: see above"
	;;
*) fail "usage: install.sh install | uninstall | check" ;;
esac
