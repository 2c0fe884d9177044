#!/bin/sh
# A Grid Engine of one host for tests: Debian's Son of Grid Engine 8.1.9 with a
# cell, a spool and ports of its own, so that it meets no other Grid Engine of
# this machine. Run as root on Debian; no systemd is needed.
#
#   sge.sh up                install and start; returns when jobs can run
#   sge.sh down [--wipe]     stop; --wipe forgets all jobs too
#   sge.sh status            what runs, and what is wrong; exit 1 if anything is
#   sge.sh env               NAME=value lines for tests
#   sge.sh freeze|thaw|kill|stop|start qmaster|execd
#                            stop and continue a daemon, kill -9 or end it, start it
#   sge.sh heal              do what an administrator does after a crash: start
#                            what is down, run stuck tasks anew, clear errors
#   sge.sh lose|keep history forget the accounting, now and - at the latest -
#                            when it is kept again
#   sge.sh reschedule JOB[.TASK]
#                            run a job anew, as a manager may
#   sge.sh vanish JOB[.TASK] forget a job at once, as a manager may
#   sge.sh hold JOB[.TASK]   hold a job as the system does
#   sge.sh qconf ARG...      qconf(1) as root, who is a manager
#
# "up" leaves a bed that tests use at work as it is. One that nobody uses it
# rids of jobs; if it is not well, of everything. JJM_TESTBED is where beds live;
# another bed needs other ports too: JJM_SGE_PORT is the first of two.
set -eu

bed=${JJM_TESTBED:-/var/lib/jjm-testbed}
here=$bed/sge
owner=jjmtest
slots=64
real=/usr/lib/gridengine # the programs; those in /usr/bin are scripts of 100 ms

# Grid Engine finds its cell by these. Foreground daemons, else they fork away
# from the process id that is kept here.
export SGE_ROOT="$here/root" SGE_CELL=default SGE_ND=1
port=${JJM_SGE_PORT:-16444}
export SGE_QMASTER_PORT="$port" SGE_EXECD_PORT="$((port + 1))"
export LC_ALL=C

# shellcheck source=scripts/testbed/common.sh
. "$(dirname "$0")/common.sh"

install_packages() {
	[ -x $real/sge_qmaster ] && [ -x $real/sge_execd ] && [ -x $real/qstat ] && return
	for package in common master exec client; do
		for setting in "gridengineconfig boolean true" "gridenginecell string default" "gridenginemaster string localhost"; do
			echo "gridengine-$package shared/$setting"
		done
	done | debconf-set-selections
	apt_install gridengine-master gridengine-exec gridengine-client
}

# Another bed may make the same account at the same moment.
make_account() {
	id $owner >/dev/null 2>&1 && return
	mkdir -p "$bed/home"
	useradd -u 61001 -m -d "$bed/home/$owner" -s /bin/sh $owner 2>/dev/null || true
	within 240 id $owner || fail "cannot make the account $owner"
}

