// Package lineage finds out who made a file and from what: the grid job that fills a
// dataset, the ancestors of its files, and which local jobs read the same parents. It
// reads the store and changes nothing.
package lineage

import (
	"jjm/internal/engine/floor/base"
)

// Lineage finds makers and ancestors of files in the store.
type Lineage struct{ b *base.Base }

// New returns a Lineage.
func New(b *base.Base) *Lineage { return &Lineage{b} }
