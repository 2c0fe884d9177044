package state

// Choice is which clusters the local jobs of a grid job may go to.
type Choice struct {
	// Clusters meet the request, best first.
	Clusters []string
	// Notes are for people: why a candidate is not among Clusters, and what those cannot
	// do.
	Notes []string
}
