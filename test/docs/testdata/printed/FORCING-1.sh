id=$(job mc "$row" '0 0 0 1 0 600')
until_prints failed jjm status $id.3
until_prints running jjm status $id.5
echo 17=$id
