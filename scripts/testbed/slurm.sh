#!/bin/sh
# A real Slurm of one machine for tests: four nodes, slurmdbd with MariaDB,
# slurmrestd, all on the loopback interface, without systemd. Debian, as root.
#
#   slurm.sh up               install, start, return when jobs can run
#   slurm.sh down [--wipe]    cancel all jobs and stop; --wipe forgets everything
#   slurm.sh status           one line for each daemon, trouble, node and job;
#                             exit 1 if there is any trouble
#   slurm.sh env              what tests need, as lines NAME=value
#   slurm.sh freeze|thaw DAEMON   SIGSTOP, SIGCONT
#   slurm.sh kill DAEMON      SIGKILL, and wait until it is gone
#   slurm.sh start DAEMON     start it again, and wait until it answers
#   slurm.sh stop DAEMON      SIGTERM, and wait until it is gone
#   slurm.sh heal             do what an administrator does after a crash: start
#                             what is down, end jobs that the controller has
#                             forgotten, resume nodes, release what it held
#   slurm.sh lose history     forget jobs that have ended, at once in the
#                             accounting, seconds after their end in slurmctld
#   slurm.sh keep history     ... no longer
#
# "up" leaves a bed that tests use at work as it is. One that nobody uses it
# rids of jobs; if it is not well, of everything.
#
# DAEMON is munged, mariadbd, slurmdbd, slurmctld, n1 to n4 (the slurmd of
# that node), rest (JWT over TCP) or rest-unix (the owner's own).
#
# A test that breaks things has a bed of its own: another folder and other
# ports. These settings are read by up:
#
#   JJM_TESTBED           where beds live          /var/lib/jjm-testbed
#   JJM_SLURM_PORT        the first of ten ports   16817
#   JJM_SLURM_ACCOUNTING  0: no slurmdbd           1
#   JJM_SLURM_REST        0: no slurmrestd         1
#   JJM_SLURM_TIMEOUT     MessageTimeout, seconds  10
#   JJM_SLURM_MINJOBAGE   MinJobAge, seconds       300
set -eu

base=${JJM_TESTBED:-/var/lib/jjm-testbed}
bed=$base/slurm
port=${JJM_SLURM_PORT:-16817}
accounting=${JJM_SLURM_ACCOUNTING:-1}
rest=${JJM_SLURM_REST:-1}
minjobage=${JJM_SLURM_MINJOBAGE:-300}
owner=jjmtest

# The ports, from the first one on.
port_slurmd1=$((port + 1)) port_slurmd3=$((port + 3))
port_slurmdbd=$((port + 4)) port_sql=$((port + 5)) port_rest=$((port + 6)) port_slurmd4=$((port + 7))

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C SLURM_CONF="$bed/etc/slurm.conf"

# shellcheck source=scripts/testbed/common.sh
. "$(dirname "$0")/common.sh"

# ---- daemons by their pid files --------------------------------------------

pidfile() {
	case $1 in
	munged) echo "$bed/munge/munged.pid" ;;
	mariadbd) echo "$bed/sql/mariadbd.pid" ;;
	slurmctld | slurmdbd) echo "$bed/pid/$1.pid" ;;
	n[1-4]) echo "$bed/pid/slurmd.$1.pid" ;;
	rest | rest-unix) echo "$bed/rest/$1.pid" ;;
	*) fail "no daemon $1" ;;
	esac
}

program() {
	case $1 in
	n[1-4]) echo slurmd ;;
	rest | rest-unix) echo slurmrestd ;;
	*) echo "$1" ;;
	esac
}

# pid prints the process id of a daemon that lives. A zombie does not; nor does a
# stranger with its number.
pid() {
	file=$(pidfile "$1")
	[ -s "$file" ] || return 1
	read -r p <"$file" || [ -n "$p" ]
	ended "$p" && return 1
	case $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null) in
	*"$(program "$1")"*) echo "$p" ;;
	*) return 1 ;;
	esac
}

gone() { ! pid "$1" >/dev/null; }

daemons() {
	echo munged
	if [ "$accounting" = 1 ]; then echo mariadbd slurmdbd; fi
	echo slurmctld n1 n2 n3 n4
	if [ "$rest" = 1 ]; then echo rest rest-unix; fi
}

