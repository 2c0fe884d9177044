package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"jjm"
	"jjm/wire"
)

// secrets are the flags that name files of credentials.
type secrets struct {
	Proxy string `placeholder:"FILE" help:"The jobs may use the proxy certificate in this file."`
	Token string `placeholder:"FILE" help:"The jobs may use the bearer token in this file."`
}

// maxSecretFile is the longest file of a credential, in bytes.
const maxSecretFile = 512 << 10

// read returns the credentials; an error names the file, never what is in it.
func (s secrets) read() ([]jjm.Credential, error) {
	var all []jjm.Credential
	for _, c := range []struct{ kind, file string }{{jjm.ProxyKind, s.Proxy}, {jjm.TokenKind, s.Token}} {
		if c.file == "" {
			continue
		}
		f, err := os.Open(c.file)
		if err != nil {
			return nil, usage("--%s: %w", c.kind, err)
		}
		text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
		_ = f.Close()
		if err != nil {
			return nil, usage("--%s: %w", c.kind, err)
		}
		if len(strings.TrimSpace(string(text))) == 0 || len(text) > maxSecretFile {
			return nil, usage("--%s %s: want a file of 1 to %d bytes", c.kind, c.file, maxSecretFile)
		}
		all = append(all, jjm.Credential{Kind: c.kind, Secret: jjm.Secret(text)})
	}
	return all, nil
}

// renew gives a grid job newer credentials.
type renew struct {
	secrets
	ID string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Help is the rest of its help.
func (*renew) Help() string {
	return "The file that the jobs have is replaced, also for those that run; jobs that it does not reach are told of, with the reason. It prints ID renewed KIND, or ID no-change: one that " +
		"ends earlier than what the jobs have is not taken. A submission again, with the same key, renews too."
}

// Run implements the command.
func (r *renew) Run(c *cli) error {
	if err := checkRefs([]string{r.ID}, true); err != nil {
		return err
	}
	given, err := r.secrets.read()
	if err != nil {
		return err
	}
	if len(given) == 0 {
		return usage("want --proxy FILE or --token FILE; see jjm renew --help")
	}
	a, err := ask(c, r.place, wire.VerbRenew(), wire.RenewRequest{One: wire.Of(r.ID), Credentials: given})
	if err != nil {
		return err
	}
	for _, note := range a.NotReached {
		c.say("%s", note)
	}
	if len(a.Renewed) == 0 {
		_, err = fmt.Fprintf(c.out, "%s no-change\n", field(r.ID))
	}
	for _, kind := range a.Renewed {
		if _, err := fmt.Fprintf(c.out, "%s renewed %s\n", field(r.ID), field(kind)); err != nil {
			return err
		}
	}
	return err
}
