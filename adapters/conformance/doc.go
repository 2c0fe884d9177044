// Package conformance is the suite that every adapter must pass, with real jobs on its real batch system. It does not
// import testing: adaptertest.Run runs the checks in tests, and "jjm clusters test" runs the checks that a site's own
// queue can bear and the checks of the site itself (see [Site]).
//
// A check is a small function with a name and a sentence that says what the check proves. [Checks] lists all checks;
// docs/ADAPTERS.md has the same list. A check fails because the adapter's answers or actions are wrong, not because the
// batch system was slow: it waits for up to [System].Patience.
package conformance