# end SIGNAL DAEMON sends a signal that ends, and waits.
end() {
	p=$(pid "$2") || { rm -f "$(pidfile "$2")"; return 0; }
	kill "-$1" "$p" 2>/dev/null || :
	kill -CONT "$p" 2>/dev/null || :
	if ! within 45 gone "$2"; then
		kill -KILL "$p" 2>/dev/null || :
		within 240 gone "$2" || fail "$2 (process $p) does not end"
	fi
	rm -f "$(pidfile "$2")"
}

# quiet COMMAND... starts a daemon without the descriptors of the caller: one
# who reads our output would wait for the daemon to close it.
quiet() { "$@" </dev/null >/dev/null 2>&1 8>&- 9>&-; }

# spawn NAME USER COMMAND... runs a program that stays in the foreground.
spawn() {
	name=$1 user=$2
	shift 2
	setsid setpriv --reuid "$user" --regid "$user" --clear-groups "$@" \
		</dev/null >"$bed/log/$name.log" 2>&1 8>&- 9>&- &
	echo $! >"$(pidfile "$name")"
}

start() {
	pid "$1" >/dev/null && return 0
	rm -f "$(pidfile "$1")"
	case $1 in
	munged)
		rm -f "$bed"/munge/munge.sock*
		quiet setpriv --reuid munge --regid munge --clear-groups munged \
			--socket="$bed/munge/munge.sock" --key-file="$bed/munge/munge.key" \
			--pid-file="$bed/munge/munged.pid" --log-file="$bed/munge/munged.log" \
			--seed-file="$bed/munge/munged.seed" --num-threads=4
		within 240 in_time munge --socket="$bed/munge/munge.sock" -n || fail "munged does not answer"
		;;
	mariadbd)
		setsid mariadbd --no-defaults --user=mysql --datadir="$bed/sql/data" \
			--socket="$bed/sql/s.sock" --pid-file="$bed/sql/mariadbd.pid" \
			--bind-address=127.0.0.1 --port="$port_sql" --skip-name-resolve \
			--innodb-buffer-pool-size=128M --innodb-log-file-size=16M \
			--innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 \
			--innodb-doublewrite=0 --skip-log-bin --performance-schema=OFF \
			--max-allowed-packet=64M </dev/null >"$bed/log/mariadbd.log" 2>&1 8>&- 9>&- &
		within 240 in_time mariadb -uroot -S "$bed/sql/s.sock" -e 'select 1' || fail "mariadbd does not answer"
		;;
	slurmdbd)
		quiet slurmdbd || fail "slurmdbd does not start"
		within 240 in_time sacctmgr -n show cluster || fail "slurmdbd does not answer"
		;;
	slurmctld)
		quiet slurmctld || fail "slurmctld does not start"
		within 240 controller_up || fail "slurmctld does not answer"
		;;
	n[1-4])
		mkdir -p "$bed/spool/$1"
		[ -e "/proc/$(world)/ns" ] || make_world
		rm -f "$(inside "$1")"
		quiet in_world slurmd -N "$1" || fail "slurmd of $1 does not start"
		within 240 node_process "$1" || fail "slurmd of $1 has ended: see $bed/log/slurmd.$1.log"
		node_process "$1" >"$(pidfile "$1")"
		;;
	rest)
		# It wants a SLURM_JWT of its own, though every request brings one.
		spawn rest slurmrest env SLURM_JWT=daemon slurmrestd -a rest_auth/jwt "127.0.0.1:$port_rest"
		within 240 listens "$port_rest" || fail "slurmrestd does not listen"
		;;
	rest-unix)
		rm -f "$bed/rest/owner/sock"
		spawn rest-unix "$owner" slurmrestd -a rest_auth/local "unix:$bed/rest/owner/sock"
		within 240 test -S "$bed/rest/owner/sock" || fail "slurmrestd makes no socket"
		;;
	esac
}

