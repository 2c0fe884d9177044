cat >reco.toml <<'EOF'
type = "montecarlo"
name = "reco"
result = "exit"
outputs = ["out.root"]
[params]
command = ["sh", "-c", "echo $0 >out.root", "{first_event}"]
events = 1000
events_per_job = 250
EOF
id=$(jjm submit reco.toml)
jjm wait $id
echo 17=$id
