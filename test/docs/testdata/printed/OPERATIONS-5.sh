# One of two local jobs of 10 events fails.
cat >resplit.toml <<'END'
type = "reprocess"
result = "glf"
[[datasets]]
name = "resplit"
files = [{lfn = "/data/a.dat", events = 20}]
[split]
by = "EventBased"
params = {events_per_job = 10}
[params]
command = ["sh", "-c", """test $1$2 = 1010 && exec "$GBS_LOG" FAILED too many events
exec "$GBS_LOG" SUCCEEDED -""", "sh", "{first_event}", "{events}"]
END
id=$(jjm submit resplit.toml)
jjm wait $id || true
echo 17=$id
