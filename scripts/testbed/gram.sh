#!/bin/sh
# A real Globus GRAM5 gatekeeper for tests, with jjm as a job manager: in a
# network namespace of its own, so that nothing listens beyond it. Debian, as
# root, without systemd.
#
#   gram.sh up                install, start, return when it answers; if nobody
#                             uses it, clean as well
#   gram.sh down [--wipe]     stop everything in the namespace and take jjm's
#                             scripts away; --wipe forgets everything
#   gram.sh status            one line for each service; exit 1 unless all run
#   gram.sh env               what tests need, as lines NAME=value
#   gram.sh clean             end job managers and clients that a test left, and
#                             forget their jobs
#
# up, and clean, install jjm's scripts anew from this source tree. They look for
# jjm's programs in $JJM_TESTBED/gram/jjm/bin and for its daemon's state in
# $JJM_TESTBED/gram/jjm/state: both are the test's to fill.
#
#   JJM_TESTBED   where beds live      /var/lib/jjm-testbed
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/testbed/common.sh
. "$here/common.sh"
# shellcheck source=scripts/testbed/authority.sh
. "$here/authority.sh"
bed=$base/gram
port=2119
net=$(net_of gram)

# pid prints the process id of the gatekeeper, if it lives.
pid() { process_of "$bed/gatekeeper.pid" globus-gatekeep; }

packages() {
	apt_install globus-gatekeeper globus-gram-job-manager globus-gram-job-manager-scripts \
		globus-gram-job-manager-fork-setup-poll globus-gram-client-tools globus-gass-copy-progs \
		globus-gass-server-ez-progs globus-gass-cache-program globus-proxy-utils openssl iproute2 perl
}

# scripts installs what lies in scripts/gram, as a site would.
scripts() {
	sh "$here/../gram/install.sh" install >/dev/null
	sed -e "s|^programs=.*|programs=\"$bed/jjm/bin\"|" -e "s|^state=.*|state=\"$bed/jjm/state\"|" \
		"$here/../gram/globus-jjm.conf" >/etc/globus/globus-jjm.conf.new
	mv /etc/globus/globus-jjm.conf.new /etc/globus/globus-jjm.conf
}

folders() {
	mkdir -p "$bed/services" "$bed/jjm" "$bed/log" "$bed/jobs"
	chmod 755 "$base" "$bed" "$bed/services" "$bed/jjm"
	chmod 1777 "$bed/log" "$bed/jobs"
}

configuration() {
	cat >"$bed/job-manager.conf" <<-CONF
		-globus-toolkit-version 6.2
		-log-pattern $bed/log/gram_\$(LOGNAME).log
		-log-levels FATAL|ERROR|WARN|INFO
		-state-file-dir $bed/jobs
		-x509-cert-dir $certificates
	CONF
	for type in jjm fork; do
		echo "stderr_log,local_cred - /usr/sbin/globus-job-manager globus-job-manager -conf $bed/job-manager.conf -type $type" \
			>"$bed/services/jobmanager-$type"
	done
	ln -sf jobmanager-jjm "$bed/services/jobmanager"
	for user in $users; do echo "\"$(name_of "$user")\" $user"; done >"$bed/grid-mapfile"
}

# gatekeeper starts the service, which binds every interface of its namespace.
gatekeeper() {
	rm -f "$bed/gatekeeper.pid"
	in_net "$net" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 GLOBUS_HOSTNAME=localhost X509_CERT_DIR="$certificates" OPENSSL_CONF="$weak_keys" \
		globus-gatekeeper -pidfile "$bed/gatekeeper.pid" -p $port -l "$bed/log/gatekeeper.log" \
		-grid_services "$bed/services" -gridmap "$bed/grid-mapfile" -x509_cert_dir "$certificates" \
		-x509_user_cert "$host_cert" -x509_user_key "$host_key" </dev/null >/dev/null 2>&1 5>&- 8>&- 9>&- || fail "the gatekeeper does not start: see $bed/log/gatekeeper.log"
	within 240 listens "$net" $port || fail "the gatekeeper does not listen: see $bed/log/gatekeeper.log"
}

up() {
	strays gram
	if ! pid >/dev/null || [ ! -e "/run/netns/$net" ]; then
		packages
		empty_net "$net"
	fi
	make_users
	scripts
	if pid >/dev/null; then
		if alone gram; then clean; fi
		return 0
	fi
	make_net "$net" || fail "cannot make the network namespace $net"
	folders
	configuration
	forget
	gatekeeper
}

# clean ends all but the gatekeeper.
clean() {
	empty_net "$net" "$(pid || echo none)"
	forget
}

# forget wipes what job managers keep of jobs: a stale state file would be taken
# up by the next job manager of its user.
forget() {
	unmount_below "$bed"
	rm -rf "$bed"/jobs/* "$bed"/log/gram_*
	for user in $users; do
		home=$(home_of "$user")
		rm -rf "$home"/.globus "$home"/gram_*
	done
}

down() {
	remove_net "$net"
	rm -f "$bed/gatekeeper.pid" /etc/globus/globus-jjm.conf
	sh "$here/../gram/install.sh" uninstall >/dev/null
	if [ "${1:-}" = --wipe ]; then rm -rf "$bed"; fi
}

status() {
	if p=$(pid); then echo "gatekeeper up $p"; else echo "gatekeeper down" && return 1; fi
}

environment() {
	common_environment "$net" "$bed"
	cat <<-ENV
		CONTACT=localhost:$port
		JOBS=$bed/jobs
		SERVICES=$bed/services
		ENV_GLOBUS_HOSTNAME=localhost
		SMALL_PROXY=$(small_proxy_of jjmgrid1)
		ENV_OPENSSL_CONF=$weak_keys
	ENV
}

case ${1:-} in
up)
	[ "$(id -u)" = 0 ] || fail "up wants root"
	locked "$base/gram.lock"
	up
	;;
down)
	locked "$base/gram.lock"
	down "${2:-}"
	;;
clean)
	locked "$base/gram.lock"
	clean
	scripts
	;;
status) status ;;
env) environment ;;
*) fail "usage: gram.sh up | down [--wipe] | status | env | clean" ;;
esac
