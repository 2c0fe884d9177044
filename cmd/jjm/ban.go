package main

import (
	"flag"
	"fmt"

	"jjm"
	"jjm/wire"
)

// ban keeps somebody out, or lets them in again.
type ban struct {
	place
	lift   bool
	Reason string
	JSON   bool
	Words  []string
}

func (b *ban) flags(fs *flag.FlagSet) {
	b.place.flags(fs)
	fs.StringVar(&b.Reason, "reason", "", "Say why: the audit and those concerned are told this `TEXT`.")
	fs.BoolVar(&b.JSON, "json", false, "One JSON object per line.")
}

func (b *ban) take(words []string) { b.Words = words }

const banAdmins = " For administrators: root, with gate.mode 0600 the daemon's account, and those of the setting gate.admins."

func banCommand() command {
	return command{
		name: "ban", args: "USER|DN", min: 1, max: 1, summary: "Take no grid jobs of somebody, kill those they have",
		detail: "A name that holds / or = is the DN of a certificate or token as the gatekeeper tells it; its proxies are " +
			"meant too. The ban is stored and holds until it is lifted. It prints what was banned, and an id for each grid job that is killed." + banAdmins,
		example: "jjm ban mallory --reason stolen-key",
		make:    func() verb { return &ban{} },
	}
}

func unbanCommand() command {
	return command{
		name: "unban", args: "USER|DN", min: 1, max: 1, summary: "Take grid jobs of somebody again",
		detail:  "What was killed stays killed." + banAdmins,
		example: "jjm unban mallory",
		make:    func() verb { return &ban{lift: true} },
	}
}

func bansCommand() command {
	return command{
		name: "bans", summary: "Who is kept out, since when, by whom and why",
		detail: banAdmins[1:], example: "jjm bans",
		make: func() verb { return &bans{} },
	}
}

func (b *ban) run(c *cli) error {
	if !b.lift && b.Reason == "" {
		return usage("--reason is missing: say why, for the audit and for those who are refused")
	}
	banned, err := b.askBan(c, &wire.Ban{Lift: b.lift, Name: b.Words[0], Reason: b.Reason})
	if err != nil {
		return err
	}
	if b.JSON {
		return c.printJSON(banned)
	}
	if len(banned.Bans) == 0 {
		_, err := fmt.Fprintf(c.out, "%s no-change\n", field(b.Words[0]))
		return err
	}
	did := "banned"
	if b.lift {
		did = "admitted"
	}
	for _, one := range banned.Bans {
		if _, err := fmt.Fprintf(c.out, "%s %s %s\n", one.Kind, field(one.Name), did); err != nil {
			return err
		}
	}
	for _, id := range banned.Killed {
		if _, err := fmt.Fprintf(c.out, "%s accepted\n", id); err != nil {
			return err
		}
	}
	return nil
}

// askBan puts a wish, or with none asks for the bans in force.
func (p place) askBan(c *cli, b *wire.Ban) (*wire.Banned, error) {
	a, err := p.ask(c, wire.Request{Verb: wire.VerbBan, Ban: b})
	if err == nil && a.Banned == nil {
		err = jjm.Errorf(jjm.Internal, "the daemon's answer holds nothing about bans: is it of another version?")
	}
	return a.Banned, err
}

// bans lists who is kept out.
type bans struct {
	place
	JSON bool
}

func (b *bans) flags(fs *flag.FlagSet) {
	b.place.flags(fs)
	fs.BoolVar(&b.JSON, "json", false, "One JSON object per line.")
}

func (b *bans) run(c *cli) error {
	banned, err := b.askBan(c, nil)
	if err != nil {
		return err
	}
	if !b.JSON {
		return c.banTable(banned.Bans)
	}
	for _, one := range banned.Bans {
		if err := c.printJSON(one); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) banTable(bans []jjm.Ban) error {
	if len(bans) == 0 {
		_, err := c.out.WriteString("nobody is banned\n")
		return err
	}
	rows := [][]string{{"WHAT", "NAME", "BY", "SINCE", "REASON"}}
	for _, b := range bans {
		rows = append(rows, []string{b.Kind, b.Name, jjm.ActorOf(b.By, b.UID), clock(b.Since), b.Reason})
	}
	return c.table(rows)
}
