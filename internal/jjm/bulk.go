package jjm

import (
	"crypto/rand"
	"fmt"
)

// Tag is the name of a bulk: a letter, then letters and digits of [a-z0-9], at most MaxTag characters in all. It has no
// meaning for people. The batch system keeps the tag with each job of the bulk. If a submission command crashed or its
// answer was lost, jjm finds the bulk by its tag.
type Tag string

// MaxTag is the greatest length of a tag: the limit of a job name in OpenPBS and in POSIX qsub.
const MaxTag = 15

// tagLetters has 32 letters: five bits of a random byte choose a letter without bias.
const tagLetters = "abcdefghijklmnopqrstuvwxyz234567"

// NewTag returns a new tag: "j", the store's nonce (4 characters), and 10 random characters (50 bits). The nonce
// prevents two stores at one site, or a store and its restored backup, from adopting each other's jobs.
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

// BulkState is the progress of a bulk. The states are in order.
type BulkState uint8

// The states of a bulk.
const (
	BulkIntent   BulkState = iota // the members are stored and the assignment file is written; the command may have run
	BulkAccepted                  // the batch system's ids are stored
	BulkReleased                  // the jobs may run; the same as accepted unless the cluster submits in two phases
	BulkRefused                   // the batch system does not have the bulk and will not get it
	BulkClosed                    // every member's attempt has ended
)

var bulkWords = [...]string{"intent", "accepted", "released", "refused", "closed"}

func (s BulkState) String() string { return word(bulkWords[:], int(s)) }

// Bulk is the group of attempts that one command submits: a job array, an HTCondor cluster of procs,
// or one entry in the spool of the embedded batch system. Members[i] is the attempt at
// index i of the batch system's array.
type Bulk struct {
	Tag     Tag         `json:"tag"`
	Cluster string      `json:"cluster"`
	Owner   Owner       `json:"owner"`
	Request Request     `json:"request"`
	State   BulkState   `json:"state"`
	Members []AttemptID `json:"-"`
	// ID is the batch system's id of the whole bulk, "" until it is accepted.
	ID      string `json:"id,omitempty"`
	Created Time   `json:"created"`
	Settled Time   `json:"settled,omitempty"`
	// Tries counts how often the command was run for this bulk.
	Tries int `json:"tries"`
	// Error is the last error of the command, for people.
	Error string `json:"error,omitempty"`
}
