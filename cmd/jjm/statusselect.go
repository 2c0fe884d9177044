package main

import (
	"cmp"
	"slices"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// This file is jjm status with filters. Filters need two requests: "select" returns references to the jobs that match,
// and "status" returns their details.

// selected prints the jobs that the filters select: among the jobs of the command line or, if it names none, among all
// jobs of the account (for an administrator: of all accounts). If no daemon answers, it searches the records. If
// nothing matches, it prints a message and returns no error.
func (s *status) selected(c *cli, where selection.Filters) error {
	list, err := patterns(s.Refs, false)
	if err != nil {
		return err
	}
	found, err := s.find(c, list, where)
	if client.IsUnreachable(err) {
		found, err = s.offline(c, "status", err).fitting(list, where)
	}
	if err != nil {
		return err
	}
	found = byGridJob(found)
	if len(found) == 0 {
		c.say("jjm status: %s", nothingFits(list, where))
	}
	s.Refs = nil
	for _, st := range found {
		s.Refs = append(s.Refs, shownAs(st))
	}
	for i, st := range found {
		if err := s.print(c, i, st); err != nil {
			return err
		}
	}
	return nil
}

// find requests from the daemon the jobs that the filters select, and returns their statuses. A grid job that is
// removed between the two requests is left out.
func (s *status) find(c *cli, list selection.List, where selection.Filters) (found []wire.Status, err error) {
	a, err := ask(c, s.place, wire.VerbSelect(), wire.SelectRequest{Refs: list.Words(), Where: where,
		For: selection.ToShow})
	if err != nil {
		return nil, err
	}
	for _, refs := range inChunks(a.Select.Refs) {
		a, err := ask(c, s.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(refs...)})
		if err != nil {
			return nil, err
		}
		found = append(found, a.Status...)
	}
	// The request "status" reports a removed grid job as an error.
	return slices.DeleteFunc(found, func(st wire.Status) bool { return st.Lookup.Error != nil }), nil
}

// byGridJob joins the statuses of the same grid job that contain local jobs, because a grid job's local jobs may come
// in several answers. A joined status contains each local job once, in ascending order of the ids, and no Detail if it
// has several local jobs.
func byGridJob(all []wire.Status) []wire.Status {
	var out []wire.Status
	at := map[jjm.GridID]int{}
	for _, st := range all {
		i, joined := at[st.Lookup.ID]
		if len(st.Locals) == 0 || !joined {
			at[st.Lookup.ID] = len(out)
			out = append(out, st)
			continue
		}
		out[i].Locals = append(out[i].Locals, st.Locals...)
		slices.SortStableFunc(out[i].Locals, func(a, b jjm.LocalJob) int { return cmp.Compare(a.ID.N, b.ID.N) })
		out[i].Locals = slices.CompactFunc(out[i].Locals, func(a, b jjm.LocalJob) bool { return a.ID == b.ID })
		if len(out[i].Locals) > 1 {
			out[i].Detail = nil
		}
	}
	return out
}

// shownAs returns the id that the output shows for a status: "12", or "12.*" if the status contains local jobs.
func shownAs(st wire.Status) string {
	if len(st.Locals) == 0 {
		return st.Lookup.ID.String()
	}
	return st.Lookup.ID.String() + ".*"
}

// nothingFits returns the message that the filters select nothing. It names the jobs of the command line, if there are
// any.
func nothingFits(list selection.List, where selection.Filters) string {
	text := "no grid job fits the filters"
	if where.OfLocals() || slices.ContainsFunc(list, func(p selection.Pattern) bool { return p.Ref.Locals }) {
		text = "no local job fits the filters"
	}
	if len(list) > 0 {
		text += ", of " + strings.Join(list.Words(), " ")
	}
	return text
}
