package xmldb

import (
	"strconv"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/internal/xmltext"
)

// SchemaVersion is the version of docs/record.xsd that records follow. The number before
// the point changes when readers have to change.
const SchemaVersion = "1.1"

const prologue = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// limits are the largest sizes of texts and lists in a record.
type limits struct {
	text   int // largest number of bytes of one text or attribute
	list   int // largest number of entries of why, phases and cluster jobs
	shards int
	args   int // largest number of bytes of a part's arguments
}

// headLimits returns limits for a head, from large to small. They are tried in this order until the head fits into its
// maximum size.
func headLimits() []limits {
	return []limits{
		{text: 8 << 10, list: 500, shards: 400},
		{text: 1 << 10, list: 50, shards: 200},
		{text: 128, list: 10, shards: 0},
	}
}

// shardLimits returns the limits for a local job. With these limits no owner can fill the disk with one long message.
func shardLimits() limits { return limits{text: 4 << 10, args: 16 << 10} }

// encoder appends a document to b. Some of its methods take the path of an element; x holds the foreign content of the
// element under this path.
type encoder struct {
	b   []byte
	x   *extras
	lim limits
}

// text returns s, cut to the limit of a text. It sets cut to true if s was too long.
func (e *encoder) text(s string, cut *bool) string {
	s, c := xmltext.Cut(s, e.lim.text)
	*cut = *cut || c
	return s
}

// startDone ends a start tag. It adds the mark for cut elements if cut is set or the element was cut earlier, and the
// foreign attributes of the element.
func (e *encoder) startDone(path string, cut bool) {
	f := e.x.get(path)
	if f != nil {
		cut = cut || f.cut
	}
	e.b = xmltext.Flag(e.b, truncated, cut)
	if f != nil {
		e.b = append(e.b, f.attrs...)
	}
	e.b = append(e.b, '>')
}

// end writes foreign children, with sep in front of each, and the end tag.
func (e *encoder) end(path, tag, sep string) {
	if f := e.x.get(path); f != nil {
		for _, c := range f.kids {
			e.b = append(append(e.b, sep...), c.xml...)
		}
	}
	e.b = append(append(append(e.b, "</"...), tag...), '>')
}

// leaf ends an element whose start tag is open. The element has a text, but no children from jjm. cut is set if an
// attribute was cut.
func (e *encoder) leaf(path, tag, text string, cut bool) {
	text = e.text(text, &cut)
	if text == "" && !cut && e.x.get(path) == nil {
		e.b = append(e.b, "/>"...)
		return
	}
	e.startDone(path, cut)
	e.b = xmltext.Text(e.b, text)
	e.end(path, tag, "")
}

// raw appends a text unchanged.
func (e *encoder) raw(s string) { e.b = append(e.b, s...) }

// opt appends an attribute, unless s is empty.
func (e *encoder) opt(name, s string, cut *bool) {
	e.b = xmltext.OptAttr(e.b, name, e.text(s, cut))
}

// must appends an attribute, also if s is empty.
func (e *encoder) must(name, s string, cut *bool) {
	e.b = xmltext.Attr(e.b, name, e.text(s, cut))
}

// int appends an attribute with a number.
func (e *encoder) int(name string, n int64) { e.b = xmltext.Int(e.b, name, n) }

// time appends an attribute with a time.
func (e *encoder) time(name string, t jjm.Time) { e.b = xmltext.Time(e.b, name, t) }

// count writes an attribute unless n is 0.
func (e *encoder) count(name string, n int) {
	if n != 0 {
		e.int(name, int64(n))
	}
}

// appendShard appends the document of a shard.
func appendShard(b []byte, grid jjm.GridID, s Shard, written jjm.Time, x *extras) []byte {
	e := encoder{b: b, x: x, lim: shardLimits()}
	e.raw(prologue + `<localjobs schemaVersion="` + SchemaVersion + `"`)
	e.int("gridjob", int64(grid))
	e.int("shard", int64(s.N))
	e.time("written", written)
	e.startDone("", false)
	for i := range s.Jobs {
		e.localJob(&s.Jobs[i])
	}
	e.end("", "localjobs", "\n")
	e.raw("\n")
	return e.b
}

