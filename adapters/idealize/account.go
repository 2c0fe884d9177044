package idealize

import (
	"context"
	"os"
	"time"

	"jjm/run"
)

// Where commands run as several accounts, each may hold up or kill its own. So an
// account has breakers of its own, and half of the places and of the minute's
// commands at most; what opens the breakers of the batch system is silence towards
// two accounts at least, or towards the daemon itself.

// theDaemon is the account of commands that run as the daemon's own, with which
// nobody else can interfere.
const theDaemon = -1

// accountOf returns the account that the commands of a call run as.
func accountOf(ctx context.Context) int {
	if uid := run.UID(ctx); uid != os.Geteuid() {
		return uid
	}
	return theDaemon
}

// pair are two breakers: the batch system's, and accounting's.
type pair [2]breaker

// of returns the one that a verb goes through.
func (p *pair) of(verb Verb) *breaker {
	if verb == Account {
		return &p[1]
	}
	return &p[0]
}

// witnesses are the accounts that got no answer since the last answer of anybody's.
type witnesses map[int]bool

// hear says what an outcome tells of the batch system, which an account got. A
// probe that failed as an account says nothing either: another may try.
func (w witnesses) hear(account int, told hearing, probe bool) hearing {
	switch {
	case told == answer:
		clear(w)
	case told != silence || account == theDaemon:
	case probe:
		return unsaid
	default:
		if w[account] = true; len(w) < 2 {
			return unsaid
		}
	}
	return told
}

// personal returns the breakers of an account, nil for the daemon's. The lock is held.
func (l *limit) personal(account int) *pair {
	if account == theDaemon {
		return nil
	}
	p := l.accounts[account]
	if p == nil {
		p = &pair{}
		for i := range p {
			p[i] = breaker{limit: l.breakers[i].limit, first: l.breakers[i].first, max: l.breakers[i].max}
		}
		l.accounts[account] = p
	}
	return p
}

// probes are the numbers that the breakers gave a call, 0 where it is no probe.
type probes struct{ shared, own int }

func (l *limit) refused(verb Verb, account int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err := l.breakers.of(verb).refuse(now, verb); err != nil {
		return err
	}
	if own := l.personal(account); own != nil {
		return own.of(verb).refuse(now, verb)
	}
	return nil
}

// admit lets a call go, of which the probe of a Prober may have to come first:
// that is the daemon's own.
func (l *limit) admit(verb Verb, account int) (n probes, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	shared, own := l.breakers.of(verb), l.personal(account)
	if own != nil {
		if err := own.of(verb).refuse(now, verb); err != nil {
			return n, err
		}
	}
	if n.shared, err = shared.admit(now, verb); err != nil || own == nil || n.shared != 0 && l.asksFirst(verb) {
		return n, err
	}
	n.own, err = own.of(verb).admit(now, verb)
	return n, err
}

// asksFirst reports whether a Prober's probe goes before a verb.
func (l *limit) asksFirst(verb Verb) bool { return l.prober != nil && verb != Probe && verb != Account }

// note takes over what a call told. The lock is held.
func (l *limit) note(verb Verb, account int, n probes, told hearing, err error) {
	now := time.Now()
	at := 0
	if verb == Account {
		at = 1
	}
	if own := l.personal(account); own != nil {
		own[at].note(now, told, n.own, err)
		if own[0].failures+own[1].failures == 0 && own[0].probing+own[1].probing == 0 {
			delete(l.accounts, account) // as good as new
		}
	}
	l.breakers[at].note(now, l.witnesses[at].hear(account, told, n.shared != 0), n.shared, err)
}
