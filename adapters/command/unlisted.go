package command

import "slices"

// Unlisted returns the facts that the listing of this description never contains. Possible facts are host, submitted,
// started, ended, exit and signal. It implements conformance.Partial.
func (a *Adapter) Unlisted() (facts []string) {
	list := a.d.list
	has := list.format.fields()
	for _, f := range []field{fieldHost, fieldSubmitted, fieldStarted, fieldEnded, fieldExit} {
		if !slices.Contains(has, f) {
			facts = append(facts, fieldNames()[f])
		}
	}
	inExit := slices.Contains(has, fieldExit) && list.exit != exitPlain
	if !inExit && !slices.Contains(has, fieldSignal) {
		facts = append(facts, fieldNames()[fieldSignal])
	}
	return facts
}
