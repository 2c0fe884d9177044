#!/bin/sh
# Makes jjm a batch system of ARC ("lrms = jjm" in arc.conf), or takes that back:
# install.sh install | uninstall | check. Settings: DESTDIR, SYSCONFDIR (/etc),
# DATADIR (/usr/share). A configuration that is there already is kept.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
etc=$root${SYSCONFDIR:-/etc}
arc=$root${DATADIR:-/usr/share}/arc
files="submit-jjm-job cancel-jjm-job scan-jjm-job JJMmod.pm"

fail() { echo "install.sh: $*" >&2; exit 1; }

# place FILE FOLDER copies in one step: A-REX may run it at any time.
place() {
	mkdir -p "$2"
	cp -p "$here/$1" "$2/.$1.new"
	mv "$2/.$1.new" "$2/$1"
	echo "$2/$1"
}

case ${1:-} in
install)
	for file in $files; do place "$file" "$arc"; done
	[ -e "$etc/arc-jjm.conf" ] || place arc-jjm.conf "$etc"
	;;
uninstall)
	for file in $files; do
		if [ -e "$arc/$file" ]; then
			rm "$arc/$file"
			echo "$arc/$file"
		fi
	done
	# What the administrator wrote stays.
	if cmp -s "$here/arc-jjm.conf" "$etc/arc-jjm.conf"; then
		rm "$etc/arc-jjm.conf"
		echo "$etc/arc-jjm.conf"
	fi
	;;
check)
	for file in $files; do
		[ -r "$arc/$file" ] || fail "$arc/$file is missing: run install.sh install"
	done
	for script in submit cancel scan; do sh -n "$arc/$script-jjm-job" || fail "$arc/$script-jjm-job is not right: see above"; done
	perl -I "$arc" -c "$arc/JJMmod.pm" 2>&1 || fail "$arc/JJMmod.pm does not load: see above"
	;;
*) fail "usage: install.sh install | uninstall | check" ;;
esac