// localJob appends the element of a local job, on a separate line.
func (e *encoder) localJob(j *jjm.LocalJob) {
	path := "" // only built if there are extras, because this runs for every local job
	if e.x != nil {
		path = "localjob:" + j.ID.String()
	}
	cut := false
	e.raw("\n" + `<localjob id="`)
	e.b = strconv.AppendInt(e.b, int64(j.ID.Grid), 10)
	e.b = append(e.b, '.')
	e.b = strconv.AppendInt(e.b, int64(j.ID.N), 10)
	e.b = append(e.b, '"')
	e.must("state", j.State.String(), &cut)
	e.opt("phase", string(j.Phase), &cut)
	e.int("attempt", int64(j.Attempt))
	e.opt("batch", j.BatchID, &cut)
	e.opt("host", j.Host, &cut)
	e.time("submitted", j.Submitted)
	e.time("started", j.Started)
	e.time("ended", j.Ended)
	if j.Exit >= 0 {
		e.int("exit", int64(j.Exit))
	}
	if j.Tag != "" {
		e.opt("tag", string(j.Tag), &cut)
		e.int("pos", int64(j.Pos))
	}
	e.time("notBefore", j.NotBefore)
	e.b = xmltext.Flag(e.b, "kill", j.Kill)
	e.count("early", j.Counters.Early)
	e.count("lateHandled", j.Counters.LateHandled)
	e.count("lateUnhandled", j.Counters.LateUnhandled)
	e.count("resubmitted", j.Again.Times)
	e.opt("notResubmitted", j.Again.Stopped, &cut)
	e.opt("cluster", j.Cluster, &cut)
	if w := j.Waits; w != nil {
		e.opt("waits", w.Reason, &cut)
		e.opt("hold", w.Hold, &cut)
		e.time("starts", w.Starts)
		e.opt("said", w.Source, &cut)
		e.time("at", w.At)
	}
	if j.IsHeld() {
		e.opt("heldBy", j.Holding.By, &cut)
		e.time("heldSince", j.Holding.Since)
	}
	e.count("step", int(j.Step))
	e.startDone(path, cut)
	e.part(path+"/part", &j.Part)
	e.raw("<message")
	e.leaf(path+"/message", "message", j.Message, false)
	e.progress(path+"/progress", j.Progress)
	e.end(path, "localjob", "")
}

// part appends the element of a part.
func (e *encoder) part(path string, p *jjm.Part) {
	cut := false
	e.raw("<part")
	e.must("unit", p.Unit, &cut)
	e.int("first", p.First)
	e.int("count", p.Count)
	e.int("serial", p.Serial)
	if len(p.Args) == 0 {
		e.leaf(path, "part", "", cut)
		return
	}
	kept := e.fitting(p.Args)
	e.startDone(path, cut || kept < len(p.Args))
	for i, a := range p.Args[:kept] {
		e.raw("<arg")
		e.leaf(kidPath(path, "arg", strconv.Itoa(i)), "arg", a, false)
	}
	e.end(path, "part", "")
}

// fitting returns the number of leading arguments that fit into the limit.
func (e *encoder) fitting(args []string) int {
	bytes := 0
	for i, a := range args {
		if bytes += len(a) + len("<arg></arg>"); bytes > e.lim.args {
			return i
		}
	}
	return len(args)
}

// progress appends the element of a phase's progress.
func (e *encoder) progress(path string, p jjm.Progress) {
	cut := false
	e.raw("<progress")
	e.opt("phase", p.Phase, &cut)
	if p != (jjm.Progress{}) {
		e.int("done", p.Done)
		e.int("total", p.Total)
	}
	e.leaf(path, "progress", "", cut)
}

