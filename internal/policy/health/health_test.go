package health_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// now is the time of all tests.
var now = jjm.At(time.Unix(1_800_000_000, 0))

// ago returns a time before now.
func ago(d time.Duration) jjm.Time { return jjm.At(now.Time().Add(-d)) }

// well returns the facts about a site without any trouble.
func well() health.Facts {
	return health.Facts{Now: now, Started: ago(48 * time.Hour), Around: health.Around{Version: "1.2"},
		Clusters: []wire.Cluster{{Name: "slurm", Healthy: true, Slots: 8, Running: 3, LastSeen: ago(12 * time.Second),
			Interval: jjm.Duration(10 * time.Second)}},
		Disks: health.Disks{At: ago(time.Second), All: []health.Disk{{Of: "work", Path: "/work", Bytes: 1e11, Free: 5e10}}},
		Store: health.Store{File: 2e6, WAL: 1e6, Schema: 20}}
}

// check returns the check of that name, and fails the test if there is none.
func check(t *testing.T, all []wire.HealthCheck, name string) wire.HealthCheck {
	t.Helper()
	i := slices.IndexFunc(all, func(c wire.HealthCheck) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s in %+v", name, all)
	}
	return all[i]
}

func TestChecks_AWellSiteIsOK(t *testing.T) {
	all := health.Checks(well())
	if w := health.Worst(all); w != health.OK || health.ExitCode(w) != 0 {
		t.Errorf("%s: %+v", w, all)
	}
	want := "JJM OK: 12 checks | fragments=0 fragments_age=0s;600 free_work=50000000000B job_types_off=0 " +
		"listing_age_slurm=12s missing_age_slurm=0s;;86400 missing_slurm=0 records_behind=0 records_unwritten=0 spool=0 " +
		"spool_age=0s;300;3600 store=2000000B store_wal=1000000B;1073741824 unjudged=0 unjudged_age=0s;60;600 " +
		"unsettled_age_slurm=0s;;86400 unsettled_slurm=0 uptime=172800s"
	if diff := cmp.Diff(want, health.Line(all)); diff != "" {
		t.Error(diff)
	}
}

