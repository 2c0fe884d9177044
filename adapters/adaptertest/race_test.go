//go:build race

package adaptertest

// raced is set where the race detector makes everything dearer.
const raced = true
