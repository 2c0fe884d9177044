package wire

// HostFigures are figures about the attempts of a grid job on one host. Killed attempts count as neither ended nor
// failed.
type HostFigures struct {
	Host    string `json:"host"`
	Running int    `json:"running,omitempty"` // attempts that run now
	Ended   int    `json:"ended,omitempty"`
	Failed  int    `json:"failed,omitempty"` // of Ended
	// MeanWallMS and MeanCPUMS are the mean elapsed time and processor time of an ended attempt, in milliseconds. The
	// mean of the processor time is over the attempts whose processor time is known, 0 if none is known.
	MeanWallMS int64 `json:"mean_wall_ms,omitempty"`
	MeanCPUMS  int64 `json:"mean_cpu_ms,omitempty"`
	// Odd is, for people, how the host differs from the other hosts, "" if it does not.
	Odd string `json:"odd,omitempty"`
}