// Each fact about a site that can be bad has a check. There is a case on each side of every threshold of that check.
func TestChecks_EachThreshold(t *testing.T) {
	slurm := func(change func(*wire.Cluster)) func(*health.Facts) {
		return func(f *health.Facts) { change(&f.Clusters[0]) }
	}
	silent := func(d time.Duration) func(*health.Facts) {
		return slurm(func(c *wire.Cluster) {
			c.Healthy, c.Since, c.Cause, c.Remedy = false, ago(d), "connection refused", "look"
		})
	}
	breaker := func(d time.Duration) func(*health.Facts) {
		return slurm(func(c *wire.Cluster) {
			c.Breaker, c.Remedy = &wire.Breaker{State: "open", Since: ago(d), Cause: "timed out"}, "look"
		})
	}
	listed := func(d time.Duration) func(*health.Facts) { return slurm(func(c *wire.Cluster) { c.LastSeen = ago(d) }) }
	unlisted := func(seen, d time.Duration) func(*health.Facts) {
		return slurm(func(c *wire.Cluster) {
			c.LastSeen, c.Remedy = ago(seen), "look"
			c.Unlisted = []wire.Unlisted{{Account: "ann (uid 7)", Since: ago(d / 2), Cause: "no"},
				{Account: "bob (uid 8)", Since: ago(d), Cause: "denied"}}
		})
	}
	unsettled := func(d time.Duration) func(*health.Facts) {
		return slurm(func(c *wire.Cluster) { c.Unsettled = &wire.Unknown{Bulks: 2, Jobs: 30, Since: ago(d)} })
	}
	missing := func(d time.Duration) func(*health.Facts) {
		return slurm(func(c *wire.Cluster) { c.Missing = &wire.Unknown{Jobs: 7, Since: ago(d)} })
	}
	ordered := func(o jjm.Order) func(*health.Facts) {
		o.Kind, o.Name, o.By, o.Reason, o.Since = jjm.OrderCluster, "slurm", "root", "disks", ago(time.Hour)
		return slurm(func(c *wire.Cluster) { c.Orders = []jjm.Order{o} })
	}
	measured := func(d time.Duration) func(*health.Facts) { return func(f *health.Facts) { f.Disks.At = ago(d) } }
	unwritten := func(d time.Duration) func(*health.Facts) {
		return func(f *health.Facts) { f.Records = health.Records{Unwritten: 2, Since: ago(d), Error: "no space"} }
	}
	fragments := func(d time.Duration) func(*health.Facts) {
		return func(f *health.Facts) { f.Records = health.Records{Fragments: 4, Oldest: ago(d)} }
	}
	spool := func(d time.Duration) func(*health.Facts) {
		return func(f *health.Facts) { f.Spool = health.Spool{Entries: 5, Oldest: ago(d)} }
	}
	unjudged := func(d time.Duration) func(*health.Facts) {
		return func(f *health.Facts) { f.Unjudged = health.Unjudged{Jobs: 3, Error: "no space", Since: ago(d)} }
	}
	untold := func(n health.Notices) func(*health.Facts) { return func(f *health.Facts) { f.Notices = n } }
	wal := func(n int64) func(*health.Facts) { return func(f *health.Facts) { f.Store.WAL = n } }
	unseen := map[string]bool{}
	for _, name := range health.Names() {
		unseen[name] = true
	}
	for name, c := range map[string]struct {
		change      func(*health.Facts)
		check, want string // the check, its state and its text
	}{
		"a new error": {unjudged(59 * time.Second),
			"results", "OK 3 local jobs ended, but an error prevents the verdict, the oldest for 59 s"},
		"an error": {unjudged(time.Minute),
			"results", "WARNING 3 local jobs ended, but an error prevents the verdict, the oldest for 1 min"},
		"an old error": {unjudged(10 * time.Minute),
			"results", "CRITICAL 3 local jobs ended, but an error prevents the verdict, the oldest for 10 min"},
		"a new outage": {silent(9 * time.Minute), "listing", "WARNING cluster slurm has not answered for 9 min"},
		"an outage": {silent(10 * time.Minute),
			"listing", "CRITICAL cluster slurm has not answered for 10 min"},
		"a new breaker": {breaker(time.Minute), "listing", "WARNING cluster slurm has not answered for 1 min"},
		"a breaker":     {breaker(time.Hour), "listing", "CRITICAL cluster slurm has not answered for 1 h"},
		"a late listing": {listed(14 * time.Minute),
			"listing", "OK cluster slurm answers, and was last listed 14 min ago"},
		"an old listing": {listed(15 * time.Minute),
			"listing", "WARNING cluster slurm was last listed 15 min ago"},
		"two accounts that are not listed": {unlisted(time.Second, 2*time.Hour),
			"listing", "WARNING cluster slurm has not listed the jobs of bob (uid 8) and 1 other account for 2 h"},
		"nobody is listed": {unlisted(time.Hour, time.Hour), "listing", "CRITICAL cluster slurm was last listed 1 h ago"},
		"a stale listing":  {listed(time.Hour), "listing", "CRITICAL cluster slurm was last listed 1 h ago"},
		"a fresh daemon": {func(f *health.Facts) { f.Started, f.Clusters[0].LastSeen = ago(time.Minute), 0 },
			"listing", "OK cluster slurm answers"},
		"slow listings": {slurm(func(c *wire.Cluster) {
			c.LastSeen, c.Interval = ago(20*time.Minute), jjm.Duration(time.Hour)
		}),
			"listing", "OK cluster"},
		"nothing to list": {func(f *health.Facts) { listed(9 * time.Hour)(f); f.Clusters[0].Running = 0 },
			"listing", "OK cluster"},
		"not asked yet": {slurm(func(c *wire.Cluster) { *c = wire.Cluster{Name: "slurm", Healthy: true} }),
			"listing", "OK cluster slurm has not been asked yet"},
		"no accounting": {slurm(func(c *wire.Cluster) { c.Accounting = &wire.Breaker{Since: ago(time.Hour)} }),
			"accounting", "WARNING the accounting of cluster slurm has not answered for 1 h"},
		"in doubt": {unsettled(20 * time.Minute),
			"unsettled", "WARNING 2 submissions of 30 local jobs to cluster slurm not settled for 20 min"},
		"in doubt for long": {unsettled(24 * time.Hour), "unsettled", "CRITICAL 2 submissions"},
		"missing": {missing(20 * time.Minute),
			"missing", "WARNING 7 local jobs missing from the listings of cluster slurm for 20 min"},
		"missing for long": {missing(24 * time.Hour), "missing", "CRITICAL 7 local jobs"},
		"paused": {ordered(jjm.Order{Verb: jjm.OrderPause}),
			"order", "WARNING cluster slurm is paused by root until somebody resumes it"},
		"paused for a time": {ordered(jjm.Order{Verb: jjm.OrderPause, Until: ago(-time.Hour)}),
			"order", "OK cluster slurm is paused by root until "},
		"announced": {ordered(jjm.Order{Verb: jjm.OrderMaintenance, From: ago(-time.Hour), Until: ago(-2 * time.Hour)}),
			"order", "OK cluster slurm has a maintenance window"},
		"no work": {func(f *health.Facts) { f.Refuses = "the disk is full" },
			"space", "CRITICAL new work is refused"},
		"slow disk": {measured(59 * time.Second), "space", "OK new work is accepted"},
		"a hanging disk": {measured(time.Minute),
			"space", "WARNING a file system of the site has not answered for 1 min"},
		"a dead disk": {measured(5 * time.Minute), "space", "CRITICAL a file system"},
		"nearly full": {func(f *health.Facts) { f.Disks.All[0].Near = "7 bytes are free" },
			"disk", "WARNING 50.0 GB of 100.0 GB free for work in /work"},
		"shut folders": {func(f *health.Facts) { f.SharedFolders = []string{"x"} },
			"folders", "CRITICAL a folder in which accounts write is shut or lost"},
		"records to write": {func(f *health.Facts) { f.Records.Behind = 1 },
			"records", "OK 1 record about to be written"},
		"a failed record": {unwritten(time.Minute), "records", "WARNING 2 records could not be written for 1 min"},
		"lost records":    {unwritten(10 * time.Minute), "records", "CRITICAL 2 records"},
		"notices given up": {untold(health.Notices{GivenUp: 3, Last: ago(time.Hour), Waiting: 1, Oldest: ago(time.Minute)}),
			"notices", "WARNING 3 notices given up within"},
		"notices tried": {untold(health.Notices{Waiting: 2, Oldest: ago(time.Hour)}), "notices",
			"WARNING 2 notices tried in vain"},
		"new fragments": {fragments(9 * time.Minute),
			"fragments", "OK 4 fragments waiting for a record, the oldest for 9 min"},
		"old fragments": {fragments(10 * time.Minute), "fragments", "WARNING 4 fragments"},
		"a large log": {wal(1 << 30),
			"store", "WARNING the store has 2.0 MB, its write-ahead log 1073.7 MB, its schema is version 20"},
		"a smaller log": {wal(1<<30 - 1), "store", "OK the store"},
		"no store": {func(f *health.Facts) { f.Store.Error = "x" },
			"store", "CRITICAL the store cannot be measured"},
		"new requests": {spool(4 * time.Minute),
			"spool", "OK 5 requests waiting in the spool, the oldest for 4 min"},
		"old requests":   {spool(5 * time.Minute), "spool", "WARNING 5 requests"},
		"stuck requests": {spool(time.Hour), "spool", "CRITICAL 5 requests"},
		"many requests": {func(f *health.Facts) { f.Spool = health.Spool{Entries: 2, More: true} },
			"spool", "OK more than 2 requests"},
		"unread spool": {func(f *health.Facts) { f.Spool.Error = "x" },
			"spool", "WARNING the spool cannot be read"},
		"a type is off": {func(f *health.Facts) { f.Off = []health.Off{{Type: "keys", Remedy: "mend"}} },
			"job-types", "WARNING job type keys is off"},
		"types are off": {func(f *health.Facts) { f.Off = []health.Off{{Type: "a", Remedy: "mend"}, {Type: "b"}} },
			"job-types", "WARNING job types a, b are off"},
		"bans": {func(f *health.Facts) { f.Bans = []jjm.Ban{{Kind: jjm.BanUser, Name: "mallory"}} },
			"bans", "OK 1 ban in force"},
		"excluded hosts": {func(f *health.Facts) { f.Excluded = make([]jjm.Exclusion, 12) },
			"excluded-hosts", "OK 12 hosts excluded"},
		"no brokers": {func(f *health.Facts) { f.Advertising = []string{"x"} },
			"advertising", "WARNING brokers may lack the ad of this site"},
		"no tokens": {func(f *health.Facts) { f.Page = "x" }, "page", "WARNING the web page accepts no token"},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			c.change(&f)
			all := health.Checks(f)
			for _, one := range all {
				delete(unseen, one.Name)
				if !slices.Contains(health.Names(), one.Name) {
					t.Errorf("Names does not list %s", one.Name)
				}
			}
			got := check(t, all, c.check)
			if text := got.State + " " + got.Text; !strings.HasPrefix(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
			if got.State != health.OK && got.Remedy == "" {
				t.Error("no remedy")
			}
			if w := health.Worst(all); w != got.State {
				t.Errorf("the worst state is %s", w)
			}
		})
	}
	for name := range unseen {
		t.Errorf("no case has the check %s", name)
	}
}

