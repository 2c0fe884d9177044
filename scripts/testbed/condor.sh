#!/bin/sh
# A real HTCondor on this machine, for tests: Debian trixie's packages, unpacked
# into a folder of their own, as older releases have none. As root, on Debian,
# without systemd, on the loopback interface only.
#
#   condor.sh up            install it, start it, return when jobs can run
#   condor.sh down [--wipe] stop it; with --wipe remove everything
#   condor.sh status        say what runs, jobs too, and what is wrong; exit 0 if
#                           jobs can run
#   condor.sh env           print NAME=value lines for the tests
#   condor.sh freeze|thaw|kill|stop|start schedd|startd|collector|negotiator
#   condor.sh start master  the same as up
#   condor.sh heal          do what an administrator does after a crash: start
#                           what is down
#   condor.sh lose|keep history
#                           forget the jobs that have left the queue, now and - at
#                           the latest - when they are kept again
#
# "up" leaves a bed that tests use at work as it is. One that nobody uses it
# rids of jobs; if it is not well, of everything but the installation.
#
# The daemons run in a chroot, which sees the host's folders under their own
# names. The commands run outside of it, through the unpacked loader, so that an
# ordinary user can call them; root becomes jjmtest first, unless JJM_AS_ROOT is
# set. A killed daemon stays down until it is started: its master is frozen
# meanwhile. With the startd its jobs are killed, as if the machine were lost.
#
#   JJM_CONDOR_POOL   the pool's name    condor (condor2.sh is another one)
set -eu
umask 022

pool=${JJM_CONDOR_POOL:-condor}
base=${JJM_TESTBED:-/var/lib/jjm-testbed}
bed=$base/$pool
root=$bed/root
apt=$bed/apt
suite=trixie
owner=jjmtest
uid=61001
condor=61000 # uid and gid of the daemons' own account
port=${JJM_CONDOR_PORT:-19618}
cores=16 # pretended
programs="q submit rm hold release qedit vacate_job history status config_val version advertise collector"
packages="base-files bash dash coreutils sed grep mawk findutils procps util-linux hostname libc-bin python3-minimal perl-base condor"
shared="/tmp /root /home /srv /var/tmp"

# shellcheck source=scripts/testbed/common.sh
. "$(dirname "$0")/common.sh"

usage() { fail "usage: $0 up | down [--wipe] | status | env | heal | lose|keep history | freeze|thaw|kill|stop|start DAEMON | start master"; }

# --- installation

# fetch resolves and downloads with an apt state of our own, so that neither the
# host's package lists nor its dpkg are touched.
fetch() {
	for dir in etc/apt/apt.conf.d etc/apt/preferences.d etc/apt/sources.list.d lists/partial cache/archives/partial dpkg; do
		mkdir -p "$apt/$dir"
	done
	: >"$apt/dpkg/status"
	mirror=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null |
		grep -E '^(deb |URIs:)' | grep -oE 'https?://[^ ]+' | head -n 1)}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main" \
		>"$apt/etc/apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc "$apt/etc/apt";
		Dir::Etc::sourceparts "$apt/etc/apt/sources.list.d";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/dpkg/status";
		Dir::Cache "$apt/cache";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
		Acquire::Retries "3";
		Debug::NoLocking "true";
	END
	APT_CONFIG=$apt/apt.conf apt-get -q update >&2
	# shellcheck disable=SC2086 # the list is meant to be split
	APT_CONFIG=$apt/apt.conf apt-get -q -y --no-install-recommends --download-only install $packages >&2
}

