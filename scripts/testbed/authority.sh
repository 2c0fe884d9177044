# shellcheck shell=sh
# What the gatekeepers' beds share: a throwaway certificate authority with two
# users, and the network namespace that each bed lives in. Sourced by gram.sh and
# arc.sh after common.sh, which makes their accounts. The authority is one for both: it lies in
# $JJM_TESTBED/authority.
#
# Nothing of it is trusted by anything else on the machine: no file outside the
# beds' folder is touched, and the keys are good for 30 days.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C.UTF-8
umask 022

base=${JJM_TESTBED:-/var/lib/jjm-testbed}
authority=$base/authority
users=$(grid_users)
certificates=$authority/certificates # X509_CERT_DIR
host_cert=$authority/host/cert.pem
host_key=$authority/host/key.pem

# name_of ACCOUNT is the subject of an account's certificate.
name_of() { echo "/O=Grid/OU=jjm-testbed/CN=$1"; }

# proxy_of ACCOUNT is the file of its proxy. small_proxy_of is one with a key of
# 1024 bits, for many jobs: a Globus gatekeeper makes a key as long as the client's
# for each, and 2048 bits take it 300 ms. OpenSSL takes such keys with weak_keys
# only, which the scripts of Globus that move files do not get.
proxy_of() { echo "$authority/users/$1/proxy.pem"; }
small_proxy_of() { echo "$authority/users/$1/small.pem"; }
weak_keys=$authority/openssl.cnf # OPENSSL_CONF