# make_cell writes a cell as the package's own scripts do, below $here.
make_cell() {
	[ -e "$here/cell-made" ] && return
	rm -rf "$here/root" "$here/spool"
	mkdir -p "$SGE_ROOT/default/common" "$here/spool/qmaster" "$here/spool/execd" "$here/spool/db"
	for link in /var/lib/gridengine/bin /var/lib/gridengine/lib /var/lib/gridengine/util /var/lib/gridengine/utilbin; do
		ln -s "$link" "$SGE_ROOT/"
	done
	common=$SGE_ROOT/default/common
	echo localhost >"$common/act_qmaster"
	# The kernel's name of this host must mean the host that listens.
	echo "localhost $(hostname)" >"$common/host_aliases"
	cat >"$common/bootstrap" <<-END
		admin_user              sgeadmin
		default_domain          none
		ignore_fqdn             false
		spooling_method         berkeleydb
		spooling_lib            libspoolb
		spooling_params         $here/spool/db
		binary_path             /usr/sbin
		qmaster_spool_dir       $here/spool/qmaster
		security_mode           none
		listener_threads        2
		worker_threads          2
		scheduler_threads       1
	END
	chown -R sgeadmin: "$SGE_ROOT/default" "$here/spool"
	share=/usr/share/gridengine
	# Accounting is written at once, not each 15 s. Jobs' processes are found
	# by an added group, so that none survives a qdel in a session of its own.
	# A worker reports often: a qmaster that was restarted, and a task that is to
	# run on the same worker again, wait for it. Debian's sge_shepherd is a script that runs a C preprocessor twice to find
	# out what machine this is: 100 ms of each job.
	sed -e "s|^execd_spool_dir.*|execd_spool_dir $here/spool/execd|" \
		-e 's|flush_time=00:00:15|flush_time=00:00:01 accounting_flush_time=00:00:00|' \
		-e "s|^gid_range.*|gid_range $((port + 9000))-$((port + 9400))|" \
		-e 's|^execd_params.*|execd_params ENABLE_ADDGRP_KILL=true|' \
		-e 's|^mailer.*|mailer /bin/true|' -e 's|^load_report_time.*|load_report_time 00:00:02|' \
		-e "s|^shepherd_cmd.*|shepherd_cmd $real/sge_shepherd|" \
		$share/default-configuration >"$here/configuration"
	{
		$real/spoolinit berkeleydb libspoolb "$here/spool/db" init
		$real/spooldefaults configuration "$here/configuration"
		$real/spooldefaults complexes $share/util/resources/centry
		$real/spooldefaults usersets $share/util/resources/usersets
		$real/spooldefaults managers sgeadmin root
	} >"$here/log/cell" 2>&1 || fail "cannot make the cell: see $here/log/cell"
	chown -R sgeadmin: "$here/spool"
	touch "$here/cell-made"
}

# make_commands writes the folder that tests call: the real programs, told
# where the cell is, as the owner when root calls.
make_commands() {
	mkdir -p "$here/bin"
	home=$(getent passwd $owner | cut -d: -f6)
	for name in qsub qstat qacct qdel qhold qrls qmod qalter qconf qhost qselect; do
		put "$here/bin/$name" 755 <<-END
			#!/bin/sh
			export SGE_ROOT=$SGE_ROOT SGE_CELL=$SGE_CELL SGE_QMASTER_PORT=$SGE_QMASTER_PORT SGE_EXECD_PORT=$SGE_EXECD_PORT
			if [ -w /etc/shadow ]; then
				HOME=$home USER=$owner LOGNAME=$owner exec setpriv --reuid=$owner --regid=$owner --clear-groups $real/$name "\$@"
			fi
			exec $real/$name "\$@"
		END
	done
}

pid_of() { cat "$here/run/$1.pid" 2>/dev/null || echo none; }

# alive tells a daemon from a process that has got its number.
alive() {
	ended "$(pid_of "$1")" && return 1
	case $(readlink "/proc/$(pid_of "$1")/exe" 2>/dev/null) in
	*/sge_"$1") return 0 ;;
	esac
	return 1
}

start() {
	alive "$1" && return
	(
		exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		# Shepherds close every descriptor that could be open, one by one.
		exec setsid prlimit --nofile=1024 "$real/sge_$1" </dev/null >>"$here/log/$1" 2>&1
	) &
	echo $! >"$here/run/$1.pid"
}

# ready waits until a daemon does its work, and puts it before the tests that
# load the machine and wait for it; execd resets its priority when it starts.
ready() {
	if [ "$1" = qmaster ]; then within 240 master_answers; else within 240 host_reports; fi ||
		fail "$1 does not answer; see $here/log"
	renice -n -10 -p "$(pid_of "$1")" >/dev/null 2>&1 || true
}

master_answers() { in_time $real/qconf -sh; }
host_reports() { in_time $real/qhost -h localhost | grep 'lx-'; }

