#!/bin/sh
# blahpd runs this as the owner of the job; docs/GATEKEEPERS.md.
here=${0%/*}
[ "$here" != "$0" ] || here=.
for program in "$here/jjm-gatekeeper" /usr/libexec/jjm/jjm-gatekeeper /usr/local/libexec/jjm/jjm-gatekeeper "$here/../../bin/jjm-gatekeeper"; do
	[ ! -x "$program" ] || exec "$program" blahp resume "$@"
done
echo "jjm_resume.sh: jjm-gatekeeper is neither beside $0 nor in libexec/jjm" >&2
exit 1
