package remote

import (
	"fmt"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// Check returns the problems of input i of a job file, whose path is a URL. It contacts no server.
func (is *Inputs) Check(owner jjm.Owner, base string, i int, in *jjm.Input) (ps jjm.Problems) {
	bad := func(key string, text string) {
		ps = append(ps, jjm.Problem{Field: fmt.Sprintf("inputs[%d].%s", i, key), Text: text})
	}
	u, err := weburl.Parse(in.Path)
	if err != nil {
		return nil // parsing the job file reported it
	}
	conf := is.b.Conf().Fetch
	if conf.ParallelPerUser == 0 {
		bad("path", weburl.Shown(in.Path)+": this site fetches nothing (engine.fetch.parallel_per_user = 0): "+
			"fetch it yourself, and name the file")
	} else if err := conf.Refused(u.Hostname()); err != nil {
		bad("path", weburl.Shown(in.Path)+": "+err.Error())
	}
	if _, err := is.credential(owner, base, in); err != nil {
		bad("credential_file", err.Error())
	}
	return ps
}

// Outlook describes, for people, the inputs that would be fetched from servers.
func (is *Inputs) Outlook(spec *jjm.Spec, inputs []jjm.Input) (lines []string) {
	conf := is.b.Conf().Fetch
	for _, w := range wantedOf(spec, inputs) {
		line := fmt.Sprintf("%s: %s would be fetched from %s", w.field, w.in.Name, weburl.Shown(w.in.Path))
		if w.in.CredentialFile != "" {
			line += " with the credential in " + w.in.CredentialFile
		}
		if w.in.SHA256 != "" {
			line += ", and its SHA-256 be checked"
		}
		if conf.MaxBytes > 0 {
			line += fmt.Sprintf("; it may have %d bytes", conf.MaxBytes)
		}
		lines = append(lines, line)
	}
	return lines
}
