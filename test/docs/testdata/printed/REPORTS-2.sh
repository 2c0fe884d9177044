echo 17=$(job mc "$row" 0)
