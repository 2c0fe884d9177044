jjm kill --yes --user $(id -un)
id=$(job mc "$row" '600 600 600' 'cluster = "farm"')
until_prints running jjm status $id.0
echo $id >id
echo 17=$id
