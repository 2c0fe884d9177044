package head

import (
	"bytes"
	"encoding/xml"
	"testing"

	"jjm/internal/jjm"
)

// FuzzShard checks that, for any shard, the local jobs that are read have known states, and numbers of at least 0.
func FuzzShard(f *testing.F) {
	f.Add([]byte(`<localjobs><localjob id="17.1" state="held" attempt="1" exit="3" at="2026-03-01T12:00:00Z" heldBy="x">` +
		`<part unit="row"><arg>a</arg></part><message>m</message><progress done="1"/><phase/></localjob></localjobs>`))
	f.Add([]byte(`<localjobs><localjob id="17.0-2" state="new"/></localjobs>`))
	f.Add([]byte(`<localjobs><localjob id="17.0" state="new" attempt="-1" pos="4294967296"/></localjobs>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := parser{d: xml.NewDecoder(bytes.NewReader(b))}
		_ = p.shard(func(l jjm.LocalJob) bool { // an error ends the reading
			if l.State.String() == "?" || l.ID.Grid < 1 || l.ID.N < 0 || l.Attempt < 0 || l.Pos < 0 || l.Step < 0 {
				t.Fatalf("accepted %q as %+v", b, l)
			}
			return true
		})
	})
}

// FuzzHistory checks that, for any history, the changes that are read belong to its grid job.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`<history gridjob="17"><change seq="1" time="2026-03-01T12:00:00Z" first="0" last="2" to="x">y</change>` +
		`</history>`))
	f.Add([]byte(`<history gridjob="17"><change first="4294967296" last="-1"/><x/></history>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHistory(b, 17)
		if err != nil {
			return
		}
		for _, c := range h.Changes {
			if c.Grid != 17 || c.First < -1 || c.Last < -1 {
				t.Fatalf("accepted %q as %+v", b, c)
			}
		}
	})
}
