package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"jjm"
)

// bootIDFile tells one boot of a machine from the next (random(4)).
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// claim takes the attempt for this process, or learns who has it.
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

// bootID is "" where the kernel does not tell: it only helps people.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
