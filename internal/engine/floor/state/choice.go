package state

// Choice lists the clusters that the local jobs of a grid job may use.
type Choice struct {
	// Clusters meet the request, best first.
	Clusters []string
	// Notes are texts for people: why a candidate is not among Clusters, and the limits of the
	// Clusters.
	Notes []string
}
