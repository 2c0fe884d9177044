package gridjob

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// The credentials of a grid job are files in its owner's work area, in a folder named after its handle, readable only
// by the account that runs its jobs. The store, the journal, the record and the log have no copy of the credentials.

// checkCredentials returns a problem for each credential that a job requests but that did not come with the submission.
// It also returns a problem if the job requests credentials and has no request key, because renewals need the key.
// jjm.CheckCredentials checks the contents of the credentials.
func checkCredentials(spec *jjm.Spec, given []credential.Parsed) (ps jjm.Problems) {
	for i, kind := range spec.Credentials {
		if !slices.ContainsFunc(given, func(c credential.Parsed) bool { return c.Kind == kind }) {
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

// completedOrigin adds the subject, the issuer and the VO that the credentials name to the origin of a grid job. It
// keeps all values that the gatekeeper reported. The origin is verified if the caller is an administrator; a request
// cannot say so itself.
func completedOrigin(o *jjm.Origin, given []credential.Parsed, admin bool) *jjm.Origin {
	if o == nil {
		return nil // no gatekeeper: the account itself submits
	}
	full := *o
	for _, c := range given {
		if full.Subject == "" {
			full.Subject, full.Issuer = c.Subject, cmp.Or(full.Issuer, c.Issuer)
		}
		full.VO = cmp.Or(full.VO, c.VO)
	}
	if len(full.Problems()) > 0 {
		full = *o // the credentials hold texts that cannot be shown
	}
	full.Verified = admin
	return &full
}

// putCredentials stores the given credentials that a grid job asks for and that are newer than the
// stored credentials, and returns their kinds. It is called before the grid job is stored, so that
// no job starts without credentials.
func (js *Jobs) putCredentials(job *jjm.GridJob, given []credential.Parsed) (kinds []string, err error) {
	owner, h := job.Owner, jjm.HandleOf(job.Owner.UID, job.Spec.Key)
	for _, c := range given {
		if !slices.Contains(job.Spec.Credentials, c.Kind) {
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
			js.b.Log.Info("credential stored", "kind", c.Kind, "owner", owner.User, "handle", h, "until", c.End)
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds, nil
}

// dropCredentials removes the credentials of a grid job that has ended or was not stored,
// unless another live grid job of the owner has the same key.
func (js *Jobs) dropCredentials(job *jjm.GridJob) {
	owner, key := job.Owner, job.Spec.Key
	if len(job.Spec.Credentials) == 0 || js.keyLives(owner, key, job.ID) {
		return
	}
	ar, err := js.areas.Of(owner)
	if err == nil {
		err = ar.RemoveCredentials(jjm.HandleOf(owner.UID, key))
	}
	if err != nil {
		js.b.Log.Warn("credentials of a grid job could not be removed", "owner", owner.User, "error", err)
	}
}

// keyLives reports whether an unfinished grid job of the owner has the request key. The grid job with the id except
// does not count.
func (js *Jobs) keyLives(owner jjm.Owner, key string, except jjm.GridID) bool {
	v := js.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
		if id != except && g.Job.Spec.Key == key && g.Job.Owner.UID == owner.UID && !g.Job.Status.Final() {
			return true
		}
	}
	return false
}

// Renew replaces the credentials of a grid job by newer credentials. It returns the kinds of the newer credentials, and
// notes on jobs that still use the old credentials.
func (js *Jobs) Renew(ctx context.Context, caller wire.Caller, r wire.RenewRequest) (wire.RenewAnswer, error) {
	job, err := js.s.Find(ctx, caller, r.Grid())
	var given []credential.Parsed
	if err == nil {
		given, err = renewable(caller, &job, r.Credentials)
	}
	if err != nil {
		return wire.RenewAnswer{}, err
	}
	kinds, err := js.putCredentials(&job, given)
	return wire.RenewAnswer{Renewed: kinds, NotReached: js.rooms.Clusters.NotReached(job.ID, kinds),
		Notes: notStored(&job, given, kinds)}, err
}

// notStored returns a sentence, for people, for each given credential whose kind is not among the stored kinds. It says
// why the credential was not stored.
func notStored(job *jjm.GridJob, given []credential.Parsed, stored []string) (notes []string) {
	for _, c := range given {
		switch {
		case slices.Contains(stored, c.Kind):
		case !slices.Contains(job.Spec.Credentials, c.Kind):
			notes = append(notes, fmt.Sprintf("the jobs of grid job %s did not ask for a %s", job.ID, c.Kind))
		case c.End.IsZero():
			notes = append(notes, fmt.Sprintf("the jobs of grid job %s have this %s already", job.ID, c.Kind))
		default:
			notes = append(notes, fmt.Sprintf("the jobs of grid job %s have this %s already, or one that ends after %s", job.ID,
				c.Kind, jjm.At(c.End).Local()))
		}
	}
	return notes
}

// renewAgain replaces the credentials of a grid job by newer credentials of a repeated submission. It does nothing if
// the grid job has ended or is removed.
func renewAgain(ctx context.Context, js *Jobs, caller wire.Caller, id jjm.GridID, given []credential.Parsed) error {
	if len(given) == 0 {
		return nil
	}
	job, err := js.s.Find(ctx, caller, id)
	switch {
	case jjm.KindOf(err) == jjm.Gone:
		return nil
	case err != nil:
		return err
	case job.Status.Final():
		return nil
	}
	_, err = js.putCredentials(&job, given)
	return err
}

// renewable returns the credentials of a request to renew those of a grid job. The error says why the caller may not
// renew them, or that the grid job needs none.
func renewable(caller wire.Caller, job *jjm.GridJob, given []jjm.Credential) ([]credential.Parsed, error) {
	switch {
	case job.Status.Final():
		return nil, jjm.Errorf(jjm.Conflict, "grid job %s is %s: its credentials are no longer needed", job.ID, job.Status)
	case len(job.Spec.Credentials) == 0:
		return nil, jjm.Errorf(jjm.Conflict, "the jobs of grid job %s did not ask for credentials", job.ID)
	}
	if ps := jjm.CheckCredentials(given); len(ps) > 0 {
		return nil, ps.Err()
	}
	parsed := credential.ParseAll(given)
	if caller.UID == job.Owner.UID {
		return parsed, nil
	}
	return parsed, onBehalf(job, parsed)
}

// onBehalf returns an error of kind Denied if one of the credentials does not have the subject of the grid job's
// submitter. It is called for callers other than the owner.
func onBehalf(job *jjm.GridJob, given []credential.Parsed) error {
	whose := ""
	if job.Origin != nil {
		whose = job.Origin.Subject
	}
	if whose == "" {
		return jjm.Errorf(
			jjm.Denied, "grid job %s: the subject of its submitter is not known: only its owner, %s, can renew its credentials",
			job.ID, job.Owner.User)
	}
	for _, c := range given {
		switch {
		case c.Subject == "":
			return jjm.Errorf(jjm.Denied, "grid job %s was submitted by %s: the %s names no subject, so its owner is not known",
				job.ID, whose, c.Kind)
		case !credential.SameDN(c.Subject, whose):
			return jjm.Errorf(jjm.Denied, "grid job %s was submitted by %s: the %s is that of %s", job.ID, whose, c.Kind, c.Subject)
		}
	}
	return nil
}

// credentialsOf returns the files of a grid job's credentials, relative to the work area,
// by the environment variables through which jobs find them.
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
