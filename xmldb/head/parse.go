package head

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// Parse parses the text of a head. It ignores unknown elements and attributes. The error contains the place in the
// text.
func Parse(data []byte) (Head, error) {
	p := parser{d: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))}
	if err := p.document(); err != nil {
		return Head{}, err
	}
	return p.head, nil
}

// parser parses a document of a record. err is the first error in an attribute; the parser continues after such an
// error.
type parser struct {
	d    *xml.Decoder
	head Head
	err  error
}

// document reads the prologue and the root element. It returns an error if more text follows.
func (p *parser) document() error {
	root := false
	for {
		tok, err := p.d.Token()
		if errors.Is(err, io.EOF) && root {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("no element gridjob")
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.Directive:
			return errors.New("a document type declaration is not allowed in a record")
		case xml.StartElement:
			if root || tok.Name.Space != "" || tok.Name.Local != "gridjob" {
				return fmt.Errorf("element %.40q: want one gridjob and nothing else", tok.Name.Local)
			}
			root = true
			if err := p.gridjob(tok); err != nil {
				return err
			}
		}
	}
}

// start reads the prologue and the start of the root element. It returns an error if the element has another name.
func (p *parser) start(name string) (xml.StartElement, error) {
	for {
		tok, err := p.d.Token()
		if errors.Is(err, io.EOF) {
			return xml.StartElement{}, fmt.Errorf("no element %s", name)
		}
		if err != nil {
			return xml.StartElement{}, err
		}
		switch tok := tok.(type) {
		case xml.Directive:
			return xml.StartElement{}, errors.New("a document type declaration is not allowed in a record")
		case xml.StartElement:
			if tok.Name.Space != "" || tok.Name.Local != name {
				return tok, fmt.Errorf("element %.40q: want %s", tok.Name.Local, name)
			}
			return tok, nil
		}
	}
}

// gridjob reads the root element to its end.
func (p *parser) gridjob(root xml.StartElement) error {
	p.root(attrs(root))
	err := p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "message":
			return p.text(&p.head.Message)
		case "reason":
			return p.text(&p.head.Grid.Reason)
		case "counts":
			p.counts(attrs(e))
		case "clusterjobs":
			return p.clusterJobs()
		case "inputs":
			return p.inputs()
		case "warnings":
			return p.warnings()
		case "step":
			return p.step(attrs(e))
		case "phases":
			return p.phases()
		case "causes":
			return p.causes()
		case "output":
			a := attrs(e)
			p.head.Tar, p.head.Grid.Tar = a["tar"], a["name"]
			p.head.Grid.TarBytes = p.int(a, "output", "bytes")
			p.head.Grid.TarSHA256 = a["sha256"]
		case "origin":
			p.origin(attrs(e))
		case "usage":
			p.head.Grid.Usage = p.usage(attrs(e))
		case "endings":
			return p.endings()
		}
		return p.d.Skip()
	})
	if err != nil {
		return err
	}
	return p.err
}

// root reads the attributes of the root element.
func (p *parser) root(a map[string]string) {
	h, g := &p.head, &p.head.Grid
	const at = "gridjob"
	g.ID = jjm.GridID(p.int(a, at, "id"))
	g.Spec.Type, g.Spec.Name, g.Spec.Key = a["type"], a["name"], a["key"]
	g.Spec.Model, g.Spec.Mode, g.Spec.Result = a["model"], a["mode"], a["result"]
	g.Owner = jjm.Owner{User: a["owner"], UID: int(p.int(a, at, "uid")), GID: int(p.int(a, at, "gid"))}
	if err := g.Status.UnmarshalText([]byte(a["status"])); err != nil {
		p.fail(fmt.Errorf("attribute status of %s: %w", at, err))
	}
	g.Generation = max(int(p.int(a, at, "generation")), 1)
	for _, text := range strings.Fields(a["after"]) {
		ref, err := jjm.ParseRef(text)
		if err != nil || ref.Locals {
			p.fail(fmt.Errorf("attribute after of %s: %.40q is not a grid job", at, text))
		}
		g.Spec.After = append(g.Spec.After, ref.Grid)
	}
	g.Spec.AfterEnd = a["afterEnd"]
	g.Kill, g.KillBy = a["kill"] == "true", a["killedBy"]
	g.Accepted, g.Changed, g.Ended = p.time(a, at, "accepted"), p.time(a, at, "changed"), p.time(a, at, "ended")
	h.GRAM = jjm.GRAM(p.int(a, at, "gram"))
	if h.GRAM.String() == "UNKNOWN" {
		p.fail(fmt.Errorf("attribute gram of %s: %.40q is not a GRAM state", at, a["gram"]))
	}
	h.GRAMCode = int(p.int(a, at, "code"))
	h.Master = a["master"]
	h.Exit = int(p.int(a, at, "exit"))
	g.Proof = jjm.Proof(a["proof"])
	h.Jobs = int(p.int(a, at, "jobs"))
	h.Written = p.time(a, at, "written")
}

