id=$(cat id)
for i in 1 2; do until_prints operator-hold jjm status $id.$i; done
echo 17=$id
