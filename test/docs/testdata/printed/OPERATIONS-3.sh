jjm kill --yes --user $(id -un)
id=$(job mc '"$GBS_LOG" HOLD look' '0 0 0 0 0')
until_prints held jjm status $id.3
until_prints held jjm status $id.4
echo 17=$id
