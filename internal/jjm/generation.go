package jjm

// Ending is how a generation of a grid job ended that is past, because the grid job was
// reopened. Its fields are those of GridJob, and of Step, at that time.
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
	// Reopened is when the next generation began; By says who wished it and Why what for.
	Reopened Time
	By, Why  string
}

// AtEnd returns a grid job as it was at the end of a generation that is past; false if there
// is none.
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

// Told returns a grid job as gatekeepers are told it: once its first generation is over, as
// it was then, whatever became of it later.
func (g *GridJob) Told() GridJob {
	if was, past := g.AtEnd(1); past {
		return was
	}
	return *g
}

// LastTar returns the grid job as it was when its newest tar was made; false if it has none.
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
