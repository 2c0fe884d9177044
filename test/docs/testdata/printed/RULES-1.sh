id=$(job mc "$row" '0 0 0 1')
jjm wait $id || echo 17=$id
