package local_test

import (
	"os"
	"testing"
	"time"

	"jjm"
	"jjm/adapters/adaptertest"
)

func TestConformance(t *testing.T) {
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		a := open(t, t.TempDir(), config(4))
		s := adaptertest.System{Adapter: a, Owner: self(), Dir: t.TempDir(), Walltime: time.Second}
		if os.Getuid() == 0 {
			s.Other = &jjm.Owner{UID: 65534, GID: 65534, User: "nobody"}
		}
		return s
	})
}
