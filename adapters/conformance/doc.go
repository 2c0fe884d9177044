// Package conformance is the suite that every adapter must pass, with real jobs
// on its real batch system. It does not import testing: adaptertest.Run runs it
// in tests, and "jjm clusters test" runs the checks that a site's own queue can
// bear, besides those of the site itself (see [Site]).
//
// A check is a small function with a name; its sentence says what it proves.
// [Checks] lists them, and docs/ADAPTERS.md shows the same list. A check fails
// by what the adapter says or does, never by how long something took: it waits
// for at most [System].Patience.
package conformance
