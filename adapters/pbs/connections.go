package pbs

// ConnectsPerID implements conformance.PerID. It returns true, because each id on a command line costs the host a
// connection, which keeps a reserved port in use for a minute.
func (a *Adapter) ConnectsPerID() bool { return true }
