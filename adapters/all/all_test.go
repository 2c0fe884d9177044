package all

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/command"
	"jjm/internal/jjm"
)

func TestRegistry_EveryKindMakesAnAdapterOfTheGivenName(t *testing.T) {
	for kind, make := range Registry() {
		t.Run(kind, func(t *testing.T) {
			if !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(kind) {
				t.Errorf("kind %q: want a short word that fits a configuration file", kind)
			}
			env := adapters.Env{State: t.TempDir(), Now: time.Now}
			a, err := make("site-"+kind, env, func(into any) error { return least(into) })
			if err != nil {
				t.Fatal(err)
			}
			if a.Name() != "site-"+kind {
				t.Errorf("name %q", a.Name())
			}
			c := a.Capabilities()
			if c.MaxBulk < 1 || c.Guarantee == "" {
				t.Errorf("capabilities %+v: want MaxBulk and Guarantee", c)
			}
			stop(t, a)
		})
	}
}

// A setting with the same meaning has the same key for all batch systems. The embedded batch system is an exception: it
// has no commands, and its jobs have no queue, account, project or QOS.
func TestRegistry_EveryKindButTheEmbeddedHasTheCommonSettings(t *testing.T) {
	for kind, make := range Registry() {
		has := false
		_, err := make("x", adapters.Env{State: t.TempDir()}, func(into any) error {
			_, has = reflect.TypeOf(into).Elem().FieldByName("Common")
			if f := reflect.ValueOf(into).Elem().FieldByName("Common"); has && !f.Interface().(adapters.Common).SharedFS {
				t.Errorf("%s: it does not begin with the common defaults", kind)
			}
			return errors.New("enough")
		})
		if has == (kind == "local") || err == nil {
			t.Errorf("%s: common settings %v, error %v", kind, has, err)
		}
	}
}

// least returns the settings that a kind of cluster requires.
func least(into any) error {
	c, ok := into.(*command.Config)
	if !ok {
		return nil
	}
	path, err := filepath.Abs("../../etc/adapters/lsf.toml")
	if err != nil {
		return err
	}
	return c.Description.UnmarshalText([]byte(path))
}

// stop runs the adapter with a context that has ended, so that the adapter releases its resources.
func stop(t *testing.T, a adapters.Adapter) {
	t.Helper()
	if r, ok := a.(adapters.Runner); ok {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestRegistry_AMistakeInTheConfigurationIsPassedOn(t *testing.T) {
	wrong := errors.New("unknown key")
	for kind, make := range Registry() {
		_, err := make("x", adapters.Env{State: t.TempDir()}, func(any) error { return wrong })
		if !errors.Is(err, wrong) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}

func TestRegistry_TwoAdaptersDoNotShareAState(t *testing.T) {
	env := adapters.Env{State: t.TempDir()}
	a, err := Registry()["local"]("a", env, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	if _, err := Registry()["local"]("b", env, func(any) error { return nil }); jjm.KindOf(err) != jjm.Conflict {
		t.Errorf("error %v", err)
	}
}
