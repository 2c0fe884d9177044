id=$(job mc "$row" '0 1 1 1')
jjm wait $id || echo 17=$id
