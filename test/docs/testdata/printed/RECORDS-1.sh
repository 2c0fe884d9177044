cat >slurm.toml <<'EOF'
type = "montecarlo"
name = "zmumu"
result = "exit"
cluster = "slurm"
[params]
command = ["false", "{first_event}"]
events = 250
[retry]
on_exit = [99]
EOF
id=$(jjm submit slurm.toml)
jjm wait $id || :
