package main

import (
	"math"
	"slices"
)

// quantile returns the smallest value that a share q of the values does not exceed, 0 if there are none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func median(values []float64) float64 { return quantile(values, 0.5) }