func (p *parser) origin(a map[string]string) {
	o := jjm.Origin{Gatekeeper: a["gatekeeper"], Job: a["job"], Subject: a["subject"], Issuer: a["issuer"],
		VO: a["vo"], SubmitHost: a["submitHost"], Memo: a["memo"]}
	if o != (jjm.Origin{}) {
		p.head.Grid.Origin = &o
	}
}

// usage reads the attributes of a usage; it returns nil if the element has none.
func (p *parser) usage(a map[string]string) *jjm.Usage {
	const at = "usage"
	if a["processors"] == "" {
		return nil
	}
	return &jjm.Usage{Signal: int(p.int(a, at, "signal")), Batch: a["batch"], Host: a["host"],
		WallMS: p.int(a, at, "wallMs"),
		UserMS: p.int(a, at, "userMs"), SysMS: p.int(a, at, "sysMs"), MaxRSSKB: p.int(a, at, "maxRssKb"),
		Processors: int(p.int(a, at, "processors")), Started: p.time(a, at, "started"), Ended: p.time(a, at, "ended")}
}

func (p *parser) counts(a map[string]string) {
	for s := range jjm.NumStates {
		p.head.Counts[s] = int(p.int(a, "counts", jjm.State(s).String()))
	}
}

func (p *parser) clusterJobs() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local == "clusterjob" {
			a := attrs(e)
			j := jjm.ClusterJob{Cluster: a["cluster"]}
			for s := range jjm.NumStates {
				j.Counts[s] = int(p.int(a, "clusterjob", jjm.State(s).String()))
			}
			p.head.ClusterJobs = append(p.head.ClusterJobs, j)
		}
		return p.d.Skip()
	})
}

func (p *parser) inputs() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local == "dataset" {
			a := attrs(e)
			in := Input{Name: a["name"], Master: a["master"] == "true", Open: a["open"] == "true"}
			for name, n := range in.Numbers() {
				*n = p.int(a, "dataset", name)
			}
			p.head.Inputs = append(p.head.Inputs, in)
		}
		return p.d.Skip()
	})
}

func (p *parser) endings() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local != "ending" {
			return p.d.Skip()
		}
		return p.ending(attrs(e))
	})
}

// ending reads the element of a past generation's end.
func (p *parser) ending(a map[string]string) error {
	const at = "ending"
	n := func(name string) int { return int(p.int(a, at, name)) }
	e := Ending{GRAM: jjm.GRAM(n("gram")), GRAMCode: n("code"), Master: a["master"], Jobs: n("jobs"), TarPath: a["tar"]}
	e.Generation, e.Exit, e.Expected = n("generation"), n("exit"), n("expected")
	if err := e.Status.UnmarshalText([]byte(a["status"])); err != nil {
		p.fail(fmt.Errorf("attribute status of %s: %w", at, err))
	}
	if e.GRAM.String() == "UNKNOWN" {
		p.fail(fmt.Errorf("attribute gram of %s: %.40q is not a GRAM state", at, a["gram"]))
	}
	e.Kill, e.KillBy = a["kill"] == "true", a["killedBy"]
	for _, s := range [...]jjm.State{jjm.Completed, jjm.Failed, jjm.Killed, jjm.CompletedFrozen, jjm.FailedFrozen} {
		e.Counts[s] = n(s.String())
	}
	e.Tar, e.TarBytes, e.TarSHA256 = a["name"], p.int(a, at, "bytes"), a["sha256"]
	e.Ended, e.Reopened = p.time(a, at, "ended"), p.time(a, at, "reopened")
	e.By, e.Why = a["by"], a["why"]
	err := p.children(func(el xml.StartElement) error {
		switch el.Name.Local {
		case "message":
			return p.text(&e.Message)
		case "usage":
			e.Usage = p.usage(attrs(el))
		}
		return p.d.Skip()
	})
	p.head.Endings = append(p.head.Endings, e)
	return err
}

func (p *parser) warnings() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local != "warning" {
			return p.d.Skip()
		}
		a := attrs(e)
		w := jjm.Warning{Notice: jjm.Notice{Kind: jjm.NoticeKind(a["kind"])}, Count: int(p.int(a, "warning", "count"))}
		first, err := jjm.ParseRef(a["first"])
		if err != nil {
			p.fail(fmt.Errorf("attribute first of warning: %w", err))
		}
		w.First = first.First
		err = p.text(&w.Text)
		p.head.Grid.Warnings = append(p.head.Grid.Warnings, w)
		return err
	})
}