configure() {
	[ -e "$here/configured" ] && return
	tmp=$here/tmp
	mkdir -p "$tmp"
	{
		$real/qconf -ah localhost || true # an administrative host already
		$real/qconf -as localhost
		# A resource to count: what a site calls gpu.
		$real/qconf -sc >"$tmp/complexes"
		echo 'gpu gpu INT <= YES YES 0 0' >>"$tmp/complexes"
		$real/qconf -Mc "$tmp/complexes"
		printf '%s\n' 'hostname localhost' 'load_scaling NONE' 'complex_values gpu=4' 'user_lists NONE' \
			'xuser_lists NONE' 'projects NONE' 'xprojects NONE' 'usage_scaling NONE' 'report_variables NONE' >"$tmp/host"
		$real/qconf -Ae "$tmp/host" || $real/qconf -Me "$tmp/host"
		printf '%s\n' 'group_name @allhosts' 'hostlist localhost' >"$tmp/hosts"
		$real/qconf -Ahgrp "$tmp/hosts"
		# shellcheck disable=SC2016 # a word of Grid Engine
		printf '%s\n' 'pe_name smp' 'slots 999' 'user_lists NONE' 'xuser_lists NONE' 'start_proc_args NONE' \
			'stop_proc_args NONE' 'allocation_rule $pe_slots' 'control_slaves FALSE' 'job_is_first_task TRUE' \
			'urgency_slots min' 'accounting_summary TRUE' 'qsort_args NONE' >"$tmp/pe"
		$real/qconf -Ap "$tmp/pe"
		printf '%s\n' 'name physics' 'oticket 0' 'fshare 0' 'acl NONE' 'xacl NONE' >"$tmp/project"
		$real/qconf -Aprj "$tmp/project"
		$real/qconf -sq | sed -e 's|^qname .*|qname all.q|' -e 's|^hostlist .*|hostlist @allhosts|' \
			-e "s|^slots .*|slots $slots|" -e 's|^pe_list .*|pe_list smp|' \
			-e 's|^load_thresholds .*|load_thresholds NONE|' -e 's|^shell  *.*|shell /bin/sh|' >"$tmp/queue"
		$real/qconf -Aq "$tmp/queue"
		# Look for work within a second of a submission or an end.
		$real/qconf -ssconf | sed -e 's|^schedule_interval .*|schedule_interval 0:0:1|' \
			-e 's|^flush_submit_sec .*|flush_submit_sec 1|' -e 's|^flush_finish_sec .*|flush_finish_sec 1|' \
			-e 's|^schedd_job_info .*|schedd_job_info true|' >"$tmp/scheduler"
		$real/qconf -Msconf "$tmp/scheduler"
	} >"$here/log/configure" 2>&1 || fail "cannot configure: see $here/log/configure"
	touch "$here/configured"
}

# trouble prints what keeps jobs from running, a line each.
trouble() {
	[ -e "$here/configured" ] || { echo "not installed"; return; }
	down=0
	for daemon in qmaster execd; do
		if ! alive $daemon; then
			echo "$daemon is down" && down=1
		elif frozen "$(pid_of $daemon)"; then
			echo "$daemon is frozen" && down=1
		fi
	done
	[ $down = 0 ] || return 0
	master_answers >/dev/null || { echo "qmaster does not answer"; return; }
	host_reports >/dev/null || echo "execd does not report"
	bad_queues | while read -r queue state; do echo "queue $queue is in state $state"; done
}

# bad_queues prints the queues that are in any state; those that work are in none.
bad_queues() { in_time $real/qstat -f | awk '/^[^ ]*@/ && NF == 6 { print $1, $6 }'; }

# bad_tasks prints tasks in error, tasks on their way to a worker, and tasks that
# are to be deleted: job, task, state.
bad_tasks() {
	in_time $real/qstat -u '*' -g d | awk '$5 ~ /[Etd]/ && $1 + 0 > 0 { print $1, ($NF ~ /^[0-9]+$/ ? $NF : 1), $5 }'
}

well() { [ -z "$(trouble)" ]; }

up() {
	[ "$(id -u)" = 0 ] || fail "run as root"
	if alone sge; then
		if well && no_strays; then return 0; fi
		wipe
	elif within 60 well; then # they may be busy
		return 0
	fi
	mkdir -p "$here/log" "$here/run"
	chmod 755 "$bed" "$here"
	install_packages
	make_account
	make_cell
	make_commands
	start qmaster
	thaw qmaster
	ready qmaster
	configure
	start execd
	thaw execd
	ready execd
	if ! within 240 well; then
		trouble >&2
		fail "the bed is not well; see $here/log"
	fi
}

