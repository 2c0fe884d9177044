package main

import "jjm/internal/policy/analyse/rule"

// rules prints the rules that jjm ships.
type rules struct{}

// Help returns the text of --help below the usage.
func (*rules) Help() string {
	return "The rules are printed as TOML. A rule of the same name in the configuration of the site ([[engine.rule]]), " +
		"or in the file of a job type ([[rule]]), replaces a shipped rule; rules with other names come before the " +
		"shipped rules. It needs no daemon."
}

// Run carries out jjm rules.
func (*rules) Run(c *cli) error {
	_, err := c.out.WriteString(rule.ShippedText())
	return err
}
