#!/bin/sh
# Installs the few programs that some tests need: xmllint (the schema of the
# records), shellcheck (the scripts), several awks (the example must run with
# each), systemd-analyze (the units), gcc (the race detector), and the programs
# that are its arguments, from packages of these names. Does nothing where they
# are there; says what is missing where it cannot install it. The tests start
# what they need, so a service that a package starts is stopped.
set -eu

missing=""
need() { # need PROGRAM PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need xmllint libxml2-utils
need shellcheck shellcheck
need gawk gawk
need busybox busybox
need jq jq
need curl curl
need systemd-analyze systemd
need gcc gcc
need ld binutils
for extra; do need "$extra" "$extra"; done
ls /usr/include/stdlib.h >/dev/null 2>&1 || missing="$missing libc6-dev"

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "tools: installing$missing"
	# shellcheck disable=SC2086 # the list is meant to be split
	if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $missing; } >/dev/null; then
		for extra; do
			case $missing in *" $extra"*) systemctl disable -q --now "$extra" 2>/dev/null || : ;; esac
		done
		exit 0
	fi
fi
echo "tools: NOT INSTALLED:$missing - the tests that need them are skipped" >&2
[ "${CI:-}" != true ] || exit 1
