package idealize

import (
	"context"
	"os"
	"time"

	"jjm/internal/sys/run"
)

// If commands run in several accounts, an account could delay or kill its own commands and so make the batch system
// look dead. Therefore each account has its own circuit breakers, and may use at most half of the places and half of
// the commands per minute. The breakers that all accounts share open only if two accounts, or the daemon itself, get no
// answer.

// theDaemon stands for the daemon's own account. No other account can interfere with the commands of that account.
const theDaemon = -1

// accountOf returns the uid in which the commands of a call run, or theDaemon.
func accountOf(ctx context.Context) int {
	if uid := run.UID(ctx); uid != os.Geteuid() {
		return uid
	}
	return theDaemon
}

// breakerPair holds two breakers: the first for the batch system, the second for its accounting.
type breakerPair [2]breaker

// of returns the breaker for a verb.
func (p *breakerPair) of(verb Verb) *breaker {
	if verb == Account {
		return &p[1]
	}
	return &p[0]
}

// witnesses are the accounts that received no answer since the last answer to any account.
type witnesses map[int]bool

// judge returns the health of the whole batch system after a call of an account. A call without an answer counts only
// if it ran as the daemon, or if two accounts received no answer. After a failed probe in another account than the
// daemon's the health is unknown, so that another account can probe next.
func (w witnesses) judge(account int, seen health, probe bool) health {
	switch {
	case seen == responded:
		clear(w)
	case seen != noResponse || account == theDaemon:
	case probe:
		return healthUnknown
	default:
		if w[account] = true; len(w) < 2 {
			return healthUnknown
		}
	}
	return seen
}

// accountBreakers returns the breakers of an account, nil for theDaemon. The caller holds l.mu.
func (l *limit) accountBreakers(account int) *breakerPair {
	if account == theDaemon {
		return nil
	}
	p := l.accounts[account]
	if p == nil {
		p = &breakerPair{}
		for i := range p {
			p[i] = breaker{limit: l.breakers[i].limit, first: l.breakers[i].first, max: l.breakers[i].max}
		}
		l.accounts[account] = p
	}
	return p
}

// probes holds the numbers that the shared breaker and the account's own breaker gave to a call that is their probe. A
// number is 0 if the call is not the probe of that breaker.
type probes struct{ shared, own int }

// refused returns an error if the shared breaker or the account's own breaker refuses a call of the verb now.
func (l *limit) refused(verb Verb, account int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err := l.breakers.of(verb).refuse(now, verb); err != nil {
		return err
	}
	if own := l.accountBreakers(account); own != nil {
		return own.of(verb).refuse(now, verb)
	}
	return nil
}

// admit decides whether a call may be sent now, and returns the numbers of the probes that the call is. If the Prober
// must run before the call, admit does not use the account's own breaker, because the Prober runs as the daemon.
func (l *limit) admit(verb Verb, account int) (n probes, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	shared, own := l.breakers.of(verb), l.accountBreakers(account)
	if own != nil {
		if err := own.of(verb).refuse(now, verb); err != nil {
			return n, err
		}
	}
	if n.shared, err = shared.admit(now, verb); err != nil || own == nil || n.shared != 0 && l.probesFirst(verb) {
		return n, err
	}
	n.own, err = own.of(verb).admit(now, verb)
	return n, err
}

// probesFirst reports whether a Prober must answer before the verb is sent.
func (l *limit) probesFirst(verb Verb) bool {
	return l.prober != nil && verb != Probe && verb != Account
}

// note updates the breakers after a call. began is the start of the call, seen its health. The caller holds l.mu.
func (l *limit) note(began time.Time, verb Verb, account int, n probes, seen health, err error) {
	now := time.Now()
	at := 0
	if verb == Account {
		at = 1
	}
	if own := l.accountBreakers(account); own != nil {
		own[at].note(began, now, seen, n.own, err)
		if own[0].failures+own[1].failures == 0 && own[0].probing+own[1].probing == 0 {
			delete(l.accounts, account) // a missing pair has the same effect as a new pair
		}
	}
	l.breakers[at].note(began, now, l.witnesses[at].judge(account, seen, n.shared != 0), n.shared, err)
}
