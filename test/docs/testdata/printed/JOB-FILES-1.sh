for i in 1 2 3 4; do echo "{\"lfn\":\"$i\"}"; done >a.jsonl
for name in raw.2026a raw.2026b; do
	jjm dataset add $name a.jsonl
	jjm dataset close $name
done
cat >reco.toml <<'EOF'
type = "montecarlo"
name = "reco"
result = "exit"
[request]
walltime = "10m"
[[datasets]]
name = "raw.2026a"
secondary = true
[params]
command = ["true", "{first_event}"]
events = 1000
events_per_job = 250
EOF
id=$(jjm submit reco.toml)
jjm wait $id
echo 17=$id
