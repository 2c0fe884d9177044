# The token of the page belongs to this account.
echo "$(id -un) 5f0c6a58d0f3a5b6c1f4f2f18c2f9d0e6a7b3c4d5e6f708192a3b4c5d6e7f809" >"$HOME/web.tokens"
echo 17=$(job watched "$row" 0)
echo 9138=$(cat "$HOME/web.port")
