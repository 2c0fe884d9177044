// Package conformance is the suite that every adapter must pass, with real jobs on its real
// batch system. It does not import testing: adaptertest.Run runs it in tests, and "jjm
// clusters test" runs the checks that a site's own queue can bear and those of the site
// itself (see [Site]).
//
// A check is a small function with a name and a sentence that says what it proves. [Checks]
// lists them; docs/ADAPTERS.md has the same list. A check fails because of what the adapter
// says or does, not because something was slow: it waits for up to [System].Patience.
package conformance
