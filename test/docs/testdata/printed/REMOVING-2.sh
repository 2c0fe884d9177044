id=$(cat id)
until_prints ' removed: work area' jjm log $id
echo 17=$id
