package xmldb

import "slices"

// element describes an element of a record: the attributes and children that belong to jjm. All other content of the
// element is foreign and is kept.
type element struct {
	attrs []string
	kids  map[string]*element
	// key distinguishes siblings of this name: the name of an attribute, or "#" for their order; "" if there is only
	// one element of this name.
	key string
}

// owns reports whether an attribute of the element belongs to jjm.
func (e *element) owns(attr string) bool { return slices.Contains(e.attrs, attr) }

// truncated is the attribute that marks an element with cut content.
const truncated = "truncated"

// leaf describes an element without children of jjm.
func leaf(key string, attrs ...string) *element {
	return &element{key: key, attrs: append(attrs, truncated)}
}

// headLayout and shardLayout describe the two documents. docs/record.xsd contains the same description; a test compares
// the two.
func headLayout() *element {
	return &element{
		attrs: []string{"schemaVersion", "id", "type", "name", "model", "key", "mode", "result", "owner", "uid", "gid",
			"status", "gram", "code", "master", "exit", "proof", "jobs", "generation", "after", "afterEnd", "kill", "killedBy",
			"accepted", "changed", "ended", "written", truncated},
		kids: map[string]*element{
			"message": leaf(""),
			"reason":  leaf(""),
			"counts": leaf("", "expected", "total", "new", "submitting", "submitted", "running",
				"completing", "completed", "failed", "killed", "held", "completed_frozen", "failed_frozen"),
			"clusterjobs": {attrs: []string{truncated},
				kids: map[string]*element{"clusterjob": leaf("id", "id", "cluster", "jobs", "new",
					"submitting", "submitted", "running", "completing", "completed", "failed", "killed", "held",
					"completed_frozen", "failed_frozen")}},
			"inputs": {attrs: []string{truncated}, kids: map[string]*element{"dataset": leaf("name", "name", "master", "open",
				"files", "toBeUsed", "used", "finished", "failed", "events", "eventsUsed")}},
			"warnings": {attrs: []string{truncated},
				kids: map[string]*element{"warning": leaf("#", "kind", "count", "first")}},
			"step": {
				key: "n",
				attrs: []string{"n", "cluster", "splitter", "expected", "made", "closed", "prepared", "name", "done", "of", "new",
					"submitting", "submitted", "running", "completing", "completed", "failed", "killed", "held",
					"completed_frozen", "failed_frozen", "merging", "givenBack", truncated},
				kids: map[string]*element{"why": leaf("#")},
			},
			"phases": {
				attrs: []string{truncated},
				kids:  map[string]*element{"progress": leaf("phase", "phase", "done", "total")},
			},
			"output": leaf("", "tar", "name", "bytes", "sha256"),
			"origin": leaf("", "gatekeeper", "job", "subject", "issuer", "vo", "submitHost", "memo"),
			"usage":  usageLayout(),
			"endings": {attrs: []string{truncated}, kids: map[string]*element{"ending": {
				key: "generation",
				attrs: []string{"generation", "status", "gram", "code", "master", "exit", "expected", "jobs", "completed",
					"failed", "killed", "completed_frozen", "failed_frozen", "kill", "killedBy", "tar", "name", "bytes",
					"sha256", "ended", "reopened", "by", "why", truncated},
				kids: map[string]*element{"message": leaf(""), "usage": usageLayout()},
			}}},
			"causes": {attrs: []string{truncated},
				kids: map[string]*element{"cause": leaf("first", "text", "jobs", "first", "exit", "host", "again")}},
			"shards": {
				attrs: []string{"size", "count", truncated},
				kids:  map[string]*element{"shard": leaf("n", "n", "file", "first", "last")},
			},
		},
	}
}

// usageLayout describes the element usage.
func usageLayout() *element {
	return leaf("", "batch", "host", "wallMs", "userMs", "sysMs", "maxRssKb", "signal", "processors", "started", "ended")
}

func shardLayout() *element {
	return &element{
		attrs: []string{"schemaVersion", "gridjob", "shard", "written", truncated},
		kids: map[string]*element{"localjob": {
			key: "id",
			attrs: []string{"id", "state", "phase", "attempt", "batch", "host", "submitted", "started", "ended",
				"exit", "tag", "pos", "notBefore", "kill", "early", "lateHandled", "lateUnhandled",
				"resubmitted", "notResubmitted", "cluster", "waits", "hold", "starts", "said", "at", "heldBy", "heldSince",
				"step", truncated},
			kids: map[string]*element{
				"part": {attrs: []string{"unit", "first", "count", "serial", truncated},
					kids: map[string]*element{"arg": leaf("#")}},
				"message":  leaf(""),
				"progress": leaf("", "phase", "done", "total"),
			},
		}},
	}
}

// reserved reports whether name, without a namespace, is an element of jjm. Fragments must not use such a name.
func reserved(name string) bool {
	switch name {
	case "gridjob", "localjobs", "localjob", "fragment", "message", "reason", "counts", "clusterjobs",
		"clusterjob", "inputs", "dataset", "step", "why", "phases", "progress", "output", "origin", "usage", "causes",
		"cause", "shards", "shard", "part", "arg", "warnings", "warning", "endings", "ending":
		return true
	}
	return false
}
