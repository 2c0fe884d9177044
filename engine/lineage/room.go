// Package lineage tells who made which file of what: local jobs, their parents, and
// how those who read these ended.
package lineage

import (
	"jjm/engine/base"
)

// Lineage reads that from the store.
type Lineage struct{ b *base.Base }

// New returns one.
func New(b *base.Base) *Lineage { return &Lineage{b} }
