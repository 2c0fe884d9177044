package identity_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/site"
)

// The rules by which a verb shows jobs and data of another account.
const (
	refused  = "refused"
	own      = "its own alone"
	siteWide = "what is the site's"
	admins   = "refused, administrators only"
)

// seen is a verb in the table of docs/IDENTITY.md, with requests about jobs and data of alice. In a request, ID is her
// grid job, HANDLE is the handle of this grid job, and UID and ALICE are her account.
type seen struct {
	tells  string // the facts that the verb shows to an account
	others string // the facts about other accounts that it shows
	asks   []string
	// reads is set if a request shows alice her own secrets, so that the test proves something. If changes is set, the
	// requests would change something, so only accounts that must be refused send them.
	reads, changes bool
}

// on returns a request about alice's grid job, with further members.
func on(verb, more string) string { return `{"verb":"` + verb + `","refs":["ID"]` + more + `}` }

var sights = map[string]seen{
	"ping":   {tells: "version", others: siteWide, asks: []string{`{"verb":"ping"}`}},
	"submit": {tells: "the id of its grid job", others: own, asks: []string{submission}},
	"lookup": {tells: "status", others: refused,
		asks: []string{on("lookup", ""), `{"verb":"lookup","refs":["HANDLE"]}`}},
	"kill": {tells: "whether it was accepted", others: refused, changes: true,
		asks: []string{on("kill", ""),
			`{"verb":"kill","refs":["ID.0"]}`, `{"verb":"kill","refs":["HANDLE"]}`}},
	"hold": {tells: "how many jobs, and which stay", others: refused, changes: true, asks: []string{on("hold", "")}},
	"set": {tells: "how many jobs, and which stay", others: refused, changes: true,
		asks: []string{on("set", `,"resources":{"memory_mb":100}`), on("set", `,"priority":5`)}},
	"release": {tells: "how many jobs, and which stay", others: refused, changes: true,
		asks: []string{on("release", ""), on("release", `,"args":["RESTART"]`)}},
	"force-status": {tells: "how many jobs", others: refused, changes: true,
		asks: []string{on("force-status", `,"to":"failed"`)}},
	"freeze": {tells: "how many jobs, and which stay", others: refused, changes: true,
		asks: []string{on("freeze", ""), on("freeze", `,"dry_run":true`)}},
	"unfreeze": {tells: "how many jobs, and which stay", others: refused, changes: true,
		asks: []string{on("unfreeze", "")}},
	"resubmit": {tells: "which jobs begin again", others: refused, changes: true,
		asks: []string{on("resubmit", `,"all":true,"dry_run":true`)}},
	"resplit": {tells: "how many jobs, and which stay", others: refused, changes: true,
		asks: []string{on("resplit", ""), on("resplit", `,"into":2,"dry_run":true`)}},
	"copy": {tells: "the id of the copy, or what it would be", others: refused, changes: true,
		asks: []string{on("copy", `,"set":["name=mine"],"dry_run":true`), `{"verb":"copy","refs":["HANDLE"]}`}},
	"remove": {tells: "whether it was accepted", others: refused, changes: true,
		asks: []string{on("remove", `,"force":true`)}},
	"select": {tells: "ids", others: own, asks: []string{`{"verb":"select","refs":["name:hus*"]}`,
		`{"verb":"select","refs":["ID"]}`, `{"verb":"select","where":{"state":"running"}}`}},
	"status": {tells: "all about a grid job", others: refused, reads: true,
		asks: []string{on("status", ""), `{"verb":"status","refs":["ID.0"]}`,
			`{"verb":"status","refs":["HANDLE"]}`}},
	"list": {tells: "grid jobs", others: own, reads: true, asks: []string{`{"verb":"list","list":{"all":true}}`,
		`{"verb":"list","list":{"all":true,"owner":"ALICE"}}`, `{"verb":"list"}`}},
	"wait":   {tells: "status, at each change", others: refused, reads: true, asks: []string{on("wait", "")}},
	"record": {tells: "the record", others: refused, reads: true, asks: []string{on("record", "")}},
	"records": {tells: "what a query finds in records", others: own, reads: true,
		asks: []string{`{"verb":"records","path":"/gridjob"}`,
			`{"verb":"records","path":"/gridjob","of":{"owner":"ALICE"}}`}},
	"output": {tells: "output files", others: refused, asks: []string{on("output", `,"partial":true`)}},
	"cat": {tells: "a local job's files", others: refused, asks: []string{`{"verb":"cat","refs":["ID.0"],"file":"stdout"}`,
		`{"verb":"cat","refs":["ID.0"],"list":true}`}},
	"history": {tells: "the journal of a job; with `orders` the orders about the site, and about itself, its grid jobs " +
		"and its datasets", others: refused + "; with `orders` " + own, reads: true,
		asks: []string{`{"verb":"history","orders":true}`, on("history", ""),
			`{"verb":"history","orders":true,"limit":1}`}},
	"explain": {tells: "by which rule an attempt was judged", others: refused,
		asks: []string{`{"verb":"explain","refs":["ID.0"]}`}},
	"why": {tells: "what unfinished jobs wait for", others: refused, asks: []string{on("why", "")}},
	"find": {tells: "ids of jobs, with user, state, host and times", others: own, reads: true,
		asks: []string{`{"verb":"find","find":{"user":"ALICE"}}`, `{"verb":"find","find":{"tag":"x","user":"ALICE"}}`}},
	"log":       {tells: "jjm's log of a grid job", others: refused, asks: []string{on("log", "")}},
	"job-types": {tells: "the job types of the site", others: siteWide, asks: []string{`{"verb":"job-types"}`}},
	"models":    {tells: "the site's models of job files", others: siteWide, asks: []string{`{"verb":"models"}`}},
	"clusters": {tells: "health and limits, the cause of an outage, numbers of all jobs; the ids of its own jobs " +
		"that are missing; the learnt limit of the account that its jobs run as", others: siteWide,
		asks: []string{`{"verb":"clusters"}`}},
	"health": {tells: "whether the site is well: numbers of all accounts, no ids; only administrators see the bans and " +
		"the errors of records", others: siteWide, asks: []string{`{"verb":"health"}`}},
	"order": {tells: "the orders in force about the site, itself and its grid jobs", others: own, reads: true,
		asks: []string{`{"verb":"order"}`, `{"verb":"order","order":{"verb":"resume","kind":"job","name":"ID"}}`}},
	"reset": {tells: "nothing", others: admins, changes: true, asks: []string{`{"verb":"reset","cluster":"local"}`}},
	"ban": {tells: "nothing (who is banned is told why when it submits)", others: admins,
		changes: true, asks: []string{`{"verb":"ban"}`, `{"verb":"ban","ban":{"name":"ALICE","reason":"x"}}`}},
	"exclude": {tells: "the excluded hosts, by whom and why", others: siteWide,
		asks: []string{`{"verb":"exclude"}`}},
	"renew": {tells: "which credentials are newer", others: refused, changes: true,
		asks: []string{on("renew", `,"credentials":[{"kind":"token","secret":"a.b.c"}]`)}},
	"remark":    {tells: "nothing", others: admins, changes: true, asks: []string{on("remark", `,"remark":"x"`)}},
	"advertise": {tells: "the site's ad, as brokers read it", others: siteWide, asks: []string{`{"verb":"advertise"}`}},
	"dataset": {tells: "its datasets, and the grid jobs that read them", others: refused + "; without a `uid` " + own,
		reads: true, asks: []string{`{"verb":"dataset","dataset":{"do":"show","uid":UID}}`,
			`{"verb":"dataset","dataset":{"do":"show"}}`, `{"verb":"dataset","dataset":{"do":"files","name":"hush-data","uid":UID}}`,
			`{"verb":"dataset","dataset":{"do":"remove","names":["hush-data"],"dry_run":true,"uid":UID}}`,
			`{"verb":"dataset","dataset":{"do":"close","name":"none","uid":UID}}`}},
	"verify": {tells: "whether the work was done once", others: refused, asks: []string{on("verify", "")}},
	"retract": {tells: "what is made again", others: refused, changes: true,
		asks: []string{on("retract", `,"retract":{"outputs":["o"],"reason":"r","dry_run":true}`)}},
	"replay": {tells: "whether its type says the same", others: refused, asks: []string{on("replay", "")}},
}

