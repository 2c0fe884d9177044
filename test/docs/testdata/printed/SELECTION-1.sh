id=$(job mc "$row" '0 0 0 0 130 130 0 0')
jjm wait $id || echo 17=$id
