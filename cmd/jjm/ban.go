package main

import (
	"fmt"
	"strconv"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// whom holds the flags of a command about one account or DN.
type whom struct {
	Reason string `placeholder:"TEXT" help:"The reason, for the audit and for those concerned. A ban needs one."`
	JSON   bool   `name:"json" help:"One JSON object per line."`
	Name   string `arg:"" name:"USER|DN" help:"An account, or the DN of a certificate or token."`

	place
}

// ban bans an account or a DN.
type ban struct{ whom }

// unban ends a ban.
type unban struct{ whom }

const banAdmins = " For administrators: root, with gate.mode 0600 the daemon's account, and those of the setting gate.admins."

// Help returns the text of --help below the usage.
func (*ban) Help() string {
	return "An account is given by a name that getent(1) knows or by its number, and the number is banned. A name " +
		"that contains / or = is the DN of a certificate or token as the gatekeeper reports it; proxies of the " +
		"certificate are banned too. The ban is stored and lasts until it is lifted. It prints the ban, and the " +
		"id of each grid job that is killed." + banAdmins
}

// Help returns the text of --help below the usage.
func (*unban) Help() string { return "Jobs that were killed stay killed." + banAdmins }

// Run carries out jjm ban.
func (b *ban) Run(c *cli) error {
	if b.Reason == "" {
		return usage("--reason is missing: say why, for the audit and for those who are refused")
	}
	return b.put(c, false)
}

// Run carries out jjm unban.
func (b *unban) Run(c *cli) error { return b.put(c, true) }

// put sets or ends the ban.
func (b *whom) put(c *cli, lift bool) error {
	banned, err := b.askBan(c, &wire.Ban{Lift: lift, Name: b.Name, Reason: b.Reason})
	if err != nil {
		return err
	}
	if b.JSON {
		return c.printJSON(banned)
	}
	if banned.NoChange || len(banned.Bans) == 0 {
		_, err := fmt.Fprintf(c.out, "%s no-change\n%s", field(b.Name), noteLines(banned.Notes))
		return err
	}
	did := "banned"
	if lift {
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

// askBan sends the request. With nil it asks for the bans in force.
func (p place) askBan(c *cli, b *wire.Ban) (*wire.Banned, error) {
	a, err := ask(c, p, wire.VerbBan(), wire.BanRequest{Ban: b})
	return a.Banned, err
}

// bans lists the bans in force.
type bans struct {
	JSON bool `name:"json" help:"One JSON object per line."`

	place
}

// Help returns the text of --help below the usage.
func (*bans) Help() string {
	return banAdmins[1:]
}

// Run carries out jjm bans.
func (b *bans) Run(c *cli) error {
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
	rows := [][]string{{"WHAT", "NAME", "UID", "BY", plain.Zoned("SINCE"), "REASON"}}
	for _, b := range bans {
		uid := "-"
		if b.Account != nil {
			uid = strconv.Itoa(*b.Account)
		}
		rows = append(rows, []string{b.Kind, b.Name, uid, jjm.ActorOf(b.By, b.UID), plain.TableClock(b.Since), b.Reason})
	}
	return c.table(rows, "NAME", "BY", "REASON")
}
