# job NAME COMMAND ROWS [KEYS] submits a grid job with a local job for each of the rows, and prints its id. A failed
# attempt is not tried again.
job() {
	printf 'type = "script"\nname = "%s"\n%s\n[params]\ncommand = ["sh", "-c", %s]\nargs = [%s]\n[retry]\non_exit = [99]\n' \
		"$1" "${4-}" "'''$2'''" "$(printf '["%s"],' $3)" >"$1.toml"
	jjm submit "$1.toml"
}
# until_prints TEXT COMMAND... waits until the command prints the text.
until_prints() {
	text=$1
	shift
	until "$@" 2>&1 | grep -q -- "$text"; do :; done
}
# rows that exit with their number, and sleep while the row is 600
row='test $0 = 600 && exec sleep 600; exit $0'
