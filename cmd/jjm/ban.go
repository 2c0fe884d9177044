package main

import (
	"fmt"
	"strconv"

	"jjm"
	"jjm/wire"
)

// whom is somebody who is banned, or let in again.
type whom struct {
	Reason string `placeholder:"TEXT" help:"Say why: the audit and those concerned are told."`
	JSON   bool   `name:"json" help:"One JSON object per line."`
	Name   string `arg:"" name:"USER|DN" help:"An account, or the DN of a certificate or token."`

	place
}

// ban keeps somebody out.
type ban struct{ whom }

// unban lets somebody in again.
type unban struct{ whom }

const banAdmins = " For administrators: root, with gate.mode 0600 the daemon's account, and those of the setting gate.admins."

// Help is the rest of its help.
func (*ban) Help() string {
	return "An account is named by any name that getent(1) knows, or by its number, and kept out by its number. A name " +
		"that holds / or = is the DN of a certificate or token as the gatekeeper tells it; its proxies are meant too. " +
		"The ban is stored and holds until it is lifted. It prints what was banned, and an id for each grid job that is " +
		"killed." + banAdmins
}

// Help is the rest of its help.
func (*unban) Help() string { return "What was killed stays killed." + banAdmins }

// Run implements the command.
func (b *ban) Run(c *cli) error {
	if b.Reason == "" {
		return usage("--reason is missing: say why, for the audit and for those who are refused")
	}
	return b.put(c, false)
}

// Run implements the command.
func (b *unban) Run(c *cli) error { return b.put(c, true) }

// put bans, or lifts the ban.
func (b *whom) put(c *cli, lift bool) error {
	banned, err := b.askBan(c, &wire.Ban{Lift: lift, Name: b.Name, Reason: b.Reason})
	if err != nil {
		return err
	}
	if b.JSON {
		return c.printJSON(banned)
	}
	if len(banned.Bans) == 0 {
		_, err := fmt.Fprintf(c.out, "%s no-change\n", field(b.Name))
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

// askBan puts a wish, or with none asks for the bans in force.
func (p place) askBan(c *cli, b *wire.Ban) (*wire.Banned, error) {
	a, err := ask(c, p, wire.VerbBan(), wire.BanRequest{Ban: b})
	return a.Banned, err
}

// bans lists who is kept out.
type bans struct {
	JSON bool `name:"json" help:"One JSON object per line."`

	place
}

// Help is the rest of its help.
func (*bans) Help() string {
	return banAdmins[1:]
}

// Run implements the command.
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
	rows := [][]string{{"WHAT", "NAME", "UID", "BY", "SINCE", "REASON"}}
	for _, b := range bans {
		uid := "-"
		if b.Account != nil {
			uid = strconv.Itoa(*b.Account)
		}
		rows = append(rows, []string{b.Kind, b.Name, uid, jjm.ActorOf(b.By, b.UID), clock(b.Since), b.Reason})
	}
	return c.table(rows)
}
