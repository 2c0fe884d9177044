package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// secrets holds the flags that name files with credentials.
type secrets struct {
	Proxy string `placeholder:"FILE" help:"Give the jobs the proxy certificate in this file."`
	Token string `placeholder:"FILE" help:"Give the jobs the bearer token in this file."`
}

// maxSecretFile is the greatest length of a file with a credential, in bytes.
const maxSecretFile = 512 << 10

// read returns the credentials in the files that the flags name. Its errors name the file and never contain its
// content.
func (s secrets) read() ([]jjm.Credential, error) {
	var all []jjm.Credential
	for _, c := range []struct{ kind, file string }{{jjm.ProxyKind, s.Proxy}, {jjm.TokenKind, s.Token}} {
		if c.file == "" {
			continue
		}
		f, err := openRegular(c.file)
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

// openRegular opens a regular file, and returns an error for any other file. It does not wait for the writer of a pipe,
// as opening a pipe normally does.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is a %s: want a regular file", name, jjm.FileKind(info.Mode()))
	}
	return f, nil
}

// renew replaces the credentials of a grid job by newer credentials.
type renew struct {
	secrets
	ID string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Help returns the text of --help below the usage.
func (*renew) Help() string {
	return "The file with the credential is replaced, also for running jobs; jobs that cannot get the new one are " +
		"listed with the reason. It prints ID renewed KIND, or ID no-change: a credential that ends earlier than " +
		"that of the jobs is not used. Why one is not used is on standard error. To submit again with the same key also renews."
}

// Run carries out jjm renew.
func (r *renew) Run(c *cli) error {
	var err error
	if r.ID, err = r.one(c, "renew", r.ID, true, false); err != nil {
		return err
	}
	given, err := r.secrets.read()
	if err != nil {
		return err
	}
	if len(given) == 0 {
		return usage("want --proxy FILE or --token FILE; see jjm renew --help")
	}
	a, err := ask(c, r.place, wire.VerbRenew(), wire.RenewRequest{One: wire.OneRef(r.ID), Credentials: given})
	if err != nil {
		return err
	}
	for _, note := range slices.Concat(a.NotReached, a.Notes) {
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
