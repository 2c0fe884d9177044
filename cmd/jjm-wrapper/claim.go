package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"jjm/internal/jjm"
)

// bootIDFile contains an id that the kernel makes anew at each boot of the machine (random(4)).
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// claim claims the attempt for this process, so that no other process runs it. own is the claim of this process. won is
// false if another process holds a claim; holder is that claim. The error means that the claim could not be written or
// read.
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

// bootID returns the id of this boot of the machine, or "" if it cannot be read. The id is only information for people.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