func (p *parser) step(a map[string]string) error {
	var why []string
	err := p.children(func(e xml.StartElement) error {
		if e.Name.Local != "why" {
			return p.d.Skip()
		}
		var s string
		err := p.text(&s)
		why = append(why, s)
		return err
	})
	if p.stepCounts(a); p.int(a, "step", "n") > 0 {
		return err
	}
	p.head.Grid.Step = jjm.Step{
		Cluster: a["cluster"], Splitter: a["splitter"], Why: why,
		Expected: int(p.int(a, "step", "expected")), Made: int(p.int(a, "step", "made")),
		Closed: a["closed"] == "true", Prepared: a["prepared"] == "true",
	}
	return err
}

// stepCounts reads the counts of a step, which only records with several steps have. A record lists the steps from the
// last to the first.
func (p *parser) stepCounts(a map[string]string) {
	if a["of"] == "" {
		return
	}
	const at = "step"
	c := jjm.StepCounts{Step: int32(p.int(a, at, "n")), Expected: int(p.int(a, at, "of")), Closed: a["closed"] == "true",
		GivenBack: int(p.int(a, at, "givenBack")), Merging: int(p.int(a, at, "merging"))}
	for s := range jjm.NumStates {
		c.Counts[s] = int(p.int(a, at, jjm.State(s).String()))
	}
	p.head.Steps = slices.Insert(p.head.Steps, 0, c)
}

func (p *parser) phases() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local == "progress" {
			a := attrs(e)
			p.head.Phases = append(p.head.Phases, jjm.Progress{
				Phase: a["phase"], Done: p.int(a, "progress", "done"), Total: p.int(a, "progress", "total"),
			})
		}
		return p.d.Skip()
	})
}

func (p *parser) causes() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local == "cause" {
			a := attrs(e)
			c := jjm.Cause{Text: a["text"], Again: a["again"] == "true", Jobs: int(p.int(a, "cause", "jobs")), First: a["first"],
				Host: a["host"], Exit: -1}
			if a["exit"] != "" {
				c.Exit = int(p.int(a, "cause", "exit"))
			}
			p.head.Causes = append(p.head.Causes, c)
		}
		return p.d.Skip()
	})
}

// children calls fn for every child element without a namespace, and skips the other children. fn must read the child
// to its end. children returns at the end of the parent element.
func (p *parser) children(fn func(xml.StartElement) error) error {
	for {
		tok, err := p.d.Token()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.Directive:
			return errors.New("a directive is not allowed in a record")
		case xml.StartElement:
			if tok.Name.Space != "" {
				err = p.d.Skip()
			} else {
				err = fn(tok)
			}
			if err != nil {
				return err
			}
		}
	}
}

// text reads the text of an element up to its end, without the text of its children.
func (p *parser) text(s *string) error {
	var b []byte
	for {
		tok, err := p.d.Token()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.CharData:
			b = append(b, tok...)
		case xml.StartElement:
			if err := p.d.Skip(); err != nil {
				return err
			}
		case xml.EndElement:
			*s = string(b)
			return nil
		}
	}
}

// attrs returns the attributes without a namespace.
func attrs(e xml.StartElement) map[string]string {
	m := make(map[string]string, len(e.Attr))
	for _, a := range e.Attr {
		if a.Name.Space == "" {
			m[a.Name.Local] = a.Value
		}
	}
	return m
}

// fail stores the first error in an attribute.
func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// int returns the number in an attribute of an element; 0 if the attribute is missing. A text that is no number is an
// error of the parser.
func (p *parser) int(a map[string]string, elem, name string) int64 {
	s, ok := a[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.fail(fmt.Errorf("attribute %s of %s: %.40q is not a number", name, elem, s))
	}
	return n
}

// int32 returns a number in the same way as int, but a number that is negative or too large is an error.
func (p *parser) int32(a map[string]string, elem, name string) int32 {
	n := p.int(a, elem, name)
	if n < 0 || n > math.MaxInt32 {
		p.fail(fmt.Errorf("attribute %s of %s: %d is out of range", name, elem, n))
	}
	return int32(n)
}

// time returns the time in an attribute, an xs:dateTime with a zone; 0 if the attribute is missing.
func (p *parser) time(a map[string]string, elem, name string) jjm.Time {
	s, ok := a[name]
	if !ok {
		return 0
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		p.fail(fmt.Errorf("attribute %s of %s: %.40q is not a time such as 2026-01-02T15:04:05.000Z", name, elem, s))
	}
	return jjm.At(t)
}
