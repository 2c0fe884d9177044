package state

// Choice is the answer to the question which clusters the local jobs of a grid job may use.
type Choice struct {
	// Clusters are the clusters that can meet the grid job's request, best first.
	Clusters []string
	// Notes are texts for people. They say why a cluster that the job file names is not in Clusters, and what does not
	// work on some of the Clusters.
	Notes []string
}
