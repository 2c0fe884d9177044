#!/bin/sh
# Installs jjm, takes it away again, or checks what is installed:
# install.sh install | uninstall | check. What goes where is in install.list.
#
#   DESTDIR     a folder that stands for the root, for packages; none
#   PREFIX      /usr/local
#   SYSCONFDIR  /etc: jjm looks for its configuration nowhere else
#   STATE       /var/lib/jjm: the state folder in a fresh configuration
#   BIN         the folder of the built programs; bin
#
# Files are replaced by a rename: a daemon that runs keeps the program it has.
# Uninstall leaves what an administrator wrote, and all state.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
list=$here/install.list
destdir=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
sysconf=${SYSCONFDIR:-/etc}
state=${STATE:-/var/lib/jjm}
bin=${BIN:-$top/bin}
conf=$destdir$sysconf/jjm/jjm.toml

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

for dir in "$prefix" "$sysconf" "$state" ${destdir:+"$destdir"}; do
	case $dir in
	/*) ;;
	*) fail "$dir: want an absolute folder" ;;
	esac
done

# folder gives the absolute path of a target's folder.
folder() {
	case $1 in
	bin/*) echo "$prefix/bin/${1#bin/}" ;;
	libexec/*) echo "$prefix/libexec/jjm/${1#libexec/}" ;;
	units/*) echo "$prefix/lib/systemd/system/${1#units/}" ;;
	doc/*) echo "$prefix/share/doc/jjm/${1#doc/}" ;;
	conf/*) echo "$sysconf/jjm/${1#conf/}" ;;
	*) fail "install.list: target $1 is in no known folder" ;;
	esac
}

# each calls the function given with MODE SOURCE TARGET for every file.
each() {
	while read -r mode source target; do
		case $mode in '' | '#'*) continue ;; esac
		path=$destdir$(folder "$target")
		case $source in
		@*) "$1" "$mode" "$bin/${source#@}" "$path" ;;
		*)
			for file in "$top"/$source; do
				case $file in
				*_test.go) continue ;;
				esac
				[ -f "$file" ] || fail "$file is missing: is this a whole source tree?"
				case $path in
				*/) "$1" "$mode" "$file" "$path${file##*/}" ;;
				*) "$1" "$mode" "$file" "$path" ;;
				esac
			done
			;;
		esac
	done <"$list"
}

# content SOURCE TARGET prints a file as it is installed.
content() {
	case $2 in
	*.service) sed "s|/usr/bin/jjm|$prefix/bin/jjm|; s|/usr/share/doc/jjm|$prefix/share/doc/jjm|; s|/etc/jjm/|$sysconf/jjm/|" "$1" ;;
	*.socket) sed "s|/var/lib/jjm|$state|" "$1" ;;
	# The unit's daemon is root: it runs the jobs of each user as that user.
	"$destdir$sysconf"/*/jjm.toml) sed "s|^# state = .*|state = \"$state\"|; s|^# run_as = .*|run_as = \"owner\"|" "$1" ;;
	*) cat "$1" ;;
	esac
}

place() {
	[ -f "$2" ] || fail "$2 is missing: run make build first, or set BIN"
	case $1 in
	keep*) [ ! -e "$3" ] || return 0 ;;
	esac
	mkdir -p "${3%/*}"
	content "$2" "$3" >"$3.new"
	chmod "${1#keep}" "$3.new"
	mv "$3.new" "$3"
	echo "$3"
}

remove() {
	[ -e "$3" ] || return 0
	case $1 in
	keep*) content "$2" "$3" | cmp -s - "$3" || return 0 ;;
	esac
	rm "$3"
	echo "$3"
	# Folders that held jjm's files only go with the last of them.
	folder=${3%/*}
	while case $folder in */jjm | */jjm/*) true ;; *) false ;; esac do
		rmdir "$folder" 2>/dev/null || break
		folder=${folder%/*}
	done
}

wrong=0
complain() {
	echo "install.sh: $*" >&2
	wrong=1
}

look() {
	[ -r "$3" ] || {
		complain "$3 is missing: run make install"
		return 0
	}
	case $1 in
	755) [ -x "$3" ] || complain "$3 cannot be executed: chmod 755 it" ;;
	esac
	case $1 in
	keep*) ;;
	*) content "$2" "$3" | cmp -s - "$3" || complain "$3 is not the one of $2: $(remedy "$2" "$3")" ;;
	esac
}

# remedy SOURCE TARGET prints what to do about a file that differs. The socket may only have been installed with
# another STATE, which an installation with the default would reset.
remedy() {
	case $2 in
	*.socket)
		was=$(sed -n 's|^ListenStream=\(.*\)/jjm\.sock$|\1|p' "$2")
		[ -z "$was" ] || [ "$was" = "$state" ] || {
			echo "it was installed with STATE=$was, not $state: give STATE=$was again, or run make install with the new one"
			return
		}
		;;
	esac
	echo "run make install"
}

# configured prints the state folder that the installed configuration names; nothing if it names none.
configured() {
	[ -r "$conf" ] || return 0
	sed -n "/^[[:space:]]*\[/q; s/^[[:space:]]*state[[:space:]]*=[[:space:]]*[\"']\([^\"']*\)[\"'].*/\1/p" "$conf"
}

# differs prints how the state folder of the installed configuration differs from STATE; nothing if it does not. An
# installation never changes that configuration, but the socket follows STATE.
differs() {
	was=$(configured)
	[ -z "$was" ] || [ "$was" = "$state" ] ||
		echo "$conf has state = \"$was\", not STATE=$state: give STATE=$was, or set state = \"$state\" there first"
}

case ${1:-} in
install)
	difference=$(differs)
	[ -z "$difference" ] || fail "$difference"
	each place
	;;
uninstall) each remove ;;
check)
	each look
	difference=$(differs)
	[ -z "$difference" ] || complain "$difference"
	[ $wrong = 0 ] || exit 1
	# What the configuration needs depends on the account of the daemon, which is root.
	[ "$(id -u)" = 0 ] || {
		echo "install.sh: the files are whole; the configuration is not checked, which needs root" >&2
		exit 0
	}
	"$destdir$prefix/bin/jjm" config check "$conf" || fail "the installed program does not take its configuration: see above"
	;;
*) fail "usage: install.sh install | uninstall | check" ;;
esac
