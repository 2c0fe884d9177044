//go:build race

package local_test

// raced is set where the race detector makes everything dearer.
const raced = true
