package gridjob

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"jjm"
	"jjm/sandbox"
	"jjm/wire"
)

// The credentials of a grid job lie in its owner's work area under its handle,
// private to the account that its jobs run as. They are nowhere else: neither in
// the store, the journal and the record nor in the log.

// checkCredentials finds what a job asks for and was not given. A request key is
// needed, for a renewal names it. What was given is checked elsewhere.
func checkCredentials(spec *jjm.Spec, given []jjm.Credential) (ps jjm.Problems) {
	for i, kind := range spec.Credentials {
		if !slices.ContainsFunc(given, func(c jjm.Credential) bool { return c.Kind == kind }) {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("credentials[%d]", i),
				Text: fmt.Sprintf("the job asks for a %[1]s, and none came with it: jjm submit --%[1]s FILE", kind)})
		}
	}
	if len(spec.Credentials) > 0 && spec.Key == "" {
		ps = append(ps, jjm.Problem{Field: "key",
			Text: "is missing: a job that asks for credentials has a request key, by which they are renewed"})
	}
	return ps
}

// told completes what a gatekeeper told of where a grid job comes from by what
// its credentials say of their bearer. What the gatekeeper told stands: it has
// verified it.
func told(o *jjm.Origin, given []jjm.Credential) *jjm.Origin {
	if o == nil {
		return nil // nobody stands in between: the account is who asks
	}
	full := *o
	for _, c := range given {
		subject, issuer, vo := sandbox.Whose(c)
		if full.Subject == "" {
			full.Subject, full.Issuer = subject, cmp.Or(full.Issuer, issuer)
		}
		full.VO = cmp.Or(full.VO, vo)
	}
	if len(full.Problems()) > 0 {
		return o // nothing that can be shown
	}
	return &full
}

// putCredentials stores, of what the jobs ask for, what is newer than what is
// there, and tells which kinds it was. It comes before the grid job is stored, so
// that no job starts without them.
func (js *Jobs) putCredentials(owner jjm.Owner, spec *jjm.Spec, given []jjm.Credential) (kinds []string, err error) {
	h := jjm.HandleOf(owner.UID, spec.Key)
	for _, c := range given {
		if !slices.Contains(spec.Credentials, c.Kind) {
			continue
		}
		ar, err := js.areas.Of(owner)
		if err != nil {
			return kinds, err
		}
		stored, err := ar.PutCredential(h, c)
		if err != nil {
			return kinds, fmt.Errorf("store the %s: %w", c.Kind, err)
		}
		if stored {
			end, _ := sandbox.Expiry(c.Kind, string(c.Secret))
			js.b.Log.Info("credential stored", "kind", c.Kind, "owner", owner.User, "handle", h, "until", end)
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds, nil
}

// dropCredentials removes those of a grid job that is over or never came to be,
// unless another live one has the same key.
func (js *Jobs) dropCredentials(owner jjm.Owner, spec *jjm.Spec, over jjm.GridID) {
	if len(spec.Credentials) == 0 || js.keyLives(owner, spec.Key, over) {
		return
	}
	ar, err := js.areas.Of(owner)
	if err == nil {
		err = ar.RemoveCredentials(jjm.HandleOf(owner.UID, spec.Key))
	}
	if err != nil {
		js.b.Log.Warn("credentials of a grid job that is over stay", "owner", owner.User, "error", err)
	}
}

// keyLives reports whether a live grid job, other than the one given, has a
// request key of an owner.
func (js *Jobs) keyLives(owner jjm.Owner, key string, but jjm.GridID) bool {
	v := js.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
		if id != but && g.Job.Spec.Key == key && g.Job.Owner.UID == owner.UID && !g.Job.Status.Final() {
			return true
		}
	}
	return false
}

// Renew returns the jobs of a grid job newer credentials, in the place of those
// that they have. It tells which kinds were newer.
func (js *Jobs) Renew(ctx context.Context, caller wire.Caller, id jjm.GridID, given []jjm.Credential) (wire.Renewal,
	error) {
	job, err := js.s.Find(ctx, caller, id)
	if err == nil {
		err = renewable(caller, &job, given)
	}
	if err != nil {
		return wire.Renewal{}, err
	}
	kinds, err := js.putCredentials(job.Owner, &job.Spec, given)
	return wire.Renewal{Kinds: kinds, NotReached: js.rooms.Clusters.NotReached(id, kinds)}, err
}

// renewable says why a caller may not give a grid job credentials.
func renewable(caller wire.Caller, job *jjm.GridJob, given []jjm.Credential) error {
	switch {
	case job.Status.Final():
		return jjm.Errorf(jjm.Conflict, "grid job %s is %s: its credentials are not needed any more", job.ID, job.Status)
	case len(job.Spec.Credentials) == 0:
		return jjm.Errorf(jjm.Conflict, "the jobs of grid job %s did not ask for credentials", job.ID)
	}
	if ps := jjm.CheckCredentials(given); len(ps) > 0 {
		return ps.Err()
	}
	if caller.UID == job.Owner.UID {
		return nil
	}
	return onBehalf(job, given)
}

// onBehalf says why credentials may not be handed on for somebody else: it must be
// known whose the grid job is, and whose each of them.
func onBehalf(job *jjm.GridJob, given []jjm.Credential) error {
	whose := ""
	if job.Origin != nil {
		whose = job.Origin.Subject
	}
	if whose == "" {
		return jjm.Errorf(
			jjm.Denied, "grid job %s: no subject is known of who submitted it: only its owner, %s, can renew its credentials",
			job.ID, job.Owner.User)
	}
	for _, c := range given {
		switch subject, _, _ := sandbox.Whose(c); {
		case subject == "":
			return jjm.Errorf(jjm.Denied, "grid job %s is one of %s: the %s names no subject, so it is not known whose it is",
				job.ID, whose, c.Kind)
		case !jjm.SameDN(subject, whose):
			return jjm.Errorf(jjm.Denied, "grid job %s is one of %s: the %s is one of %s", job.ID, whose, c.Kind, subject)
		}
	}
	return nil
}

// credentialsOf are the files that the jobs of a grid job find through their
// environment, below the area, by the names of the variables.
func credentialsOf(job *jjm.GridJob) map[string]string {
	if len(job.Spec.Credentials) == 0 {
		return nil
	}
	files := map[string]string{}
	for _, kind := range job.Spec.Credentials {
		files[jjm.CredentialKinds()[kind]] = sandbox.CredentialPath(jjm.HandleOf(job.Owner.UID, job.Spec.Key), kind)
	}
	return files
}
