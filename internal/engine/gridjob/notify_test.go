package gridjob

import (
	"strings"
	"testing"

	"jjm/internal/formats/jobfile"
)

// A site that sends no notices refuses a job file with an address to notify. A job description file of JIM is accepted:
// its address is not notified, but the application finds the address in an environment variable.
func TestCheckNotify_OfASiteWithoutNotices(t *testing.T) {
	toml, problems := jobfile.Parse("job.toml", []byte("type = \"script\"\nnotify = [\"a@example.org\"]\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	jdf, problems := jobfile.Parse("mc.jdf", []byte("job_type = dzero_monte_carlo\nrunjob_requestid = 1\n"+
		"runjob_numevts = 9\n+notify_user = a@example.org\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, doc := range []*jobfile.Doc{&toml, &jdf} {
		if ps := checkNotify(&doc.Spec, doc.IsJIM(), true); len(ps) > 0 || len(doc.Spec.Notify) != 1 {
			t.Errorf("a site with notices: %v %v", ps, doc.Spec.Notify)
		}
	}
	if ps := checkNotify(&toml.Spec, toml.IsJIM(), false); len(ps) != 1 || !strings.Contains(ps[0].Text, "notify.mail") {
		t.Error(ps)
	}
	ps := checkNotify(&jdf.Spec, jdf.IsJIM(), false)
	if len(ps) > 0 || len(jdf.Spec.Notify) > 0 || jdf.Spec.Env["NOTIFY_USER"] == "" {
		t.Error(ps, jdf.Spec)
	}
}