// Each job type that is off has its own cause and remedy in the check. A single one needs no name before them.
func TestChecks_EachTypeThatIsOffHasItsCauseAndRemedy(t *testing.T) {
	all := []health.Off{{Type: "a", Why: "a.toml is wrong", Remedy: "mend a.toml"},
		{Type: "b", Why: "others can change b.py", Remedy: "chmod b.py"}}
	for n, want := range [][2]string{1: {"a.toml is wrong", "mend a.toml"},
		2: {"a: a.toml is wrong; b: others can change b.py", "a: mend a.toml; b: chmod b.py"}} {
		f := well()
		f.Off = all[:n]
		if got := check(t, health.Checks(f), "job-types"); n > 0 && [2]string{got.Detail, got.Remedy} != want {
			t.Errorf("%d off: %q, do %q; want %q", n, got.Detail, got.Remedy, want)
		}
	}
}

// The check of a daemon that does not answer says so once, and how both an installed daemon and one's own start.
func TestDownChecks_TheDaemonSaysHowToStartIt(t *testing.T) {
	got := check(t, health.DownChecks(health.DownFacts{Now: now, Error: "no daemon answers at /s/jjm.sock"}), "daemon")
	if got.Text != "no daemon answers" || got.Detail != "at /s/jjm.sock" {
		t.Errorf("%q: %q", got.Text, got.Detail)
	}
	for _, want := range []string{"systemctl start jjm", "jjm serve"} {
		if !strings.Contains(got.Remedy, want) {
			t.Errorf("the remedy %q lacks %s", got.Remedy, want)
		}
	}
}

