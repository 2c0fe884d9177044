// Package lineage finds the makers and the sources of files: the grid job that fills a dataset, the ancestors of its
// files, and the local jobs that read the same parents. It reads the store and changes nothing.
package lineage

import (
	"jjm/internal/engine/floor/base"
)

// Lineage finds makers and ancestors of files in the store.
type Lineage struct{ b *base.Base }

// New returns a Lineage.
func New(b *base.Base) *Lineage { return &Lineage{b} }
