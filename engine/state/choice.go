package state

// Choice is where the local jobs of a grid job may go.
type Choice struct {
	// Clusters meet the request, best first.
	Clusters []string
	// Notes tell what people should know of it: why a candidate is not among them,
	// and what the chosen ones cannot do.
	Notes []string
}
