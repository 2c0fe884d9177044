package main

// testsCluster reports whether a command line is "clusters test", which the
// daemon's program runs: it has the adapters.
func testsCluster(args []string) bool {
	return len(args) > 1 && args[0] == "clusters" && args[1] == "test"
}