// submission is a dry run of a job file whose grid job would wait for the end of alice's grid job.
const submission = `{"verb":"submit","submit":{"name":"a.toml",` +
	`"text":"type = \"script\"\n[params]\ncommand = [\"true\"]\n","base_dir":"/tmp","after":[ID],"dry_run":true}}`

// docs/IDENTITY.md lists each verb of the protocol with the facts that the verb shows. The next test tries the same
// entries, so a new verb needs an entry in the table sights and on that page.
func TestVerbs_WhatEachTellsStandsInTheManual(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/IDENTITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, v := range wire.Verbs() {
		s, ok := sights[v.Name]
		if !ok || len(s.asks) == 0 {
			t.Errorf("%s: nobody has said and tried what an account is told of another: add it to sights", v.Name)
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", v.Name, s.tells, s.others)
	}
	if len(sights) != len(wire.Verbs()) {
		t.Errorf("%d entries for %d verbs", len(sights), len(wire.Verbs()))
	}
	_, table, _ := strings.Cut(string(page), "| verb | tells an account | of another account's |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if table+"\n" != rows.String() {
		t.Errorf("docs/IDENTITY.md shows\n%s\nwant\n%s", table, rows.String())
	}
	for _, f := range openFiles {
		if row := fmt.Sprintf("| `%s` | %s |\n", f[0], f[1]); !strings.Contains(string(page), row) {
			t.Errorf("docs/IDENTITY.md lacks %s", row)
		}
	}
}

// Three accounts try every verb: the owner, another account, and root. All of alice's secrets contain "hush", and all
// facts that are only for administrators contain "hidden".
func TestVerbs_AnAccountIsToldNothingOfAnother(t *testing.T) {
	t.Parallel()
	alice, bob, carol := site.Account(t), site.Account(t), site.Account(t)
	s := newHouse(t, asOwner, site.Local)
	fill := s.secretsOf(alice, carol)
	for _, about := range wire.Verbs() {
		v := sights[about.Name]
		for _, line := range v.asks {
			line = fill.Replace(line)
			all := about.Name == "records"
			answer := s.Ask(bob, line, all)
			if denied := strings.Contains(answer, `"kind":"denied"`); strings.Contains(answer, "hush") ||
				strings.Contains(answer, "hidden") || (v.others == refused || v.others == admins) && !denied {
				t.Errorf("%s: another account gets %s", line, answer)
			}
			if v.changes && v.others != admins {
				continue
			}
			answer = s.Ask(alice, line, all)
			if denied := strings.Contains(answer, `"kind":"denied"`); strings.Contains(answer, "hidden") ||
				denied != (v.others == admins) {
				t.Errorf("%s: the owner gets %s", line, answer)
			}
		}
	}
	for _, about := range wire.Verbs() {
		v := sights[about.Name]
		if !v.reads {
			continue
		}
		line := fill.Replace(v.asks[0])
		for _, p := range []site.Person{alice, site.Root()} {
			answer := s.Ask(p, line, about.Name == "records")
			if !strings.Contains(answer, "hush") || about.Name == "history" && !strings.Contains(answer, "hush, by root") {
				t.Errorf("%s: %s gets %s: the test proves nothing", line, p.Name, answer)
			}
			if about.Name == "history" && p.UID == 0 && strings.Count(answer, "hidden") < 2 {
				t.Errorf("%s: root gets %s", line, answer)
			}
		}
	}
	s.open(bob)
	if st := s.Status(fill.Replace("ID")).Lookup; st.Status != "running" {
		t.Errorf("after all that the grid job is %s: %s", st.Status, st.Message)
	}
}

// secretsOf makes the facts that must stay secret: a running grid job of alice, her dataset, orders about both, and
// bans. It returns the replacements for their names in requests.
func (s house) secretsOf(alice, carol site.Person) *strings.Replacer {
	s.T.Helper()
	id := s.Submit(alice, "key = \"hush-key\"\n"+strings.Replace(site.Script("sleep 600"), `"who"`, `"hush-job"`, 1))
	s.Until("the job runs", func() bool { return s.Status(id).Lookup.Counts.Running == 1 })
	for _, words := range []string{`{"verb":"dataset","dataset":{"do":"add","name":"hush-data","files":[{"lfn":"a"}]}}`,
		`{"verb":"dataset","dataset":{"do":"mark","name":"hush-data","lfns":["a"],"state":"lost","reason":"hush"}}`,
		`{"verb":"order","order":{"verb":"pause","kind":"job","name":"` + id + `","reason":"hush"}}`} {
		s.granted(alice, words)
	}
	for _, words := range []string{
		`{"verb":"order","order":{"verb":"pause","kind":"user","name":"` + alice.Name + `","reason":"hush"}}`,
		`{"verb":"order","order":{"verb":"pause","kind":"user","name":"` + carol.Name + `","reason":"hidden"}}`,
		`{"verb":"ban","ban":{"name":"` + carol.Name + `","reason":"hidden"}}`,
		`{"verb":"ban","ban":{"name":"/DC=org/CN=hidden","reason":"hidden"}}`,
		`{"verb":"dataset","dataset":{"do":"mark","name":"hush-data","uid":` + strconv.Itoa(alice.UID) +
			`,"lfns":["a"],"state":"ready","reason":"hush, by root"}}`} {
		s.granted(site.Root(), words)
	}
	return strings.NewReplacer("ID", id, "HANDLE", fmt.Sprint(s.Status(id).Handle), "UID", strconv.Itoa(alice.UID),
		"ALICE", alice.Name)
}

// granted sends a request that must succeed.
func (s house) granted(p site.Person, line string) {
	s.T.Helper()
	if answer := s.Ask(p, line, false); !strings.HasPrefix(answer, `{"ok":true`) {
		s.T.Fatalf("%s: %s gets %s", line, p.Name, answer)
	}
}

// openFiles are the files below the state folder that accounts without jobs or data can read or write, each with a
// description of its content, as in the table of docs/IDENTITY.md.
var openFiles = [][2]string{
	{"/", "the names of what is in it"},
	{"advertised.json", "the site's ad, as brokers read it"},
	{"drop/", "nothing: it takes fragments of records, and cannot be listed"},
	{"jjm.sock", "the verbs above"},
	{"records/", "which ids have records"},
	{"records/.store.ids", "which store the folder belongs to, and up to which id that has reserved ids"},
	{"records/handles/", "which handle is which id; a handle is a hash of an account and a request key"},
	{"records/handles/*/", "the same"},
	{"work/", "which accounts have work areas"},
	{"work/.store.ids", "the same as `records/.store.ids`"},
}

// beingWritten matches the temporary name of .store.ids while the file is being written.
var beingWritten = regexp.MustCompile(`/\.\.store\.ids[0-9]+$`)

// open reports files below the state folder that a person can read or write and that are not in the table.
func (s house) open(p site.Person) {
	s.T.Helper()
	listed, _ := p.As("find", s.Dir+"/s", "(", "-readable", "-o", "-writable", ")", "-not", "-type", "l", "-printf",
		"%y%P\n").Output() // find fails because it cannot enter all folders
	if len(listed) == 0 {
		s.T.Error("find lists nothing: the test proves nothing")
	}
	for _, name := range strings.Fields(string(listed)) {
		if name[0] == 'd' {
			name += "/"
		}
		name = beingWritten.ReplaceAllString(name, "/.store.ids")
		if !slices.ContainsFunc(openFiles, func(f [2]string) bool {
			match, err := path.Match(f[0], name[1:])
			return err == nil && match
		}) {
			s.T.Errorf("%s can read or write %s of the state folder, which is not in the table", p.Name, name[1:])
		}
	}
}