# make_authority makes the authority and the host's certificate, unless they are
# there and good for two days.
make_authority() {
	mkdir -p "$authority/users"
	chmod 755 "$authority" "$authority/users"
	exec 5>"$authority/lock"
	flock 5
	printf '%s\n' openssl_conf=all '[all]' ssl_conf=ssl '[ssl]' system_default=default '[default]' CipherString=DEFAULT@SECLEVEL=1 |
		put "$weak_keys"
	if ! good_for 172800 "$authority/ca/cert.pem" || ! good_for 172800 "$host_cert"; then
		rm -rf "$authority/ca" "$authority/host" "$certificates" "$authority"/users/*
		make_ca || return 1
		mkdir -p "$authority/host"
		sign "$host_key" "$host_cert" "$(name_of localhost)" "serverAuth,clientAuth" \
			"subjectAltName=DNS:localhost,DNS:$(hostname),IP:127.0.0.1" || return 1
	fi
	exec 5>&-
}

make_ca() {
	mkdir -p "$authority/ca" "$certificates"
	chmod 700 "$authority/ca"
	openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 30 -subj "$(name_of authority)" \
		-keyout "$authority/ca/key.pem" -out "$authority/ca/cert.pem" \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null || return 1
	hash=$(openssl x509 -in "$authority/ca/cert.pem" -noout -hash) || return 1
	cp "$authority/ca/cert.pem" "$certificates/$hash.0"
	# What the authority may sign, in the language of GSI.
	cat >"$certificates/$hash.signing_policy" <<-POLICY
		access_id_CA X509 '$(name_of authority)'
		pos_rights globus CA:sign
		cond_subjects globus '"/O=Grid/OU=jjm-testbed/*"'
	POLICY
	chmod 644 "$certificates"/*
}

# sign KEY CERT SUBJECT USAGE [EXTENSION] makes a key and its certificate.
sign() {
	printf '%s\n' basicConstraints=CA:FALSE keyUsage=critical,digitalSignature,keyEncipherment \
		"extendedKeyUsage=$4" "${5:-}" >"$authority/ca/extensions"
	openssl req -new -newkey rsa:2048 -nodes -sha256 -subj "$3" -keyout "$1.new" -out "$authority/ca/request" 2>/dev/null &&
		openssl x509 -req -in "$authority/ca/request" -CA "$authority/ca/cert.pem" -CAkey "$authority/ca/key.pem" \
			-CAcreateserial -sha256 -days 30 -extfile "$authority/ca/extensions" -out "$2" 2>/dev/null || return 1
	chmod 400 "$1.new" && mv "$1.new" "$1" && chmod 644 "$2"
}

# good_for SECONDS FILE reports whether a certificate is there and lasts.
good_for() { openssl x509 -noout -checkend "$1" -in "$2" >/dev/null 2>&1; }

# make_identity ACCOUNT makes a certificate and two proxies of 24 h, unless they
# are there and good for some hours.
make_identity() {
	mine=$authority/users/$1
	good_for 21600 "$mine/small.pem" && [ "$(stat -c %U "$mine/small.pem")" = "$1" ] && return 0
	exec 5>"$authority/lock"
	flock 5
	mkdir -p "$mine"
	good_for 172800 "$mine/cert.pem" || sign "$mine/key.pem" "$mine/cert.pem" "$(name_of "$1")" clientAuth || return 1
	exec 5>&-
	chown -R "$1": "$mine"
	chmod 700 "$mine"
	make_proxy "$1" proxy.pem 2048 && make_proxy "$1" small.pem 1024
}

# make_proxy ACCOUNT FILE BITS
make_proxy() {
	OPENSSL_CONF=$weak_keys X509_CERT_DIR=$certificates setpriv --reuid "$1" --regid "$1" --init-groups \
		grid-proxy-init -q -valid 24:00 -bits "$3" -cert "$mine/cert.pem" -key "$mine/key.pem" -out "$mine/$2" </dev/null >/dev/null
}

# make_users makes the authority, the users' accounts and their proxies.
make_users() {
	make_authority || fail "cannot make the certificate authority in $authority"
	make_grid_accounts "$base/home"
	for user in $users; do make_identity "$user" || fail "cannot make a proxy of $user"; done
}

# net_of NAME is the network namespace of a bed. Beds in a folder of their own have
# one of their own.
net_of() {
	case $base in
	/var/lib/jjm-testbed) echo "jjm-$1" ;;
	*) echo "jjm-$1-$(echo "$base" | cksum | cut -d' ' -f1)" ;;
	esac
}

# ---- the network namespace ---------------------------------------------------

# make_net NAME makes a network namespace with nothing but a loopback interface:
# what listens in it is reached from nowhere else.
make_net() {
	[ -e "/run/netns/$1" ] || ip netns add "$1"
	ip -n "$1" link set lo up
}

# in_net NAME COMMAND...
in_net() {
	net=$1
	shift
	nsenter --net="/run/netns/$net" "$@"
}

# remove_net NAME ends what lives in the namespace, and the namespace.
remove_net() {
	empty_net "$1"
	[ ! -e "/run/netns/$1" ] || ip netns del "$1"
}

# listens NAME PORT succeeds if something listens on a TCP port there.
listens() { in_net "$1" grep -q ":$(printf '%04X' "$2") [0:]* 0A" /proc/net/tcp /proc/net/tcp6; }

# empty_net NAME [PID...] ends every process in the namespace but those named:
# only the bed and who came to it live there. Each is looked at again at the
# moment it is killed: process ids are soon another's where much runs.
empty_net() {
	[ -e "/run/netns/$1" ] || return 0
	space=$(stat -L -c %i "/run/netns/$1") tries=0
	shift
	while :; do
		left=""
		for p in $(living_in "$space"); do
			case " $* " in *" $p "*) continue ;; esac
			left="$left $p"
			signal=TERM
			[ $tries -lt 10 ] || signal=KILL
			[ "$(readlink "/proc/$p/ns/net")" != "net:[$space]" ] || kill -$signal "$p" 2>/dev/null || :
		done
		[ -n "$left" ] || return 0
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { say "processes$left do not end"; return 1; }
		sleep 0.05
	done
}

# strays NAME ends the daemons of jjm that a killed run has left in a gatekeeper's bed, if no test uses the bed. They
# are outside its network namespace, and would keep the state folder of the next run.
strays() {
	if alone "$1"; then end_below "$base/$1/jjm"; fi
}

# living_in INODE prints the processes in a namespace. A zombie is in none.
living_in() { find /proc/[0-9]*/ns/net -prune -lname "net:\\[$1\\]" 2>/dev/null | cut -d/ -f3; }

# ---- what tests need -----------------------------------------------------------

# common_environment NET BED prints what tests need of either bed.
common_environment() {
	cat <<-ENV
		OWNER=jjmgrid1
		OTHER=jjmgrid2
		NET=/run/netns/$1
		JJM=$2/jjm
		LOG=$2/log
		ENV_X509_CERT_DIR=$certificates
		PROXY=$(proxy_of jjmgrid1)
		OTHER_PROXY=$(proxy_of jjmgrid2)
	ENV
}
