package collector

import (
	"context"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// Collector is a broker's collector: a server that holds the ads of sites. The errors of its methods are of kind Busy:
// the call may be repeated.
type Collector interface {
	// Send publishes an ad. A nil error does not prove that the collector accepted it.
	Send(ctx context.Context, ad string) error
	// Held returns all ads of a site, including ads of other publishers.
	Held(ctx context.Context, site string) ([]advertise.Held, error)
	// Withdraw removes the ad of an instance. It returns nil if the collector has no such ad.
	Withdraw(ctx context.Context, site, instance string) error
}

// condor is a collector of HTCondor.
type condor struct {
	cli     adapters.CLI
	pool    string
	timeout time.Duration // for each command
}

var _ Collector = condor{}

func (c condor) Send(ctx context.Context, ad string) error {
	_, err := c.run(ctx, ad, "condor_advertise", "-pool", c.pool, "-tcp", "UPDATE_AD_GENERIC", "-")
	return err
}

func (c condor) Held(ctx context.Context, site string) ([]advertise.Held, error) {
	out, err := c.run(ctx, "", "condor_status", "-pool", c.pool, "-any", "-constraint", advertise.Constraint(site),
		"-json")
	if err != nil {
		return nil, err
	}
	return advertise.ParseHeld(out)
}

func (c condor) Withdraw(ctx context.Context, site, instance string) error {
	_, err := c.run(ctx, advertise.Withdrawal(site, instance), "condor_advertise", "-pool", c.pool, "-tcp",
		"INVALIDATE_ADS_GENERIC", "-")
	return err
}

// run runs a command. It returns an error unless the command exits with 0.
func (c condor) run(ctx context.Context, stdin string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	out, err := c.cli.Run(ctx, []byte(stdin), argv...)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%w", err)
	}
	if out.Exit != 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, outputOf(out.Stderr, out.Stdout))
	}
	return out.Stdout, nil
}

// outputOf returns the output of a failed command as one line.
func outputOf(stderr, stdout []byte) string {
	const most = 300
	words := strings.Fields(string(stderr) + " " + string(stdout))
	text := strings.Join(words, " ")
	if text == "" {
		return "it printed nothing"
	}
	return text[:min(len(text), most)]
}
