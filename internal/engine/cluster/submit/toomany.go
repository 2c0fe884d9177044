package submit

import (
	"context"
	"log/slog"

	"jjm/adapters"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// tooMany handles the answer to a submission that there are too many jobs. If no command was started and the bulk has
// several members, the bulk is larger than the cluster accepts in one submission now: it is broken up into smaller
// bulks, and nothing is learnt about the account. In all other cases, the account has too many jobs, and jjm learns the
// account's limit. A bulk of several members is then broken up. A bulk of one member waits, and until it is accepted or
// taken back, the account gets no other bulk.
func (sb *Submitter) tooMany(ctx context.Context, tag jjm.Tag, cause error) error {
	b, have := sb.refusedBulk(tag)
	if b == nil {
		return nil
	}
	account, n := sb.sys.Account(b.Owner), len(b.Members)
	if n > 1 && adapters.IsNotStarted(cause) {
		sb.b.Log.Info("bulk is too large for the cluster now, goes in smaller ones", "cluster", sb.name, "tag", tag,
			"error", cause)
		return sb.breakUp(ctx, tag, cause)
	}
	sb.here.Refused(account, tag, plan.Refused(have, n, cause.Error(), jjm.At(sb.b.Now())), n == 1)
	sb.b.Complain(slog.LevelWarn, "too-many/"+sb.name+"/"+account.User, "batch system takes no more jobs of an account",
		"cluster", sb.name, "account", account.User, "refused", n, "others", have, "error", cause)
	if n == 1 {
		sb.settler.later(tag, asideFor) // after this wait, plan.Reconcile decides
		return sb.tried(ctx, tag, cause)
	}
	return sb.breakUp(ctx, tag, cause)
}

// refusedBulk returns a copy of an open bulk, and how many other jobs the account of its owner has on this cluster. The
// copy is nil if the bulk is closed.
func (sb *Submitter) refusedBulk(tag jjm.Tag) (b *jjm.Bulk, have int) {
	v := sb.s.View()
	defer v.Close()
	live := v.Bulk(tag)
	if live == nil {
		return nil, 0
	}
	bulk := live.Bulk
	return &bulk, max(0, sb.here.JobsOf(v.Memory, bulk.Owner)-live.Open)
}

// breakUp takes back a bulk and makes its members ready again, so that they form smaller bulks. cause is the answer of
// the batch system.
func (sb *Submitter) breakUp(ctx context.Context, tag jjm.Tag, cause error) error {
	err := sb.s.Change(ctx, "break-up", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		takeBack(ch, b, "too many for "+sb.name+", goes in a smaller bulk: "+cause.Error(), triesAgain)
		b.Error = cause.Error()
		return nil
	})
	sb.Wake()
	return err
}
