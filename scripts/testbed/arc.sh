#!/bin/sh
# A real ARC CE (A-REX with its REST interface) for tests, with jjm as its batch
# system: in a network namespace of its own, so that nothing listens beyond it.
# Debian, as root, without systemd.
#
#   arc.sh up                install, start, return when it answers; if nobody
#                            uses it, without any job
#   arc.sh down [--wipe]     stop everything in the namespace and take jjm's
#                            scripts away; --wipe forgets everything
#   arc.sh status            one line for each service; exit 1 unless all run
#   arc.sh env               what tests need, as lines NAME=value
#   arc.sh clean             stop, forget all jobs, start again
#   arc.sh kill|start        the service that keeps the jobs, a-rex, alone: with
#                            SIGKILL, and wait until it is gone or answers
#
# up, and clean, install jjm's scripts anew from this source tree. They look for
# jjm's programs in $JJM_TESTBED/arc/jjm/bin and for its daemon's state in
# $JJM_TESTBED/arc/jjm/state: both are the test's to fill.
#
#   JJM_TESTBED   where beds live      /var/lib/jjm-testbed
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/testbed/common.sh
. "$here/common.sh"
# shellcheck source=scripts/testbed/authority.sh
. "$here/authority.sh"
bed=$base/arc
port=8443
net=$(net_of arc)

# pid SERVICE prints the process id of arex or ws, if it lives.
pid() { process_of "$bed/run/$1.pid" arched; }

gone() { ! pid "$1" >/dev/null; }

packages() {
	apt_install nordugrid-arc-arex nordugrid-arc-client nordugrid-arc-plugins-needed nordugrid-arc-plugins-arcrest \
		nordugrid-arc-arcctl-service globus-proxy-utils openssl iproute2 perl curl
}

# scripts installs what lies in scripts/arc, as a site would.
scripts() {
	sh "$here/../arc/install.sh" install >/dev/null
	printf '%s\n' "programs=$bed/jjm/bin" "state=$bed/jjm/state" >/etc/arc-jjm.conf.new
	mv /etc/arc-jjm.conf.new /etc/arc-jjm.conf
}

folders() {
	mkdir -p "$bed/log" "$bed/run" "$bed/jjm" "$bed/control" "$bed/session" "$bed/tmp"
	chmod 1777 "$bed/tmp"
	chmod 755 "$base" "$bed" "$bed/jjm" "$bed/log" "$bed/run" "$bed/control" "$bed/session"
	# Without this A-REX makes a group of its own, in ten minutes of CPU (RFC 7919).
	[ -e "$bed/control/dhparam.pem" ] || (
		umask 0177
		openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 -out "$bed/control/dhparam.pem"
	)
}

configuration() {
	cat >"$bed/arc.conf.new" <<-CONF
		[common]
		hostname = localhost
		x509_host_key = $host_key
		x509_host_cert = $host_cert
		x509_cert_dir = $certificates
	CONF
	for user in $users; do
		cat >>"$bed/arc.conf.new" <<-CONF
			[authgroup: $user]
			subject = $(name_of "$user")
		CONF
	done
	echo '[mapping]' >>"$bed/arc.conf.new"
	for user in $users; do echo "map_to_user = $user $user:$user" >>"$bed/arc.conf.new"; done
	cat >>"$bed/arc.conf.new" <<-CONF
		[lrms]
		lrms = jjm
		[arex]
		pidfile = $bed/run/arex.pid
		logfile = $bed/log/arex.log
		joblog = $bed/log/jobs.log
		loglevel = INFO
		controldir = $bed/control
		sessiondir = $bed/session
		helperlog = $bed/log/helper.log
		wakeupperiod = 5
		[arex/ws]
		wsurl = https://localhost:$port/arex
		pidfile = $bed/run/ws.pid
		logfile = $bed/log/ws.log
		[arex/ws/jobs]
		allowaccess = $(echo "$users" | sed 's/ /\nallowaccess = /')
		[infosys]
		logfile = $bed/log/info.log
		loglevel = INFO
		[infosys/glue2]
		[infosys/cluster]
		[queue: main]
		CONF
	mv "$bed/arc.conf.new" "$bed/arc.conf"
}

# start SERVICE starts arex or ws, with an environment of a service's.
start() {
	gone "$1" || return 0
	rm -f "$bed/run/$1.pid"
	case $1 in
	arex) program=arc-arex-start ;;
	ws) program=arc-arex-ws-start ;;
	esac
	# Each leaves copies of its configuration behind at every start.
	in_net "$net" env -i PATH="$PATH" LANG=C.UTF-8 HOME=/root TMPDIR="$bed/tmp" ARC_CONFIG="$bed/arc.conf" \
		"/usr/share/arc/$program" </dev/null >"$bed/log/$1.start" 2>&1 5>&- 8>&- 9>&- || fail "$1 does not start: see $bed/log/$1.start"
	within 240 pid "$1" || fail "$1 does not run: see $bed/log/$1.log"
}

services() {
	make_net "$net" || fail "cannot make the network namespace $net"
	folders
	configuration
	start arex
	start ws
	within 240 listens "$net" $port || fail "the REST interface does not listen: see $bed/log/ws.log"
}

up() {
	strays arc
	packages
	make_users
	scripts
	if pid arex >/dev/null && pid ws >/dev/null; then
		if [ -z "$(ls "$bed/session" 2>/dev/null)" ] || ! alone arc; then return 0; fi
	fi
	clean
}

clean() {
	empty_net "$net"
	forget
	services
}

# forget wipes the jobs: those of the service and the clients' lists of them.
forget() {
	unmount_below "$bed"
	rm -rf "$bed/control" "$bed/session" "$bed/log" "$bed/tmp"
	for user in $users; do
		rm -rf "$(home_of "$user")/.arc"
	done
}

down() {
	remove_net "$net"
	rm -f "$bed"/run/*.pid /etc/arc-jjm.conf
	sh "$here/../arc/install.sh" uninstall >/dev/null
	if [ "${1:-}" = --wipe ]; then rm -rf "$bed"; fi
}

status() {
	all=0
	for s in arex ws; do
		if p=$(pid $s); then echo "$s up $p"; else echo "$s down" && all=1; fi
	done
	return $all
}

environment() {
	common_environment "$net" "$bed"
	cat <<-ENV
		URL=https://localhost:$port/arex
		CONTROL=$bed/control
		CONFIG=$bed/run/arex.cfg
	ENV
}

case ${1:-} in
up)
	[ "$(id -u)" = 0 ] || fail "up wants root"
	locked "$base/arc.lock"
	up
	;;
down)
	locked "$base/arc.lock"
	down "${2:-}"
	;;
clean)
	locked "$base/arc.lock"
	scripts
	clean
	;;
kill)
	locked "$base/arc.lock"
	p=$(pid arex) || exit 0
	kill -KILL "$p"
	within 240 gone arex || fail "a-rex (process $p) does not end"
	;;
start)
	locked "$base/arc.lock"
	start arex
	;;
status) status ;;
env) environment ;;
*) fail "usage: arc.sh up | down [--wipe] | status | env | clean | kill | start" ;;
esac
