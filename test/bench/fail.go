package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

// failure is the panic that ends a section, or a call of a child.
type failure struct{ error }

// errNotMeasured is in the error of a section that this machine cannot measure.
var errNotMeasured = errors.New("NOT MEASURED")

// check ends the section if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns v, and ends the section if err is not nil.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// try calls do and returns the error with which check, must or a helper of tests ended it.
func try(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.error
		}
	}()
	do()
	return nil
}

// tb is what the helpers of internal/testkit get instead of a test.
type tb struct {
	testing.TB // always nil: tb has all methods that the helpers call
	say        func(format string, args ...any)
	failed     bool
	cleanups   []func()
}

func (t *tb) Helper()                           {}
func (t *tb) Failed() bool                      { return t.failed }
func (t *tb) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *tb) Logf(format string, args ...any)   { t.say(format, args...) }
func (t *tb) Fatal(args ...any)                 { check(errors.New(fmt.Sprint(args...))) }
func (t *tb) Fatalf(format string, args ...any) { check(fmt.Errorf(format, args...)) }
func (t *tb) Skip(args ...any)                  { check(fmt.Errorf("%w: %s", errNotMeasured, fmt.Sprint(args...))) }
func (t *tb) Skipf(format string, args ...any) {
	check(fmt.Errorf("%w: %s", errNotMeasured, fmt.Sprintf(format, args...)))
}

// section calls do, and then the cleanups that do registered.
func (t *tb) section(do func()) error {
	errs := []error{try(do)}
	t.failed = errs[0] != nil && !errors.Is(errs[0], errNotMeasured)
	for _, f := range slices.Backward(t.cleanups) {
		errs = append(errs, try(f))
	}
	t.cleanups = nil
	return errors.Join(errs...)
}

// pollEvery is the pause between two looks of a wait.
const pollEvery = 10 * time.Millisecond

// until waits until ok returns true. The limit only ends waits for what never happens.
func (t *tb) until(what string, ok func() bool) {
	programs.Await(t, await.Guard(30*time.Minute), pollEvery, what, ok)
}
