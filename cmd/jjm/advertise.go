package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
)

// advertise shows the ad that brokers read, and whether each collector has it.
type advertise struct {
	JSON bool `name:"json" help:"One JSON object."`
	GLUE bool `name:"glue2" help:"The same facts as a document of GLUE 2.0 in JSON."`
	Now  bool `help:"Send the ad at once and show the result; for administrators."`

	place
}

// Help returns the text of --help below the usage.
func (*advertise) Help() string {
	return "It prints the brokers' collectors (when the site's ad was last sent and last read back, and what is " +
		"wrong) and then the ClassAd as it would be sent now. The collectors are configured below [advertise]. If " +
		"no daemon answers, it shows the state that the last one stored. With --now the exit code is 1 if a " +
		"collector does not have the ad."
}

// Run carries out jjm advertise.
func (s *advertise) Run(c *cli) error {
	if s.JSON && s.GLUE {
		return usage("--json and --glue2: want one of them")
	}
	a, err := ask(c, s.place, wire.VerbAdvertise(), wire.AdvertiseRequest{Now: s.Now})
	var told wire.Advertised
	switch {
	case err == nil:
		told = *a.Advertised
	case client.IsUnreachable(err) && !s.Now:
		if told, err = s.fromFile(c, err); err != nil {
			return err
		}
	default:
		return err
	}
	if err := s.print(c, told); err != nil {
		return err
	}
	if s.Now {
		return arrived(told)
	}
	return nil
}

// fromFile returns the state of the ad that the last daemon stored in its state folder. down is the error because no
// daemon answers. If the file cannot be read, the error has the exit code exitUnreachable.
func (s *advertise) fromFile(c *cli, down error) (told wire.Advertised, err error) {
	path := filepath.Join(s.at(c).StateDir(), wire.AdvertisedFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil {
		return told, fmt.Errorf("%w; and its notes do not tell: %w", down, &exit{exitUnreachable, err})
	}
	told.Stale = true
	c.say("jjm advertise: %v", down)
	c.say("answered from %s: what was so at %s", path, plain.Clock(told.AsOf))
	return told, nil
}

func (s *advertise) print(c *cli, told wire.Advertised) error {
	switch {
	case s.JSON:
		return c.printJSON(told)
	case s.GLUE:
		_, err := fmt.Fprintf(c.out, "%s\n", indented(told.GLUE))
		return err
	}
	if len(told.Collectors) == 0 {
		if _, err := fmt.Fprintln(c.out,
			"not advertised: the configuration names no collectors below [advertise]"); err != nil {
			return err
		}
	} else if err := c.collectors(told); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "\n%s", plain.PrintableLines(told.Ad))
	return err
}

// collectors prints a table with a line for each collector, and notes below the table.
func (c *cli) collectors(told wire.Advertised) error {
	if err := c.collectorTable(told.Collectors); err != nil {
		return err
	}
	return c.collectorNotes(told)
}

func (c *cli) collectorTable(all []wire.AdCollector) error {
	rows := [][]string{{"COLLECTOR", "STATE", plain.Zoned("SENT"), "READ BACK", "ENDS", "NEXT", "LOST"}}
	for _, k := range all {
		rows = append(rows, []string{k.Collector, adState(k), plain.Stamp(k.Sent), plain.Stamp(k.Seen),
			plain.Stamp(k.Expires), plain.Stamp(k.Next), fmt.Sprint(k.Lost)})
	}
	return c.table(rows, "COLLECTOR")
}

// collectorNotes prints the notes about each collector: its error, an ad under another name that the collector may
// still hold, and an earlier loss of the ad.
func (c *cli) collectorNotes(told wire.Advertised) error {
	for _, k := range told.Collectors {
		var notes []string
		if k.Error != "" {
			notes = append(notes, "in trouble"+since(k.Since)+": "+k.Error)
		}
		if k.Site != told.Site {
			notes = append(notes, fmt.Sprintf("it may hold an ad of the name %q", k.Site))
		}
		if k.Lost > 0 {
			notes = append(notes, "it had lost the ad; jjm noticed at "+plain.Clock(k.LostAt))
		}
		for _, note := range notes {
			if _, err := fmt.Fprintf(c.out, "%s: %s\n", plain.Printable(k.Collector), plain.Printable(note)); err != nil {
				return err
			}
		}
	}
	return nil
}

// adState returns the state of the ad in a collector, and whether jjm is trying to send it now.
func adState(k wire.AdCollector) string {
	if k.Trying != 0 {
		return k.State + ", trying"
	}
	return k.State
}

// arrived returns an error unless every collector has the ad. The error names the collectors to which the ad was not
// sent, to which sending failed, or to which jjm is still sending it.
func arrived(told wire.Advertised) error {
	var missing []string
	for _, k := range told.Collectors {
		if k.State == wire.AdFailing || k.State == wire.AdUnsent || k.Trying != 0 {
			missing = append(missing, k.Collector)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &exit{exitNo, errors.New("the ad is not as it should be at " + strings.Join(missing, ", "))}
}

// indented formats a JSON document for people.
func indented(doc json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Indent(&out, doc, "", "  ") != nil {
		return doc
	}
	return out.Bytes()
}
