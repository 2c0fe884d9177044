package jjm

import (
	"crypto/rand"
	"fmt"
)

// Tag is the name of a bulk, opaque to people: at most 15 of [a-z0-9], a
// letter first. It finds the bulk again in a batch system whatever became of
// the command that submitted it. (15 is the limit of a job name in OpenPBS and
// in POSIX qsub.)
type Tag string

// MaxTag is the longest tag.
const MaxTag = 15

const tagLetters = "abcdefghijklmnopqrstuvwxyz234567"

// NewTag makes a fresh tag: "j", the store's nonce (4 characters), and 10
// random characters (50 bits), so that two stores at one site, or one store
// restored from a backup, do not adopt each other's jobs.
func NewTag(nonce string) (Tag, error) {
	if len(nonce) != 4 {
		return "", Errorf(Internal, "store nonce %q: want 4 characters", nonce)
	}
	b := make([]byte, 10)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("new tag: %w", err)
	}
	for i := range b {
		b[i] = tagLetters[b[i]&31]
	}
	return Tag("j" + nonce + string(b)), nil
}

// Valid reports whether t has the form of a tag.
func (t Tag) Valid() bool {
	if len(t) == 0 || len(t) > MaxTag || t[0] < 'a' || t[0] > 'z' {
		return false
	}
	for i := 1; i < len(t); i++ {
		if c := t[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// BulkState is how far one act of submission has come.
type BulkState uint8

// The states of a bulk.
const (
	BulkIntent   BulkState = iota // members and assignment stored; the command may have run
	BulkAccepted                  // the batch system's ids are stored
	BulkReleased                  // its jobs may run (equal to accepted unless two-phase)
	BulkRefused                   // the batch system surely does not have it and will not
	BulkClosed                    // every member's attempt has ended
)

var bulkWords = [...]string{"intent", "accepted", "released", "refused", "closed"}

func (s BulkState) String() string { return word(bulkWords[:], int(s)) }

// Bulk is one act of submission: an array, a cluster of procs, one spool
// entry. Position i of Members is the index in the batch system.
type Bulk struct {
	Tag     Tag         `json:"tag"`
	Cluster string      `json:"cluster"`
	Owner   Owner       `json:"owner"`
	Request Request     `json:"request"`
	State   BulkState   `json:"state"`
	Members []AttemptID `json:"-"`
	// ID is the batch system's id of the whole bulk, and of its members where
	// Refs is empty: ID plus index.
	ID      string `json:"id,omitempty"`
	Created Time   `json:"created"`
	Settled Time   `json:"settled,omitempty"`
	// Tries counts how often the command was run for this bulk.
	Tries int `json:"tries"`
	// Error is the last error of the command, for people.
	Error string `json:"error,omitempty"`
}