# The nodes have process ids and a /proc of their own: for each job Slurm reads
# all of /proc many times, which took a twelfth of the CPU of a test run. The
# shell stays, as process 1, and has nothing to do with daemons' ends.
# shellcheck disable=SC2016 # the inner shell expands these
keep_world='mount -t proc proc /proc && : >"$0/pid/world.ready" && while :; do sleep 3600; done'
make_world() {
	rm -f "$bed/pid/world.ready"
	mount --make-shared / # as most machines have it: what tests mount is seen there
	setsid unshare --pid --mount --propagation slave --fork sh -c "$keep_world" "$bed" \
		</dev/null >"$bed/log/world.log" 2>&1 8>&- 9>&- &
	echo $! >"$bed/pid/world"
	within 240 test -e "$bed/pid/world.ready" || fail "the nodes have no /proc: see $bed/log/world.log"
}

# world prints the process whose children are in that world.
world() { process_of "$bed/pid/world" unshare || echo none; }
in_world() { nsenter --pid="/proc/$(world)/ns/pid_for_children" --mount="/proc/$(world)/ns/mnt" "$@"; }

# inside NODE is the file in which a slurmd has its number in that world.
inside() { echo "$bed/pid/slurmd.$1.inside"; }

# node_process NODE prints its slurmd's number outside of it.
node_process() {
	[ -s "$(inside "$1")" ] || return 1
	for p in $(pgrep -x slurmd); do
		grep -qsF "SLURM_CONF=$SLURM_CONF" "/proc/$p/environ" || continue
		grep -qs "^NSpid:.*[[:space:]]$(cat "$(inside "$1")")\$" "/proc/$p/status" && echo "$p" && return
	done
	return 1
}

# scontrol ping exits with 0 whatever it finds.
controller_up() { in_time scontrol ping | grep -q 'is UP'; }
listens() { grep -q ":$(printf '%04X' "$1") 00000000:0000 0A" /proc/net/tcp; }

# ---- up ---------------------------------------------------------------------

packages() {
	want="slurmctld slurmd slurm-client munge"
	if [ "$accounting" = 1 ]; then want="$want slurmdbd mariadb-server-core mariadb-client-core"; fi
	if [ "$rest" = 1 ]; then want="$want slurmrestd slurm-wlm-jwt-plugin"; fi
	# shellcheck disable=SC2086 # a list
	apt_install $want
}

account() { # account NAME [UID]
	id "$1" >/dev/null 2>&1 && return 0
	if [ -n "${2:-}" ]; then
		useradd -u "$2" -U -M -d "$base/home" -s /bin/sh "$1" 2>/dev/null || :
	else
		useradd -r -U -M -d /nonexistent -s /usr/sbin/nologin "$1" 2>/dev/null || :
	fi
	# Another bed may have made it at the same moment.
	within 240 id "$1" || fail "cannot make the account $1"
}

