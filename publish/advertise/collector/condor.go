package collector

import (
	"context"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/publish/advertise"
)

// Collector is what a broker's collector can be asked. Errors are of kind Busy:
// it can be tried again.
type Collector interface {
	// Send publishes an ad. That it succeeds does not mean that the ad is there.
	Send(ctx context.Context, ad string) error
	// Held returns the ads of that name, whoever published them.
	Held(ctx context.Context, site string) ([]advertise.Held, error)
	// Withdraw takes an instance's ad away. That none is there is a success.
	Withdraw(ctx context.Context, site, instance string) error
}

// condor is a collector of HTCondor.
type condor struct {
	cli     adapters.CLI
	pool    string
	timeout time.Duration // of each command
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

// run runs a command that must end with 0.
func (c condor) run(ctx context.Context, stdin string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	out, err := c.cli.Run(ctx, []byte(stdin), argv...)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%w", err)
	}
	if out.Exit != 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, complaint(out.Stderr, out.Stdout))
	}
	return out.Stdout, nil
}

// complaint is what a command said, in one line.
func complaint(stderr, stdout []byte) string {
	const most = 300
	words := strings.Fields(string(stderr) + " " + string(stdout))
	text := strings.Join(words, " ")
	if text == "" {
		return "it said nothing"
	}
	return text[:min(len(text), most)]
}
