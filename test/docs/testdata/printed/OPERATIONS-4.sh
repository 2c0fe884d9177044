jjm kill --yes --user $(id -un)
id=$(job mc "$row" '600 0 0 1 0 0')
for i in 3 4 5; do until_prints 'completed\|failed' jjm status $id.$i; done
echo 17=$id
