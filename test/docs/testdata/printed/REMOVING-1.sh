one=$(job one "$row" 0)
two=$(jjm submit --key two one.toml)
jjm wait $one $two
echo 17=$one
echo 18=$two
echo $one >id
