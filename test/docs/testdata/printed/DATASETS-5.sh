jjm dataset add made day1.jsonl --container both
jjm dataset close made
cat >all.toml <<'EOF'
type = "reprocess"
name = "all"
result = "exit"
[[datasets]]
name = "all"
container = "both"
[params]
command = ["true", "{file}"]
EOF
id=$(jjm submit all.toml)
jjm wait $id
jjm remove $id
until_prints ' removed: work area' jjm log $id