folders() {
	for d in etc log pid ctld spool munge sql rest rest/owner bin; do mkdir -p "$bed/$d"; done
	chmod 755 "$base" "$bed" "$bed"/*
	chown slurm: "$bed/log" "$bed/pid" "$bed/ctld"
	chown munge: "$bed/munge"
	chown slurmrest: "$bed/rest"
	chown "$owner": "$bed/rest/owner"
	if [ "$accounting" = 1 ]; then chown mysql: "$bed/sql"; fi
	mkdir -p "$base/home"
	chown "$owner": "$base/home"
	key "$bed/munge/munge.key" munge 128
	key "$bed/etc/jwt.key" slurm 32
}

key() { # key FILE USER BYTES
	[ -s "$1" ] || head -c "$3" /dev/urandom >"$1"
	chown "$2": "$1"
	chmod 400 "$1"
}

slurm_conf() {
	host=$(hostname -s)
	cat <<-CONF
		ClusterName=jjmtest
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=slurm
		SlurmdUser=root
		SlurmctldPort=$port
		CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
		AuthType=auth/munge
		AuthInfo=socket=$bed/munge/munge.sock
		CredType=cred/munge
		AuthAltTypes=auth/jwt
		AuthAltParameters=jwt_key=$bed/etc/jwt.key
		StateSaveLocation=$bed/ctld
		SlurmdSpoolDir=$bed/spool/%n
		SlurmctldPidFile=$bed/pid/slurmctld.pid
		SlurmdPidFile=$bed/pid/slurmd.%n.inside
		SlurmctldLogFile=$bed/log/slurmctld.log
		SlurmdLogFile=$bed/log/slurmd.%n.log
		SlurmctldDebug=info
		SlurmdDebug=info
		MailProg=/bin/true
		# No systemd, no MPI, no cgroups: an ordinary container will do. Without
		# cgroups Slurm has no OUT_OF_MEMORY.
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		SwitchType=switch/none
		JobAcctGatherType=jobacct_gather/linux
		JobAcctGatherFrequency=task=1
		JobAcctGatherParams=OverMemoryKill
		# The hardware is invented.
		SlurmdParameters=config_overrides
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU_Memory
		GresTypes=gpu
		# Quick rather than fair.
		SchedulerType=sched/backfill
		SchedulerParameters=sched_interval=5,sched_min_interval=0,batch_sched_delay=1,default_queue_depth=1000,partition_job_depth=0,bf_interval=5
		PriorityType=priority/basic
		MessageTimeout=${JJM_SLURM_TIMEOUT:-10}
		TCPTimeout=2
		SlurmdTimeout=10
		SlurmctldTimeout=30
		InactiveLimit=0
		KillWait=2
		CompleteWait=0
		EpilogMsgTime=0
		MinJobAge=$minjobage
		MaxJobCount=60000
		MaxArraySize=20001
		JobRequeue=1
		ReturnToService=2
		PropagateResourceLimits=NONE
		NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$port_slurmd1 CPUs=64 RealMemory=65536 TmpDisk=10000 Gres=gpu:2 State=UNKNOWN
		NodeName=n[2-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 2))-$port_slurmd3] CPUs=16 RealMemory=16384 TmpDisk=10000 State=UNKNOWN
		NodeName=n4     NodeHostname=$host NodeAddr=127.0.0.1 Port=$port_slurmd4 CPUs=16 RealMemory=16384 TmpDisk=10000 State=UNKNOWN
		PartitionName=short  Nodes=n1     MaxTime=01:00:00 DefaultTime=00:10:00 DefMemPerCPU=64 Default=YES
		PartitionName=long   Nodes=n1     MaxTime=7-00:00:00 DefaultTime=1-00:00:00 DefMemPerCPU=64
		PartitionName=two    Nodes=n2     MaxTime=01:00:00 DefaultTime=00:10:00 DefMemPerCPU=64
		PartitionName=three  Nodes=n3     MaxTime=01:00:00 DefaultTime=00:10:00 DefMemPerCPU=64
		PartitionName=four   Nodes=n4     MaxTime=01:00:00 DefaultTime=00:10:00 DefMemPerCPU=64
		PartitionName=all    Nodes=n[1-3] MaxTime=01:00:00 DefaultTime=00:10:00 DefMemPerCPU=64
		PartitionName=closed Nodes=n1     MaxTime=01:00:00 State=DOWN
		PartitionName=drain  Nodes=n1     MaxTime=01:00:00 State=DRAIN
	CONF
	if [ "$accounting" = 1 ]; then
		cat <<-CONF
			AccountingStorageType=accounting_storage/slurmdbd
			AccountingStorageHost=localhost
			AccountingStoragePort=$port_slurmdbd
			AccountingStoragePass=$bed/munge/munge.sock
			AccountingStorageEnforce=associations,limits,qos
		CONF
	else
		echo AccountingStorageType=accounting_storage/none
	fi
}

slurmdbd_conf() {
	cat <<-CONF
		DbdHost=localhost
		DbdAddr=127.0.0.1
		DbdPort=$port_slurmdbd
		CommunicationParameters=NoInAddrAny
		SlurmUser=slurm
		AuthType=auth/munge
		AuthInfo=socket=$bed/munge/munge.sock
		AuthAltTypes=auth/jwt
		AuthAltParameters=jwt_key=$bed/etc/jwt.key
		StorageType=accounting_storage/mysql
		StorageHost=127.0.0.1
		StoragePort=$port_sql
		StorageUser=slurm
		StoragePass=slurm
		StorageLoc=slurm_acct_db
		LogFile=$bed/log/slurmdbd.log
		PidFile=$bed/pid/slurmdbd.pid
		DebugLevel=info
		CommitDelay=1
	CONF
}

configuration() {
	slurm_conf | put "$bed/etc/slurm.conf"
	# A GPU is a file that exists.
	touch "$bed/etc/gpu1" "$bed/etc/gpu2"
	echo "NodeName=n1 Name=gpu File=$bed/etc/gpu[1-2]" | put "$bed/etc/gres.conf"
	# Read even where cgroups are not used.
	printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup | put "$bed/etc/cgroup.conf"
	if [ "$accounting" = 1 ]; then
		slurmdbd_conf | put "$bed/etc/slurmdbd.conf"
		chown slurm: "$bed/etc/slurmdbd.conf"
		chmod 600 "$bed/etc/slurmdbd.conf"
	fi
}

# commands makes the folder of commands: for root they act for the owner.
commands() {
	for c in sbatch squeue scancel scontrol sinfo sacct sacctmgr; do
		put "$bed/bin/$c" 755 <<-SHIM
			#!/bin/sh
			export SLURM_CONF=$SLURM_CONF
			if [ -O "\$0" ]; then
				exec setpriv --reuid $owner --regid $owner --clear-groups -- /usr/bin/$c "\$@"
			fi
			exec /usr/bin/$c "\$@"
		SHIM
	done
}

database() {
	if [ ! -e "$bed/sql/made" ]; then
		rm -rf "$bed/sql/data"
		mariadb-install-db --no-defaults --user=mysql --datadir="$bed/sql/data" --skip-test-db \
			--auth-root-authentication-method=normal --innodb-log-file-size=16M \
			</dev/null >"$bed/log/sql-install.log" 2>&1 8>&- 9>&- || fail "cannot make the database: see $bed/log/sql-install.log"
		touch "$bed/sql/made"
	fi
	start mariadbd
	mariadb -uroot -S "$bed/sql/s.sock" -e "
		create database if not exists slurm_acct_db;
		create user if not exists slurm@'127.0.0.1' identified by 'slurm';
		grant all on slurm_acct_db.* to slurm@'127.0.0.1';"
	start slurmdbd
	sacctmgr -n -P show cluster format=cluster | grep -qx jjmtest || sacctmgr -i -Q add cluster jjmtest >/dev/null
	sacctmgr -n -P show user "$owner" format=user | grep -qx "$owner" || {
		sacctmgr -i -Q add account grid Description=grid Organization=grid >/dev/null
		sacctmgr -i -Q add account atlas parent=grid Description=vo Organization=grid >/dev/null
		sacctmgr -i -Q add user "$owner" account=grid DefaultAccount=grid >/dev/null
		sacctmgr -i -Q add user "$owner" account=atlas >/dev/null
	}
	limits
}

# limits makes what tests of limits need: the QOS "ten" takes 10 jobs of a user, the account "eight"
# 8 jobs in all. Since limits are enforced, every account that submits is in accounting.
limits() {
	sacctmgr -n -P show qos ten format=name | grep -qx ten || {
		sacctmgr -i -Q add qos ten MaxSubmitJobsPerUser=10 >/dev/null
		sacctmgr -i -Q modify account grid set QOS+=ten >/dev/null
		sacctmgr -i -Q add account eight parent=grid GrpSubmitJobs=8 Description=few Organization=grid >/dev/null
		sacctmgr -i -Q add user "$owner" account=eight >/dev/null
	}
	for user in $(grid_users) bin daemon games man mail nobody sys; do
		sacctmgr -n -P show user "$user" format=user | grep -qx "$user" ||
			sacctmgr -i -Q add user "$user" account=grid DefaultAccount=grid >/dev/null
	done
	for user in $(grid_users); do # jobs of a gatekeeper may name this account
		sacctmgr -n -P show assoc where user="$user" account=atlas format=user | grep -qx "$user" ||
			sacctmgr -i -Q add user "$user" account=atlas >/dev/null
	done
}

# trouble prints what keeps jobs from running, a line each.
trouble() {
	[ -x "$bed/bin/sacctmgr" ] || { echo "not installed"; return; }
	down=0
	for d in $(daemons); do
		if ! p=$(pid "$d"); then
			echo "$d is down" && down=1
		elif frozen "$p"; then
			echo "$d is frozen" && down=1
		fi
	done
	[ $down = 0 ] || return 0
	controller_up || { echo "slurmctld does not answer"; return; }
	if [ "$accounting" = 1 ] && ! in_time sacctmgr -n -P show cluster format=cluster | grep -qx jjmtest; then
		echo "slurmdbd does not answer"
	fi
	bad_nodes | while read -r node state reason; do echo "node $node is $state ($reason)"; done
}

# bad_nodes prints the nodes that run no jobs: name, state, reason.
bad_nodes() { in_time sinfo -h -N -p all -o '%N %T %E' | grep -v -E '^[^ ]+ (idle|mixed|allocated|completing) '; }

well() { [ -z "$(trouble)" ]; }

up() {
	if alone slurm; then
		# A controller that was killed gives ids anew, which nodes may refuse.
		if [ ! -e "$bed/killed-slurmctld" ] && well && no_strays; then return 0; fi
		wipe
	elif within 60 well; then # they may be busy
		return 0
	fi
	packages
	account "$owner" 61001
	if [ "$accounting" = 1 ]; then make_grid_accounts "$base/home"; fi # Slurm looks up the uids of users when it starts
	account slurmrest
	if [ "$accounting" = 1 ]; then account mysql; fi
	folders
	configuration
	commands
	start munged
	if [ "$accounting" = 1 ]; then database; fi
	for d in slurmctld n1 n2 n3 n4; do start "$d"; done
	if [ "$rest" = 1 ]; then start rest && start rest-unix; fi
	if ! within 240 well; then
		trouble >&2
		fail "the bed is not well; see $bed/log"
	fi
}

# no_strays cancels every job. Nobody uses the bed: an earlier run left them.
no_strays() {
	[ -n "$(living_jobs '%u')" ] || return 0
	say "cancelling $(living_jobs '%A' | wc -l) jobs that an earlier run left"
	cancel_all
	within 45 no_jobs && well
}

living_jobs() { in_time squeue -h -o "$1" -t pending,configuring,running,suspended,completing,stopped; }
no_jobs() { [ -z "$(living_jobs '%A')" ]; }

cancel_all() {
	for user in $(living_jobs '%u' | sort -u); do
		in_time scancel --full -u "$user" >/dev/null 2>&1 || :
	done
}

# wipe ends everything and forgets it, however it was.
wipe() {
	end_below "$bed"
	unmount_below "$bed"
	rm -rf "$bed"
}

down() {
	if pid slurmctld >/dev/null; then
		# Else their processes stay behind.
		cancel_all
		within 45 no_jobs || :
	fi
	for d in rest-unix rest n1 n2 n3 n4 slurmctld slurmdbd mariadbd munged; do end TERM "$d"; done
	if p=$(pgrep -P "$(world)" 2>/dev/null); then kill -KILL "$p"; fi
	if [ "${1:-}" = --wipe ]; then wipe; fi
}

status() {
	for d in $(daemons); do
		if p=$(pid "$d"); then echo "$d up $p"; else echo "$d down"; fi
	done
	trouble=$(trouble)
	[ -z "$trouble" ] || { echo "$trouble" && return 1; }
	in_time sinfo || :
	in_time squeue || :
}

# ---- faults and what helps against them -------------------------------------

heal() {
	for d in $(daemons); do
		if p=$(pid "$d"); then kill -CONT "$p"; else start "$d"; fi
	done
	within 240 controller_up || fail "slurmctld does not answer"
	end_forgotten
	# Nodes tell anew what they run: slurmctld ends what they do not.
	scontrol reconfigure >/dev/null 2>&1 || :
	# A node that lost its connection comes back by itself.
	bad_nodes | while read -r node _ reason; do
		case $reason in Duplicate*) forget_ids "$node" ;; esac
		echo "resuming node $node ($reason)"
		scontrol update nodename="$node" state=resume >/dev/null 2>&1 || :
	done
	# JobHeldAdmin is what is left of a launch that failed.
	in_time squeue -h -r -t pending -o '%A %r' | while read -r job reason; do
		case $reason in *eld*dmin* | *launch*failed*) ;; *) continue ;; esac
		echo "releasing job $job ($reason)"
		scontrol release "$job" || :
	done
	within 240 well || { trouble >&2 && fail "cannot heal that"; }
}

# forget_ids makes a node accept ids that it has seen before.
forget_ids() {
	end TERM "$1"
	rm -f "$bed/spool/$1"/cred_state*
	start "$1"
}

# end_forgotten ends the jobs that nodes still run and the controller does not
# know as running. A controller that was killed gives their numbers to others,
# which such a node refuses: "Duplicate jobid".
end_forgotten() {
	known=$(in_time squeue -h -r -t running,suspended,completing,configuring -o '%A')
	steps | while read -r step job; do
		echo "$known" | grep -qx "$job" && continue
		echo "ending job $job, which slurmctld has forgotten"
		kill -STOP "$step" 2>/dev/null || continue
		for p in $(descendants "$step") "$step"; do
			kill -KILL "$p" 2>/dev/null || :
		done
	done
}

# descendants prints the processes below one: a job's may have sessions and
# groups of their own.
descendants() {
	for child in $(children "$1"); do
		echo "$child"
		descendants "$child"
	done
}

# steps prints the processes that hold this bed's running jobs, and their jobs.
steps() {
	for p in $(pgrep -x slurmstepd); do
		grep -qsF "SLURM_CONF=$SLURM_CONF" "/proc/$p/environ" || continue
		job=$(tr '\0' ' ' <"/proc/$p/cmdline" | sed -n 's/^slurmstepd: \[\([0-9]*\)[.].*/\1/p')
		[ -z "$job" ] || echo "$p $job"
	done
}

