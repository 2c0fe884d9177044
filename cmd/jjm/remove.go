package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// remove removes grid jobs that are over.
type remove struct {
	Force bool `help:"Also if the gatekeeper of a grid job was not told yet that it is over."`

	many
}

// Help returns the text of --help below the usage.
func (*remove) Help() string {
	return "This removes the folder in the work area, the tars of all generations, packages that no other grid job " +
		"uses, the record, and the rows. They cannot be restored. The id is never assigned again: lookup still " +
		"shows how the grid job ended, and history and log show what was done and who removed it. A grid job must " +
		"be over: kill it first. It stays, with the reason, while another grid job depends on it, or while its end " +
		"is not reported to its gatekeeper. It says how much disk space that frees, as it is counted within 2 s: after \"at " +
		"least\" not everything was counted. It prints a line for each grid job: ID accepted (the request is stored " +
		"and then carried out), or ID error KIND TEXT. Above 100 grid jobs it asks, or wants --yes. For the owner " +
		"and administrators.\n\n" +
		"Filters select whole grid jobs that are over, among the ids or, without any, among all yours (an " +
		"administrator's: all); a filter of local jobs selects the grid jobs that have a matching local job. jjm " +
		"remove --status done --age 30d --dry-run shows what would be removed."
}

// Run carries out jjm remove.
func (r *remove) Run(c *cli) error {
	refs, err := r.choose(c, selection.ToRemove, "")
	if err != nil {
		return err
	}
	removed, frees := 0, wire.Space{}
	all := results[wire.Removed]{c: c, command: "remove",
		ask: func(refs []string) ([]wire.Removed, error) {
			a, err := ask(c, r.place, wire.VerbRemove(),
				wire.RemoveRequest{Many: wire.Refs(refs...), Force: r.Force, DryRun: r.Dry})
			return a.Remove, err
		},
		outcome: func(one wire.Removed) *wire.Error { return one.Error },
		show: func(one wire.Removed) error {
			if one.Error == nil {
				removed++
				frees = sum(frees, one.Frees)
			}
			return r.show(c, one)
		}}
	err = all.of(inChunks(refs))
	if r.Dry && len(refs) > 1 {
		c.say("in all %s would be removed%s", jjm.Count(removed, "grid job"), freed(&frees))
	}
	return err
}

// show prints the result for one grid job.
func (r *remove) show(c *cli, one wire.Removed) (err error) {
	switch {
	case r.JSON:
		return c.printJSON(one)
	case one.Error != nil:
		_, err = fmt.Fprintf(c.out, "%s error %s %s\n", one.ID, one.Error.Kind, plain.Printable(one.Error.Text))
	case r.Dry:
		_, err = fmt.Fprintf(c.out, "%s would be removed%s\n", one.ID, freed(one.Frees))
	default:
		_, err = fmt.Fprintf(c.out, "%s accepted%s\n", one.ID, freed(one.Frees))
	}
	return err
}

// freed returns the disk space that a removal frees, in brackets, "" if it is not known.
func freed(s *wire.Space) string {
	if s == nil {
		return ""
	}
	return " (frees " + spaceText(s) + ")"
}

// spaceText returns disk space for people: "1.3 MB: work area 1.1 MB, tar 0.2 MB, record 812 bytes".
func spaceText(s *wire.Space) string {
	text := fmt.Sprintf("%s: work area %s, tar %s, record %s", plain.Bytes(s.Sum()), plain.Bytes(s.WorkBytes),
		plain.Bytes(s.TarBytes), plain.Bytes(s.RecordBytes))
	if s.Partial {
		text = "at least " + text
	}
	if s.InputBytes > 0 {
		text += fmt.Sprintf("; inputs %s too if unused elsewhere", plain.Bytes(s.InputBytes))
	}
	return text
}

// sum returns the sum of the disk space of several removals. The packed inputs are left out, because several grid jobs
// may share them.
func sum(all wire.Space, one *wire.Space) wire.Space {
	if one == nil {
		return all
	}
	return wire.Space{WorkBytes: all.WorkBytes + one.WorkBytes, TarBytes: all.TarBytes + one.TarBytes,
		RecordBytes: all.RecordBytes + one.RecordBytes, Partial: all.Partial || one.Partial}
}
