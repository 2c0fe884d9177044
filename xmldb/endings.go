package xmldb

import (
	"strconv"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/internal/xmltext"
)

// endings writes the ends of the past generations of a grid job, if there are any, up to the limit of the list. It
// never leaves out the first end, because gatekeepers receive that end.
func (e *encoder) endings(all []head.Ending) {
	if len(all) == 0 && e.x.get("endings") == nil {
		return
	}
	e.raw("\n  <endings")
	kept := all[:min(len(all), e.lim.list)]
	e.startDone("endings", len(kept) < len(all))
	for i := range kept {
		e.ending(&kept[i])
	}
	e.end("endings", "endings", "\n    ")
}

func (e *encoder) ending(g *head.Ending) {
	path, cut := kidPath("endings", "ending", strconv.Itoa(g.Generation)), false
	e.raw("\n    <ending")
	e.int("generation", int64(g.Generation))
	e.must("status", g.Status.String(), &cut)
	e.int("gram", int64(g.GRAM))
	e.count("code", g.GRAMCode)
	e.must("master", g.Master, &cut)
	e.int("exit", int64(g.Exit))
	e.int("expected", int64(g.Expected))
	e.int("jobs", int64(g.Jobs))
	for _, s := range [...]jjm.State{jjm.Completed, jjm.Failed, jjm.Killed, jjm.CompletedFrozen, jjm.FailedFrozen} {
		e.count(s.String(), g.Counts[s])
	}
	e.b = xmltext.Flag(e.b, "kill", g.Kill)
	e.opt("killedBy", g.KillBy, &cut)
	e.b = xmltext.OptAttr(e.b, "tar", g.TarPath)
	e.b = xmltext.OptAttr(e.b, "name", g.Tar)
	if g.TarBytes != 0 {
		e.int("bytes", g.TarBytes)
	}
	e.opt("sha256", g.TarSHA256, &cut)
	e.time("ended", g.Ended)
	e.time("reopened", g.Reopened)
	e.opt("by", g.By, &cut)
	e.opt("why", g.Why, &cut)
	e.startDone(path, cut)
	e.raw("<message")
	e.leaf(path+"/message", "message", g.Message, false)
	e.raw("<usage")
	e.usage(path+"/usage", g.Usage)
	e.end(path, "ending", "")
}