children() { pgrep -P "$1" || :; }

# forget makes slurmctld forget jobs so many seconds after their end.
forget() {
	minjobage=$1
	slurm_conf | put "$bed/etc/slurm.conf"
	within 240 in_time scontrol reconfigure || fail "slurmctld does not take another MinJobAge"
}

# empty_of_ended may meet slurmdbd in a deadlock, and is tried again then.
empty_of_ended() {
	mariadb -uroot -S "$bed/sql/s.sock" slurm_acct_db -e "delete from $1 where time_end != 0" >/dev/null 2>&1
}

lose_accounting() {
	[ "$accounting" = 1 ] || return 0
	for table in job step; do
		within 240 empty_of_ended "jjmtest_${table}_table" || fail "$table records cannot be deleted"
	done
}

history() {
	case $1 in
	lose) forget 2 && lose_accounting ;;
	keep) lose_accounting && forget "$minjobage" ;;
	esac
}

environment() {
	cat <<-ENV
		BIN=$bed/bin
		OWNER=$owner
		ENV_SLURM_CONF=$SLURM_CONF
		ETC=$bed/etc
		REST_TCP=http://127.0.0.1:$port_rest
		REST_UNIX=unix:$bed/rest/owner/sock
		REST_API=v0.0.38
	ENV
}

case ${1:-} in
up)
	[ "$(id -u)" = 0 ] || fail "up wants root"
	locked "$base/slurm.lock"
	up
	;;
down)
	locked "$base/slurm.lock"
	down "${2:-}"
	;;
status) status ;;
env) environment ;;
heal)
	locked "$base/slurm.lock"
	heal
	;;
lose | keep)
	[ "${2:-}" = history ] || fail "$1 what? history"
	history "$1"
	;;
freeze) kill -STOP "$(pid "${2:?which daemon}")" ;;
thaw) kill -CONT "$(pid "${2:?which daemon}")" ;;
kill)
	[ "${2:?which daemon}" != slurmctld ] || touch "$bed/killed-slurmctld"
	end KILL "$2"
	;;
stop) end TERM "${2:?which daemon}" ;;
start) start "${2:?which daemon}" ;;
*) fail "usage: slurm.sh up | down [--wipe] | status | env | heal | lose|keep history | freeze|thaw|kill|stop|start DAEMON" ;;
esac
