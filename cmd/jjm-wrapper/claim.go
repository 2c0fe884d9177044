package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"jjm/internal/jjm"
)

// bootIDFile has an id that is new at each boot of the machine (random(4)).
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// claim claims the attempt for this process. won is false if another holder has the claim.
func (a *attempt) claim() (own, holder jjm.Claim, won bool, err error) {
	host, err := os.Hostname()
	if err != nil {
		return own, holder, false, fmt.Errorf("claim the attempt: %w", err)
	}
	own = jjm.Claim{
		Holder: jjm.HolderWrapper, Batch: a.at.batch, Restarts: a.at.restarts,
		Host: host, BootID: bootID(), PID: os.Getpid(), Nonce: rand.Text(), Time: jjm.At(now()),
	}
	holder, won, err = a.area.Claim(a.at.tag, a.at.pos, own)
	return own, holder, won, err
}

// bootID returns the id of this boot, "" if the kernel has no such id. The id is only information for people.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
