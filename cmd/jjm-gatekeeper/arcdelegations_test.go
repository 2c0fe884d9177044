package main

import (
	"os"
	"path/filepath"
	"testing"

	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
)

// The user owns job.ID.local and can write the id of any credential into it. If A-REX keeps no credential for the job,
// the job has the proxy with which it was submitted.
func TestProxyNow_TakesNoDelegationThatTheUserNames(t *testing.T) {
	control := t.TempDir()
	const victims = "0123456789abcdef"
	kept := filepath.Join(control, arc.DelegationFile(victims))
	for path, text := range map[string]string{kept: "the victim's proxy",
		filepath.Join(control, "job.2.local"): "delegationid=" + victims + "\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	owner := &jjm.Owner{UID: 4711, GID: 4711}
	e := &arcEntry{control: control, owner: owner, Job: arc.Job{GridID: "2", Proxy: "/own/proxy"},
		delegations: &delegations{control: control}}
	if file, keeper, err := e.proxyNow(); file != "/own/proxy" || keeper != owner || err != nil {
		t.Errorf("it takes %q as %+v, %v: want the job's own as its owner", file, keeper, err)
	}
}
