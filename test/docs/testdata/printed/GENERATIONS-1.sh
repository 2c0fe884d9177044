# Three fail until the file mended is there.
id=$(job mc "test -e $PWD/mended || exit \$0" '0 1 1 1' 'outputs = ["*"]')
jjm wait $id || touch mended
echo 17=$id
