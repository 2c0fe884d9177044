package jjm

// Ending records how a past generation of a reopened grid job ended. Its fields are the fields of GridJob and Step at
// that time.
type Ending struct {
	Generation     int
	Status         GridStatus
	Kill           bool
	KillBy         string
	Reason         string
	Expected, Made int
	Counts         [NumStates]int
	Exit           int
	Usage          *Usage
	Causes         []Cause
	Proof          Proof
	Tar            string
	TarBytes       int64
	TarSHA256      string
	Ended          Time
	// Reopened is when the next generation began, By the person who requested it, and Why the reason.
	Reopened Time
	By, Why  string
}

// AtEnd returns the grid job in its state at the end of a past generation; false if there is no such generation.
func (g *GridJob) AtEnd(generation int) (GridJob, bool) {
	for i := range g.Endings {
		e := &g.Endings[i]
		if e.Generation != generation {
			continue
		}
		was := *g
		was.Generation, was.Endings = e.Generation, nil
		if i > 0 {
			was.Endings = g.Endings[:i]
		}
		was.Status, was.Kill, was.KillBy, was.Reason = e.Status, e.Kill, e.KillBy, e.Reason
		was.Step.Expected, was.Step.Made, was.Step.Closed = e.Expected, e.Made, true
		was.Counts, was.Exit, was.Usage, was.Causes, was.Proof = e.Counts, e.Exit, e.Usage, e.Causes, e.Proof
		was.Tar, was.TarBytes, was.TarSHA256, was.Ended = e.Tar, e.TarBytes, e.TarSHA256, e.Ended
		return was, true
	}
	return GridJob{}, false
}

// Told returns the grid job as gatekeepers see it: a reopened grid job as it was at the end of its first generation,
// any other grid job as it is.
func (g *GridJob) Told() GridJob {
	if was, past := g.AtEnd(1); past {
		return was
	}
	return *g
}

// LastTar returns the grid job as it was in the newest generation that has a tar; false if none has.
func (g *GridJob) LastTar() (GridJob, bool) {
	if g.Tar != "" {
		return *g, true
	}
	for i := len(g.Endings) - 1; i >= 0; i-- {
		if g.Endings[i].Tar != "" {
			return g.AtEnd(g.Endings[i].Generation)
		}
	}
	return GridJob{}, false
}
