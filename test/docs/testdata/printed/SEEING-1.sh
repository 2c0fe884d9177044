echo '{"lfn":"/store/mc/zmumu.0042.root"}' >files.jsonl
cat >reco.toml <<'EOF'
type = "reprocess"
name = "reco"
result = "exit"
[[datasets]]
name = "seen"
from = "files.jsonl"
[[inputs]]
path = "files.jsonl"
[params]
command = ["sh", "-c", "exec sleep 600", "{file}"]
EOF
id=$(jjm submit reco.toml)
until_prints running jjm status $id.0
echo node7=$(hostname)
echo 4711_3=$(jjm status $id.0 --json | jq -r .locals[0].batch_id)
