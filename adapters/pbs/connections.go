package pbs

// ConnectsPerID implements conformance.PerID: each id that a command names costs the host a connection, and
// a reserved port for a minute.
func (a *Adapter) ConnectsPerID() bool { return true }