func TestDownChecks(t *testing.T) {
	seen := health.DownFacts{Now: now, Error: "no daemon answers at /s/jjm.sock", State: "/s", Written: ago(time.Hour),
		Looked: 3, Unfinished: 2, AsOf: ago(time.Hour), Spool: &health.Spool{},
		Disk: health.Disk{Of: "state", Path: "/s", Bytes: 1e11, Free: 1e9}}
	full, blind := seen, health.DownFacts{Now: now, State: "/s", RecordsError: "permission denied"}
	full.Disk.Free = 1e9 - 1
	for name, c := range map[string]struct {
		f           health.DownFacts
		check, want string
	}{
		"the daemon":   {seen, "daemon", "CRITICAL no daemon answers"},
		"the store":    {seen, "state", "OK the store in /s was last written at " + ago(time.Hour).Local()},
		"the records":  {seen, "records", "OK as of " + ago(time.Hour).Local() + ", 2 of the newest 3 grid jobs"},
		"the spool":    {seen, "spool", "OK no request waits in the spool"},
		"the disk":     {seen, "disk", "OK 1.0 GB of 100.0 GB free for state in /s"},
		"a full disk":  {full, "disk", "WARNING 1.0 GB"},
		"no store":     {blind, "state", "UNKNOWN this account sees no store in /s"},
		"no records":   {blind, "records", "UNKNOWN the records cannot be read"},
		"none for one": {health.DownFacts{Now: now}, "records", "OK this account can read no record"},
	} {
		all := health.DownChecks(c.f)
		got := check(t, all, c.check)
		if text := got.State + " " + got.Text; !strings.HasPrefix(text, c.want) || all[0].Name != "daemon" {
			t.Errorf("%s: %q, want %q, and the daemon first: %s", name, text, c.want, all[0].Name)
		}
	}
}

