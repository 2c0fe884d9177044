#!/bin/sh
# jjm's main job, for real, on this machine and as this user: starts a daemon
# with the embedded batch system in a folder of its own, submits a Monte-Carlo
# grid job, shows its progress, and checks that the merged outputs of its local
# jobs are, byte for byte, those of one unsplit run. It leaves the folder for
# you to look at. DEMO_CONFIG names a configuration with another batch system.
set -eu
cd "$(dirname "$0")/.."

demo="${DEMO_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/jjm-demo.XXXXXX")}"
export JJM_STATE="$demo/state"
unset JJM_SOCKET JJM_CONFIG
[ -z "${DEMO_CONFIG:-}" ] || export JJM_CONFIG="$DEMO_CONFIG"
jjm=${DEMO_BIN:-bin}/jjm
job=etc/examples/montecarlo.toml
events=$(sed -n 's/^events = //p' $job)

say() { printf '\n== %s\n' "$*"; }

mkdir -p "$demo"
say "starting the daemon: $jjm serve (state: $JJM_STATE)"
$jjm serve >"$demo/daemon.log" 2>&1 &
daemon=$!
# The daemon stops at the end; local jobs, had they still run, would go on.
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null || :' EXIT
tries=0
until $jjm version >/dev/null 2>&1 && $jjm clusters >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 $daemon 2>/dev/null; then
		echo "the daemon does not answer; its log:" >&2
		cat "$demo/daemon.log" >&2
		exit 1
	fi
	sleep 0.1
done
$jjm clusters

say "what would be done: $jjm submit --dry-run $job"
$jjm submit --dry-run $job

say "the grid job: $jjm submit --key demo $job"
id=$($jjm submit --key demo $job)
echo "$id"

say "its progress: $jjm wait $id"
$jjm wait "$id"

say "its status: $jjm status $id"
$jjm status "$id"

say "the record: $jjm record $id --path \"//localjob[@id='$id.3']\""
$jjm record "$id" --path "//localjob[@id='$id.3']"

say "the tar of all outputs: $jjm output $id"
$jjm output "$id" -o "$demo/output.tar"
mkdir "$demo/output"
tar -xf "$demo/output.tar" -C "$demo/output"
echo "$(find "$demo/output" -type f | wc -l | tr -d ' ') files, $(wc -c <"$demo/output.tar" | tr -d ' ') bytes"

say "merging the outputs and comparing with one unsplit run"
mkdir "$demo/unsplit"
examples=$PWD/etc/examples
(cd "$demo/unsplit" && sh "$examples/mc.sh" 1 "$events")
sh "$examples/merge.sh" -o "$demo/merged" "$demo/output"
sh "$examples/merge.sh" -o "$demo/expected" "$demo/unsplit"
diff -r "$demo/expected" "$demo/merged"
wc -l "$demo"/merged/*
echo "the same, byte for byte: 20 local jobs and one run of $events events"

say "done. Record, tar, logs: $demo"