// appendHead appends the document of a head.
func appendHead(b []byte, h *head.Head, x *extras, lim limits) []byte {
	e := encoder{b: b, x: x, lim: lim}
	g := &h.Grid
	e.raw(prologue + `<gridjob schemaVersion="` + SchemaVersion + `"`)
	e.headAttrs(h)
	e.raw("\n  <message")
	e.leaf("message", "message", h.Message, false)
	e.raw("\n  <reason")
	e.leaf("reason", "reason", g.Reason, false)
	e.counts(h)
	e.clusterJobs(h)
	e.steps(h)
	e.phases(h.Phases)
	e.output(h)
	e.origin(g.Origin)
	e.raw("\n  <usage")
	e.usage("usage", g.Usage)
	e.endings(h.Endings)
	e.inputs(h.Inputs)
	e.causes(h.Causes)
	e.warnings(g)
	e.shards(h.Jobs)
	e.end("", "gridjob", "\n  ")
	e.raw("\n")
	return e.b
}

// headAttrs appends the attributes of the grid job and ends the start tag.
func (e *encoder) headAttrs(h *head.Head) {
	g := &h.Grid
	cut := false
	e.int("id", int64(g.ID))
	e.must("type", g.Spec.Type, &cut)
	e.opt("name", g.Spec.Name, &cut)
	e.opt("model", g.Spec.Model, &cut)
	e.opt("key", g.Spec.Key, &cut)
	e.opt("mode", g.Spec.Mode, &cut)
	e.opt("result", g.Spec.Result, &cut)
	e.must("owner", g.Owner.User, &cut)
	e.int("uid", int64(g.Owner.UID))
	e.int("gid", int64(g.Owner.GID))
	e.must("status", g.Status.String(), &cut)
	e.int("gram", int64(h.GRAM))
	e.count("code", h.GRAMCode)
	e.must("master", h.Master, &cut)
	e.int("exit", int64(h.Exit))
	e.opt("proof", string(g.Proof), &cut)
	e.int("jobs", int64(h.Jobs))
	if g.Generation > 1 {
		e.int("generation", int64(g.Generation))
	}
	e.opt("after", afterText(g.Spec.After), &cut)
	e.opt("afterEnd", g.Spec.AfterEnd, &cut)
	e.b = xmltext.Flag(e.b, "kill", g.Kill)
	e.opt("killedBy", g.KillBy, &cut)
	e.b = xmltext.Flag(e.b, "kept", g.Kept())
	e.time("accepted", g.Accepted)
	e.time("changed", g.Changed)
	e.time("ended", g.Ended)
	e.time("written", h.Written)
	e.startDone("", cut)
}

// afterText returns the ids of the grid jobs after whose end a grid job begins, separated by blanks.
func afterText(ids []jjm.GridID) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(b)
}

// counts appends the numbers of local jobs by state.
func (e *encoder) counts(h *head.Head) {
	e.raw("\n  <counts")
	e.int("expected", int64(h.Grid.Step.Expected))
	e.int("total", int64(h.Jobs))
	for s, n := range h.Counts {
		if st := jjm.State(s); st.IsFrozen() {
			e.count(st.String(), n)
		} else {
			e.int(st.String(), int64(n))
		}
	}
	e.leaf("counts", "counts", "", false)
}

// clusterJobs writes one element for each cluster in use (decision R22).
func (e *encoder) clusterJobs(h *head.Head) {
	e.raw("\n  <clusterjobs")
	if len(h.ClusterJobs) == 0 {
		e.leaf("clusterjobs", "clusterjobs", "", false)
		return
	}
	kept := h.ClusterJobs[:min(len(h.ClusterJobs), e.lim.list)]
	e.startDone("clusterjobs", len(kept) < len(h.ClusterJobs))
	for _, j := range kept {
		cut := false
		e.raw("\n    <clusterjob")
		id := e.text(j.ID(h.Grid.ID), &cut)
		e.must("id", id, &cut)
		e.must("cluster", j.Cluster, &cut)
		e.int("jobs", int64(j.Jobs()))
		for s, n := range j.Counts {
			e.count(jjm.State(s).String(), n)
		}
		e.leaf(kidPath("clusterjobs", "clusterjob", id), "clusterjob", "", cut)
	}
	e.end("clusterjobs", "clusterjobs", "\n    ")
}