# no_strays deletes every job. Nobody uses the bed: an earlier run left them.
no_strays() {
	if no_jobs; then return 0; fi
	say "deleting jobs that an earlier run left"
	in_time $real/qdel -u '*' >/dev/null 2>&1 || true
	within 45 no_jobs && well
}

no_jobs() { jobs=$(in_time $real/qstat -u '*') && [ -z "$jobs" ]; }

# wipe ends everything and forgets it, however it was.
wipe() {
	end_below "$here"
	rm -rf "$here"
}

thaw() { kill -CONT "$(pid_of "$1")"; }

stop() {
	alive "$1" || return 0
	thaw "$1"
	kill "$(pid_of "$1")"
	within 30 dead "$1" || kill -KILL "$(pid_of "$1")"
}

dead() { ! alive "$1"; }

down() {
	[ -d "$here" ] || return 0
	if alive qmaster; then no_strays || true; fi
	stop execd
	stop qmaster
	[ "${1:-}" != --wipe ] || wipe
}

status() {
	for daemon in qmaster execd; do
		if alive $daemon; then echo "$daemon: runs, process $(pid_of $daemon)"; else echo "$daemon: down"; fi
	done
	trouble=$(trouble)
	[ -z "$trouble" ] || { echo "$trouble" && return 1; }
	in_time $real/qstat -f -u '*'
}

# ---- faults and what helps against them

# heal: a qmaster that was killed while a task was on its way to a worker leaves
# it "in transfer" for ever.
heal() {
	for daemon in qmaster execd; do
		start $daemon
		thaw $daemon
		ready $daemon
	done
	stuck=$(bad_tasks)
	sleep 2 # what is really on its way arrives meanwhile
	bad_tasks | while read -r job task state; do
		echo "$stuck" | grep -qx "$job $task $state" || continue
		echo "task $job.$task is stuck in state $state"
		case $state in
		*E*) $real/qmod -cj "$job.$task" ;;
		*d*) $real/qdel -f "$job" -t "$task" ;;
		*) $real/qmod -f -rj "$job.$task" ;;
		esac || true
	done
	$real/qmod -cq '*' >/dev/null || true
	within 240 well || { trouble >&2 && fail "cannot heal that"; }
}

lose_history() { : >"$SGE_ROOT/default/common/accounting"; }

daemon() {
	case ${1:-} in
	qmaster | execd) ;;
	*) fail "want qmaster or execd, not '${1:-}'" ;;
	esac
}

verb=${1:-}
[ $# = 0 ] || shift
lock=$bed/sge.lock
case $verb in
up) locked "$lock" && up ;;
down) locked "$lock" && down "$@" ;;
status) status ;;
heal) locked "$lock" && heal ;;
lose | keep)
	[ "${1:-}" = history ] || fail "$verb what? history"
	lose_history
	;;
env)
	printf '%s\n' "BIN=$here/bin" "OWNER=$owner" "SLOTS=$slots" "SGE_ROOT=$SGE_ROOT" \
		"SGE_QMASTER_PORT=$SGE_QMASTER_PORT" "SGE_EXECD_PORT=$SGE_EXECD_PORT" "REAL=$real" \
		"ACCOUNTING=$SGE_ROOT/default/common/accounting"
	;;
freeze) daemon "$@" && kill -STOP "$(pid_of "$1")" ;;
thaw) daemon "$@" && thaw "$1" ;;
kill)
	daemon "$@"
	kill -KILL "$(pid_of "$1")"
	within 240 dead "$1" || fail "$1 does not end"
	;;
stop) daemon "$@" && stop "$1" ;;
start)
	daemon "$@"
	start "$1"
	thaw "$1"
	ready "$1"
	;;
reschedule) $real/qmod -f -rj "$@" ;;
vanish) $real/qdel -f "$@" ;;
hold) $real/qhold -h s "$@" ;;
qconf) exec $real/qconf "$@" ;;
*) fail "want up, down [--wipe], status, env, heal, lose|keep history, freeze, thaw, kill, stop, start, reschedule, vanish, hold or qconf" ;;
esac
