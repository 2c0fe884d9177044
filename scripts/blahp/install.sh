#!/bin/sh
# Gives blahd the scripts by which it speaks to jjm, or takes that back:
# install.sh install | uninstall | check. Settings: DESTDIR, LIBEXECDIR
# (/usr/libexec). blah.config is the administrator's: docs/GATEKEEPERS.md.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
blahp=${DESTDIR:-}${LIBEXECDIR:-/usr/libexec}/blahp

fail() { echo "install.sh: $*" >&2; exit 1; }

# each calls the function given for every script.
each() {
	for file in "$here"/jjm_*.sh; do
		"$1" "$file" "$blahp/${file##*/}"
	done
}

# place copies in one step: blahd may start it at any time.
place() {
	mkdir -p "$blahp"
	cp "$1" "$2.new"
	chmod 755 "$2.new"
	mv "$2.new" "$2"
	echo "$2"
}

remove() {
	[ -e "$2" ] || return 0
	rm "$2"
	echo "$2"
}

look() {
	[ -x "$2" ] || fail "$2 is missing, or not a program: run install.sh install"
	sh -n "$2" || fail "$2 is not right: see above"
}

case ${1:-} in
install) each place ;;
uninstall) each remove ;;
check) each look ;;
*) fail "usage: install.sh install | uninstall | check" ;;
esac
