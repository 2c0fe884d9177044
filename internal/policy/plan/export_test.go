package plan

import "time"

// String returns the name of a holder, for messages of tests.
func (h Holder) String() string {
	return [...]string{"nobody", "this wrapper", "other wrapper", "daemon", "unseen wrapper"}[h]
}

func (d EndDo) String() string {
	return [...]string{"wait", "wait-for-result", "take-claim", "repoint", "judge"}[d]
}

func (d BulkDo) String() string { return [...]string{"wait", "adopt", "submit", "refuse"}[d] }

// DefaultEndRules returns rules for a shared file system on a network.
func DefaultEndRules() EndRules {
	return EndRules{ResultSettle: 90 * time.Second, BatchSettle: 20 * time.Second, UnseenSettle: 10 * time.Minute}
}
