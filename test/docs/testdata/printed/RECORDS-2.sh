id=$(printf 'type = "script"\nname = "zmumu"\noutputs = ["histogram.txt"]\n[params]\ncommand = ["sh","-c","echo x >histogram.txt"]\ncount = 4\n' >zmumu.toml; jjm submit zmumu.toml)
jjm wait $id
echo 17=$id
