package head

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"jjm"
)

// Parse reads the text of a head. Elements and attributes that it does not
// know are passed over. The error names the place.
func Parse(data []byte) (Head, error) {
	p := parser{d: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))}
	if err := p.document(); err != nil {
		return Head{}, err
	}
	return p.head, nil
}

// parser keeps the first error that an attribute caused.
type parser struct {
	d    *xml.Decoder
	head Head
	err  error
}

// document reads prologue, root element, and nothing behind it.
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
		case "step":
			return p.step(attrs(e))
		case "phases":
			return p.phases()
		case "output":
			a := attrs(e)
			p.head.Tar, p.head.Grid.Tar = a["tar"], a["name"]
			p.head.Grid.TarBytes = p.int(a, "output", "bytes")
			p.head.Grid.TarSHA256 = a["sha256"]
		case "origin":
			p.origin(attrs(e))
		case "usage":
			p.usage(attrs(e))
		}
		return p.d.Skip()
	})
	if err != nil {
		return err
	}
	return p.err
}

func (p *parser) root(a map[string]string) {
	h, g := &p.head, &p.head.Grid
	const at = "gridjob"
	g.ID = jjm.GridID(p.int(a, at, "id"))
	g.Spec.Type, g.Spec.Name, g.Spec.Key = a["type"], a["name"], a["key"]
	g.Spec.Mode, g.Spec.Result = a["mode"], a["result"]
	g.Owner = jjm.Owner{User: a["owner"], UID: int(p.int(a, at, "uid")), GID: int(p.int(a, at, "gid"))}
	if err := g.Status.UnmarshalText([]byte(a["status"])); err != nil {
		p.fail(fmt.Errorf("attribute status of %s: %w", at, err))
	}
	g.Kill, g.KillBy = a["kill"] == "true", a["killedBy"]
	g.Accepted, g.Changed, g.Ended = p.time(a, at, "accepted"), p.time(a, at, "changed"), p.time(a, at, "ended")
	h.GRAM = jjm.GRAM(p.int(a, at, "gram"))
	if h.GRAM.String() == "UNKNOWN" {
		p.fail(fmt.Errorf("attribute gram of %s: %.40q is no GRAM state", at, a["gram"]))
	}
	h.GRAMCode = int(p.int(a, at, "code"))
	h.Master = a["master"]
	h.Exit = int(p.int(a, at, "exit"))
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

func (p *parser) usage(a map[string]string) {
	const at = "usage"
	if a["processors"] == "" {
		return
	}
	p.head.Grid.Usage = &jjm.Usage{Signal: int(p.int(a, at, "signal")), Batch: a["batch"], Host: a["host"],
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

// stepCounts reads how many local jobs a step has, of a grid job that has several.
// The steps stand from the last to the first.
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

// children calls fn for every child element without a namespace; fn reads it
// to its end. It returns at the end of the element it was called in.
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

// text reads the text of an element to its end, without that of its children.
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

// attrs are the attributes without a namespace.
func attrs(e xml.StartElement) map[string]string {
	m := make(map[string]string, len(e.Attr))
	for _, a := range e.Attr {
		if a.Name.Space == "" {
			m[a.Name.Local] = a.Value
		}
	}
	return m
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// int reads a number; a missing one is 0.
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

// time reads an xs:dateTime with a zone; a missing one is 0.
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