# unpack lays the packages out without their maintainer scripts, and does what
# those would have done as far as it is needed.
unpack() {
	for dir in bin sbin lib lib64; do
		mkdir -p "$root/usr/$dir"
		[ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	# shellcheck disable=SC2016 # the inner shell expands these
	find "$apt/cache/archives" -name '*.deb' -print0 | xargs -0 -P 2 -n 1 sh -c '
		dpkg-deb --fsys-tarfile "$1" | tar -x -C "$0" --keep-directory-symlink --no-same-owner \
			--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/info
	' "$root"
	[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
	[ -e "$root/usr/bin/awk" ] || ln -s mawk "$root/usr/bin/awk"
	[ -e "$root/usr/bin/python3" ] || ln -s python3.13 "$root/usr/bin/python3"
}

# share takes the programs of another pool: as links, for nobody writes to them.
share() {
	mkdir -p "$root"
	cp -a --link "$1/usr" "$root"
	cp -a "$1/etc" "$1/bin" "$1/sbin" "$1/lib" "$1/lib64" "$root"
	rm -rf "$root/etc/condor/config.d" # a test's, perhaps
}

unpacked() { [ -e "$base/$1/unpacked" ] && [ "$(cat "$base/$1/unpacked")" = "$suite $packages" ]; }

# install has one pool at a time fetch the programs, and others share them.
install() {
	exec 5>"$base/condor.programs"
	flock 5
	if ! unpacked "$pool"; then
		say "installing HTCondor of Debian $suite into $root"
		rm -rf --one-file-system "$root"
		if unpacked condor; then
			share "$base/condor/root"
		else
			fetch
			unpack
			rm -rf "$apt"
		fi
		echo "$suite $packages" >"$bed/unpacked"
	fi
	exec 5>&-
	[ -x "$root/usr/sbin/condor_master" ] || fail "no condor_master in $root: run \"$0 down --wipe\" and try again"
}

account() {
	id "$owner" >/dev/null 2>&1 && return 0
	useradd -u "$uid" -U -M -d /tmp -s /bin/sh "$owner" 2>/dev/null ||
		id "$owner" >/dev/null 2>&1 || # another bed was faster
		fail "cannot make the account $owner with uid $uid"
}

# --- configuration

# config PREFIX IDS prints the pool's configuration for programs that see the
# chroot's root folder as PREFIX. Started by root they become IDS, whom the
# host must know, too.
config() {
	cat <<-END
		CONDOR_HOST = 127.0.0.1
		COLLECTOR_HOST = 127.0.0.1:$port
		SHARED_PORT_PORT = $port
		USE_SHARED_PORT = True
		COLLECTOR_USES_SHARED_PORT = True
		NETWORK_HOSTNAME = jjmpool
		FULL_HOSTNAME = jjmpool.localdomain
		NETWORK_INTERFACE = 127.0.0.1
		BIND_ALL_INTERFACES = False
		ENABLE_IPV6 = False
		NO_DNS = True
		DEFAULT_DOMAIN_NAME = localdomain
		UID_DOMAIN = jjm.test
		FILESYSTEM_DOMAIN = jjm.test
		TRUST_UID_DOMAIN = True
		SOFT_UID_DOMAIN = True
		CONDOR_IDS = $2
		RELEASE_DIR = $1/usr
		LOCAL_DIR = $1/var
		BIN = $1/usr/bin
		SBIN = $1/usr/sbin
		LIB = $1/usr/lib/condor
		LIBEXEC = $1/usr/libexec/condor
		LOG = $1/var/log/condor
		RUN = $1/var/run/condor
		LOCK = $1/var/lock/condor
		SPOOL = $1/var/lib/condor/spool
		EXECUTE = $1/var/lib/condor/execute
		LOCAL_CONFIG_DIR = $1/etc/condor/config.d
		DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD STARTD

		# FS authentication: client and daemons share /tmp.
		SEC_DEFAULT_AUTHENTICATION = REQUIRED
		SEC_DEFAULT_AUTHENTICATION_METHODS = FS
		SEC_CLIENT_AUTHENTICATION_METHODS = FS
		SEC_DEFAULT_ENCRYPTION = OPTIONAL
		SEC_DEFAULT_INTEGRITY = OPTIONAL
		ALLOW_READ = *
		ALLOW_WRITE = *
		ALLOW_DAEMON = *
		ALLOW_NEGOTIATOR = *
		ALLOW_ADMINISTRATOR = *
		QUEUE_SUPER_USERS = root, condor

		# One machine that is cut into slots as jobs need them.
		NUM_CPUS = $cores
		MEMORY = $((cores * 512))
		DISK = 100000000
		RESERVED_DISK = 0
		SLOT_TYPE_1 = 100%
		NUM_SLOTS_TYPE_1 = 1
		SLOT_TYPE_1_PARTITIONABLE = True
		START = True
		SUSPEND = False
		PREEMPT = False
		KILL = False
		RANK = 0
		# Without cgroups the machine looks at what jobs use, as many sites do.
		use POLICY : HOLD_IF_MEMORY_EXCEEDED
		POLLING_INTERVAL = 1

		# Tests wait for these. What a killed daemon had written stays without
		# fsync(2), too.
		CONDOR_FSYNC = False
		NEGOTIATOR_INTERVAL = 1
		NEGOTIATOR_MIN_INTERVAL = 0
		NEGOTIATOR_CYCLE_DELAY = 0
		SCHEDD_INTERVAL = 1
		SCHEDD_MIN_INTERVAL = 0
		UPDATE_INTERVAL = 10
		JOB_START_COUNT = 50
		JOB_START_DELAY = 0
		STARTER_INITIAL_UPDATE_INTERVAL = 1
		STARTER_UPDATE_INTERVAL = 5
		SHADOW_QUEUE_UPDATE_INTERVAL = 2
		SHADOW_CHECKPROXY_INTERVAL = 1
		# This version cannot delegate them with the OpenSSL it comes with.
		DELEGATE_JOB_GSI_CREDENTIALS = False
		PERIODIC_EXPR_INTERVAL = 1
		MAX_PERIODIC_EXPR_INTERVAL = 2
		KILLING_TIMEOUT = 3
		MASTER_BACKOFF_CONSTANT = 1
		MASTER_BACKOFF_CEILING = 2
		SHUTDOWN_FAST_TIMEOUT = 10
		SHUTDOWN_GRACEFUL_TIMEOUT = 20

		# A process for each answer costs more than the answer.
		SCHEDD_QUERY_WORKERS = 0
		COLLECTOR_QUERY_WORKERS = 0

		# What this machine cannot do.
		BASE_CGROUP =
		RUNBENCHMARKS = False
		STARTD_CRON_JOBLIST =
		STARTD_DETECT_GPUS = False
		MOUNT_UNDER_SCRATCH =
		SINGULARITY =
		DOCKER =
		# Each starter would ask each plugin what it can, three Python programs.
		ENABLE_URL_TRANSFERS = False
		ENABLE_KERNEL_TUNING = False
		MAIL = /bin/true
		PREEN =

		# The limits and policies that tests meet.
		MAX_JOBS_PER_SUBMISSION = 20000
		MAX_JOBS_PER_OWNER = 200000
		SUBMIT_REQUIREMENT_NAMES = JJMTest
		SUBMIT_REQUIREMENT_JJMTest = Refuse =!= True
		SUBMIT_REQUIREMENT_JJMTest_REASON = "this site takes no jobs with Refuse"

		EVENT_LOG = $1/var/log/condor/EventLog
		EVENT_LOG_FORMAT_OPTIONS = JSON ISO_DATE
		EVENT_LOG_MAX_SIZE = 100000000
		EVENT_LOG_JOB_AD_INFORMATION_ATTRS = JJMTag, JobStatus
	END
}

configure() {
	for dir in etc/condor/config.d var/lib/condor/spool var/lib/condor/execute var/log/condor var/run/condor var/lock/condor tmp proc sys dev root var/tmp; do
		mkdir -p "$root/$dir"
	done
	gid=$(id -g "$owner")
	cat >"$root/etc/passwd" <<-END
		root:x:0:0:root:/root:/bin/sh
		nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
		condor:x:$condor:$condor::/var/lib/condor:/bin/sh
		$owner:x:$(id -u "$owner"):$gid::/tmp:/bin/sh
	END
	cat >"$root/etc/group" <<-END
		root:x:0:
		nogroup:x:65534:
		condor:x:$condor:
		$owner:x:$gid:
	END
	printf '%s: files\n' passwd group shadow hosts netgroup >"$root/etc/nsswitch.conf"
	echo "127.0.0.1 localhost jjmpool.localdomain jjmpool" >"$root/etc/hosts"
	: >"$root/etc/resolv.conf"
	rm -f "$root/etc/condor/config.d/00-htcondor-9.0.config" # the package's own pool
	config "" "$condor.$condor" >"$root/etc/condor/condor_config"
	# Commands give up after 20 s by themselves, too soon on a machine that does
	# everything at once.
	{ config "$root" 0.0 && echo "TIMEOUT_MULTIPLIER = 3"; } >"$bed/client_config"
	# Not what is in them: jobs that run have folders of their own there.
	for dir in lib/condor lib/condor/spool lib/condor/execute log/condor run/condor lock/condor; do
		chown "$condor:$condor" "$root/var/$dir"
	done
	chmod 1777 "$root/var/lock/condor" "$root/var/tmp"
	chmod 755 "$root/var/lib/condor/execute"
}

# commands makes the folder of client commands. They run the unpacked programs
# with the unpacked libraries, on the host's files.
commands() {
	loader=$(find "$root/usr/lib64" "$root/usr/lib" -name 'ld-linux*.so.*' | head -n 1)
	libc=$(find "$root/usr/lib" -name libc.so.6 | head -n 1)
	if [ -z "$loader" ] || [ -z "$libc" ]; then fail "no C library in $root"; fi
	libs=${libc%/*}
	mkdir -p "$bed/bin"
	for program in $programs; do
		at=$root/usr/bin/condor_$program
		[ -e "$at" ] || at=$root/usr/sbin/condor_$program
		put "$bed/bin/condor_$program" 755 <<-END
			#!/bin/sh
			CONDOR_CONFIG=\${CONDOR_CONFIG:-$bed/client_config}
			export CONDOR_CONFIG
			set -- "$loader" --library-path "$libs:$root/usr/lib" "$at" "\$@"
			[ ! -O "\$0" ] || [ -n "\${JJM_AS_ROOT:-}" ] || set -- setpriv --reuid=$owner --regid=$owner --clear-groups "\$@"
			exec "\$@"
		END
	done
}

# --- processes and mounts, all found by the chroot

pids() { # pids NAME: the daemons of that name in this chroot
	comm=$(printf "condor_%s" "$1" | cut -c 1-15) # as the kernel cuts it
	find /proc/[0-9]*/root -prune -lname "$root" 2>/dev/null | while IFS=/ read -r _ _ p _; do
		name=
		{ read -r name <"/proc/$p/comm"; } 2>/dev/null || continue
		[ "$1" = any ] || [ "$name" = "$comm" ] || continue
		echo "$p"
	done
}

send() { # send SIGNAL NAME
	for pid in $(pids "$2"); do
		kill "-$1" "$pid" 2>/dev/null || true
	done
}

mount_all() {
	for dir in /dev $shared; do
		[ -d "$dir" ] || continue
		mkdir -p "$root$dir"
		mountpoint -q "$root$dir" && continue
		mount --bind "$dir" "$root$dir"
		mount --make-private "$root$dir"
	done
	# Of what is mounted below, test runs' own folders (with.sh), and no more: what
	# a test mounts could not be removed.
	awk '$2 ~ "^/tmp/jjm-run[.][^/]*$" { print $2 }' /proc/mounts | while read -r dir; do
		mountpoint -q "$root$dir" && continue
		mount --bind "$dir" "$root$dir"
		mount --make-private "$root$dir"
	done
}

# own_proc runs the master in a namespace of process ids of its own: HTCondor
# reads all of /proc many times for each job, 35 ms of CPU with 200 processes on
# the machine. The shell stays, as process 1: the master's parent must be seen.
# shellcheck disable=SC2016 # the inner shell expands these
own_proc='while umount "$0/proc" 2>/dev/null; do :; done
mount -t proc proc "$0/proc" && chroot "$0" /usr/sbin/condor_master -f
exit $?'

start() {
	[ -z "$(pids master)" ] || return 0
	# Every listing reads the history: 2000 jobs of earlier tests cost 0.5 s.
	rm -f "$root"/var/lib/condor/spool/history*
	# Descriptors of the caller, the lock among them, must not live on in daemons.
	env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root CONDOR_CONFIG=/etc/condor/condor_config \
		setsid unshare --pid --fork sh -c "$own_proc" "$root" </dev/null >"$bed/master.out" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
}

ready() {
	"$bed/bin/condor_q" -constraint 'ClusterId == 0' -af ClusterId >/dev/null 2>&1 &&
		[ -n "$("$bed/bin/condor_status" -af Name 2>/dev/null)" ]
}

wait_ready() {
	within 240 ready && return 0
	tail -n 5 "$bed/master.out" "$root"/var/log/condor/*Log >&2 || true
	fail "HTCondor does not answer after 180 s"
}

none() { [ -z "$(pids any)" ]; }

# --- verbs

# trouble prints what keeps jobs from running, a line each.
trouble() {
	for program in $programs; do
		[ -x "$bed/bin/condor_$program" ] || { echo "not installed: condor_$program"; return; }
	done
	config "" "$condor.$condor" | cmp -s - "$root/etc/condor/condor_config" || echo "its configuration is an older one"
	down=0
	for name in master collector negotiator schedd startd; do
		found=$(pids "$name")
		[ -n "$found" ] || { echo "condor_$name is down" && down=1; }
		for pid in $found; do
			if frozen "$pid"; then echo "condor_$name is frozen" && down=1; fi
		done
	done
	[ $down = 0 ] || return 0
	in_time "$0" ready || echo "jobs cannot run"
}

well() { [ -z "$(trouble)" ]; }

up() {
	case "$bed" in
	/tmp/* | /root/* | /home/* | /srv/* | /var/tmp/*) fail "JJM_TESTBED must not be below a folder that the chroot sees: $shared" ;;
	esac
	if alone "$pool"; then
		if well && no_strays; then return 0; fi
		forget_all
	elif within 60 well; then # they may be busy
		return 0
	fi
	account
	install
	configure
	commands
	mount_all
	send CONT any
	send HUP master # one that runs reads its configuration anew
	start
	wait_ready
}

# no_strays removes every job. Nobody uses the bed: an earlier run left them.
no_strays() {
	if no_jobs; then return 0; fi
	say "removing jobs that an earlier run left"
	as_root condor_rm -all >&2 || :
	within 30 no_jobs || as_root condor_rm -all -forcex >&2 || :
	within 30 no_jobs && well
}

no_jobs() { queued=$(as_root condor_q -allusers -af ClusterId) && [ -z "$queued" ]; }
as_root() {
	program=$1
	shift
	JJM_AS_ROOT=1 in_time "$bed/bin/$program" "$@" 2>/dev/null
}

# forget_all ends everything and removes what it left, however it was.
forget_all() {
	end_below "$root"
	for dir in lib/condor/spool lib/condor/execute log/condor run/condor lock/condor; do
		rm -rf --one-file-system "${root:?}/var/$dir"
	done
}

down() {
	send CONT any
	send QUIT master # a fast shutdown: jobs are killed, the queue is kept
	within 60 none || send KILL any
	within 240 none || fail "processes of $root do not end: $(pids any | tr '\n' ' ')"
	for dir in $(mounts_below "$root"); do
		umount "$dir" || umount -l "$dir"
	done
	[ "${1:-}" = --wipe ] || return 0
	[ -z "$(mounts_below "$root")" ] || fail "$root still has mounts, nothing is removed"
	rm -rf --one-file-system "$bed"
}

status() {
	for name in master collector negotiator schedd startd; do
		echo "condor_$name: $(pids "$name" | tr '\n' ' ')"
	done
	trouble=$(trouble)
	[ -z "$trouble" ] || { echo "$trouble" && return 1; }
	as_root condor_status || :
	as_root condor_q -allusers -nobatch | cut -c1-160 || :
}

# heal: the master starts what has ended, once it is not frozen itself.
heal() {
	send CONT any
	start
	wait_ready
}

# The history is what has left the queue; the event log tells it too. The schedd
# keeps the file open and would write on into one that is removed.
lose_history() {
	rm -f "$root"/var/lib/condor/spool/history.*
	[ ! -e "$root/var/lib/condor/spool/history" ] || : >"$root/var/lib/condor/spool/history"
	: >"$root/var/log/condor/EventLog"
}

# jobs are the processes in the chroot that are none of HTCondor's.
jobs() {
	for pid in $(pids any); do
		case "$(cat "/proc/$pid/comm" 2>/dev/null)" in
		condor_* | "") ;;
		*) echo "$pid" ;;
		esac
	done
}

disturb() { # disturb VERB DAEMON
	case "$1" in
	freeze) send STOP "$2" ;;
	thaw) send CONT "$2" ;;
	kill)
		send STOP master
		send KILL "$2"
		within 240 is_gone "$2" || fail "$2 does not end"
		[ "$2" = startd ] || return 0
		send KILL starter
		for pid in $(jobs); do
			kill -KILL "$pid" 2>/dev/null || true
		done
		;;
	stop)
		send STOP master
		send CONT "$2"
		send QUIT "$2"
		within 240 is_gone "$2" || fail "$2 does not end"
		;;
	start)
		send CONT "$2"
		send CONT master
		wait_ready
		;;
	*) usage ;;
	esac
}

is_gone() {
	for pid in $(pids "$1"); do ended "$pid" || return 1; done
}

fit() {
	[ "$(id -u)" = 0 ] || fail "$1: as root only"
	[ -e /etc/debian_version ] || fail "$1: on Debian only"
	locked "$base/$pool.lock"
}

case "${1:-} ${2:-}" in
"up " | "start master")
	fit up
	up
	;;
"down " | "down --wipe")
	fit down
	down "${2:-}"
	;;
"status ") status ;;
"ready ") ready ;;
"heal ")
	fit heal
	heal
	;;
"lose history" | "keep history") lose_history ;;
"env ")
	cat <<-END
		BIN=$bed/bin
		OWNER=$owner
		ENV_CONDOR_CONFIG=$bed/client_config
		EVENT_LOG=$root/var/log/condor/EventLog
		CORES=$cores
		COLLECTOR=127.0.0.1:$port
	END
	;;
*" schedd" | *" startd" | *" collector" | *" negotiator") disturb "$1" "$2" ;;
*) usage ;;
esac