// phases appends the phases, at most as many as the limits allow.
func (e *encoder) phases(ps []jjm.Progress) {
	e.raw("\n  <phases")
	if len(ps) == 0 {
		e.leaf("phases", "phases", "", false)
		return
	}
	kept := ps[:min(len(ps), e.lim.list)]
	e.startDone("phases", len(kept) < len(ps))
	for _, p := range kept {
		e.raw("\n    ")
		e.progress(kidPath("phases", "progress", p.Phase), p)
	}
	e.end("phases", "phases", "\n    ")
}

// output writes the output tar of a grid job. It never cuts paths, because half a path is useless.
func (e *encoder) output(h *head.Head) {
	e.raw("\n  <output")
	e.b = xmltext.OptAttr(e.b, "tar", h.Tar)
	e.b = xmltext.OptAttr(e.b, "name", h.Grid.Tar)
	if h.Grid.TarBytes != 0 {
		e.int("bytes", h.Grid.TarBytes)
	}
	e.b = xmltext.OptAttr(e.b, "sha256", h.Grid.TarSHA256)
	e.leaf("output", "output", "", false)
}

// maxMemo is the largest size of a written memo in bytes. A longer memo is left out, because half a memo is useless.
const maxMemo = 32 << 10

// origin appends where the grid job came from.
func (e *encoder) origin(o *jjm.Origin) {
	cut := false
	e.raw("\n  <origin")
	if o != nil {
		e.opt("gatekeeper", o.Gatekeeper, &cut)
		e.opt("job", o.Job, &cut)
		e.opt("subject", o.Subject, &cut)
		e.opt("issuer", o.Issuer, &cut)
		e.opt("vo", o.VO, &cut)
		e.opt("submitHost", o.SubmitHost, &cut)
		before := len(e.b)
		if e.b = xmltext.OptAttr(e.b, "memo", o.Memo); len(e.b)-before > maxMemo {
			e.b, cut = e.b[:before], true
		}
	}
	e.leaf("origin", "origin", "", cut)
}

// usage writes the attributes of a usage into the open start tag, and ends the element.
func (e *encoder) usage(path string, u *jjm.Usage) {
	cut := false
	if u != nil {
		e.opt("batch", u.Batch, &cut)
		e.opt("host", u.Host, &cut)
		e.int("wallMs", u.WallMS)
		e.int("userMs", u.UserMS)
		e.int("sysMs", u.SysMS)
		e.int("maxRssKb", u.MaxRSSKB)
		if u.Signal != 0 {
			e.int("signal", int64(u.Signal))
		}
		e.int("processors", int64(u.Processors))
		e.time("started", u.Started)
		e.time("ended", u.Ended)
	}
	e.leaf(path, "usage", "", cut)
}

// shards appends the list of the shards, at most as many as the limits allow.
func (e *encoder) shards(jobs int) {
	n := (jobs + ShardSize - 1) / ShardSize
	e.raw("\n  <shards")
	e.int("size", ShardSize)
	e.int("count", int64(n))
	if n == 0 {
		e.leaf("shards", "shards", "", false)
		return
	}
	kept := min(n, e.lim.shards)
	e.startDone("shards", kept < n)
	for i := range kept {
		e.raw("\n    <shard")
		e.int("n", int64(i))
		e.must("file", head.ShardFile(i), new(bool))
		e.int("first", int64(i*ShardSize))
		e.int("last", int64(min((i+1)*ShardSize, jobs)-1))
		e.leaf(kidPath("shards", "shard", strconv.Itoa(i)), "shard", "", false)
	}
	e.end("shards", "shards", "\n    ")
}