func TestLine(t *testing.T) {
	one := func(state, text string) wire.HealthCheck { return wire.HealthCheck{State: state, Text: text} }
	figure := wire.HealthCheck{State: health.OK, Figures: []wire.HealthFigure{{Name: "a", Value: 1},
		{Name: "b", Value: 2, Unit: "s", Warning: 3}, {Name: "c", Value: 4, Critical: 5}}}
	for want, all := range map[string][]wire.HealthCheck{
		"JJM UNKNOWN: 0 checks":               nil,
		"JJM OK: 1 check | a=1 b=2s;3 c=4;;5": {figure},
		"JJM WARNING: x":                      {one(health.OK, "y"), one(health.Warning, "x")},
		"JJM WARNING: x; 1 warning more":      {one(health.Warning, "x"), one(health.Warning, "y")},
		"JJM UNKNOWN: x":                      {one(health.Unknown, "x")},
		"JJM CRITICAL: a / b; 2 warnings": {one(health.Critical, "a | b"), one(health.Warning, "y"),
			one(health.Warning, "z")},
		"JJM CRITICAL: x; 2 critical checks more, 1 warning": {one(health.Critical, "x"), one(health.Critical, "y"),
			one(health.Critical, "z"), one(health.Warning, "w")},
	} {
		if got := health.Line(all); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for state, code := range map[string]int{health.OK: 0, health.Warning: 1, health.Critical: 2, health.Unknown: 3} {
		if got := health.ExitCode(state); got != code {
			t.Errorf("%s: exit code %d, want %d", state, got, code)
		}
	}
}

// Performance data are words NAME=VALUE whose names have no blanks, bars, quotes and equals signs, even if the name of
// a cluster contains these characters.
func TestProperty_PerformanceDataCanBeParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := well()
		f.Clusters[0].Name = rapid.String().Draw(t, "cluster")
		f.Refuses = rapid.String().Draw(t, "refuses")
		text, perf, found := strings.Cut(health.Line(health.Checks(f)), " | ")
		if !found || strings.Contains(text, "|") {
			t.Fatalf("%q", text)
		}
		for word := range strings.SplitSeq(perf, " ") {
			if strings.Count(word, "=") != 1 || strings.ContainsAny(word, "|'\"") {
				t.Fatalf("%q", word)
			}
		}
	})
}
