package state

// Choice holds the clusters that the local jobs of a grid job may go to.
type Choice struct {
	// Clusters meet the request, best first.
	Clusters []string
	// Notes are texts for people: why a candidate is not among Clusters, and the limits of the
	// Clusters.
	Notes []string
}
