package verbs

import (
	"context"
	"time"

	"jjm/gate"
	"jjm/wire"
)

// adTime is how long an ad may be on its way: of a collector that hangs the answer tells within the time that clients
// wait for one.
const adTime = 20 * time.Second

// Advertise tells what the site tells brokers of itself, and where it stands. With now set do sends it first.
func Advertise(do func(ctx context.Context, now bool) (wire.Advertised, error)) gate.Verb {
	return gate.Handle(wire.VerbAdvertise(), gate.AnyoneReads,
		func(ctx context.Context, _ gate.Caller, r wire.AdvertiseRequest) (wire.AdvertiseAnswer, error) {
			ad, err := do(ctx, r.Now)
			return wire.AdvertiseAnswer{Advertised: &ad}, err
		}).Within(adTime)
}
