package verbs

import (
	"context"
	"time"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// adTime is how long sending an ad may take. If a collector hangs, the answer that says so
// must still come within the time that clients wait.
const adTime = 20 * time.Second

// Advertise makes the verb that shows the site's ad and its state in each collector. If now
// is set, do sends the ad first.
func Advertise(do func(ctx context.Context, now bool) (wire.Advertised, error)) gate.Verb {
	return gate.Handle(wire.VerbAdvertise(), gate.AnyoneReads,
		func(ctx context.Context, _ gate.Caller, r wire.AdvertiseRequest) (wire.AdvertiseAnswer, error) {
			ad, err := do(ctx, r.Now)
			return wire.AdvertiseAnswer{Advertised: &ad}, err
		}).Within(adTime)
}
