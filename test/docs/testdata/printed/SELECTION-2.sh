id=$(job night "$row" '0 0 0 600 600 600')
other=$(job day "$row" 600)
failed=$(job mc "$row" '0 130 130')
held=$(job farm "$row" '600 600 600 600 600' 'cluster = "farm"')
jjm wait $failed || jjm hold $held --reason 'disk 7 is full'
for i in 2 3 4; do until_prints operator-hold jjm status $held.$i; done
until_prints running jjm status $id.5
until_prints running jjm status $other.0
echo node7=$(hostname)
echo alice=$(id -un)
