#!/bin/sh
# A second pool of HTCondor, of the programs of the first one, for tests that
# disturb the pool they use: the others need not wait for them. Its verbs are
# those of condor.sh.
JJM_CONDOR_POOL=condor2
JJM_CONDOR_PORT=${JJM_CONDOR2_PORT:-19619}
export JJM_CONDOR_POOL JJM_CONDOR_PORT
exec "$(dirname "$0")/condor.sh" "$@"
