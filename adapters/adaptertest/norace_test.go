//go:build !race

package adaptertest

const raced = false
