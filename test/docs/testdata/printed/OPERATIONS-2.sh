# The cluster farm runs one at a time.
id=$(job mc "$row" '600 600 600' 'cluster = "farm"')
until_prints running jjm status $id.0
until_prints 3.of.3 jjm why $id
echo 17=$id
