package docs_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// notRun returns the printed commands that TestPages_RunAsPrinted does not run, with the reasons. The keys are the
// first words of the commands.
func notRun() map[string]string {
	return map[string]string{
		"make demo":               "builds the programs; internal/testkit and test/daemon run the demo",
		"make test":               "runs this test",
		"make bench":              "measures for minutes",
		"go run ./test/bench":     "measures for minutes",
		"jjm serve":               "stays in the foreground; the test starts it for all pages",
		"jjm serve --adopt":       "stays in the foreground, with the configuration of an installed site",
		"systemctl":               "needs systemd and root",
		"cp -a /var/lib/jjm":      "needs an installed site",
		"runuser -u alice":        "needs root, an account alice and the scripts of a gatekeeper",
		"condor_status":           "needs a collector",
		"printf '{":               "needs the socket of an installed site",
		"scripts/":                "needs root; TestInstall_Languages installs them below a folder",
		"globus-gatekeeper-admin": "needs Globus",
		"cp adapters/all/":        "writes in the source; adapters/all runs it",
		"go test ./adapters/farm": "is the test of a new adapter; adapters/all runs it",
	}
}

// runElsewhere returns, by page, a pattern for the blocks whose commands other tests run.
func runElsewhere() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"README.md":        regexp.MustCompile("(?ms)^```console\n.*?^```$"),            // TestReadme_QuickTourRuns
		"docs/DATASETS.md": regexp.MustCompile("(?ms)^```console(?: again)?\n.*?^```$"), // TestDatasets_TheChainRuns
		"docs/JOB-TYPES.md": regexp.MustCompile( // TestTypes_TheDocumentsCommandsDoWhatTheySay
			"(?ms)^```sh(?: [a-z.]+)?\n.*?^```$"),
		"docs/JOB-FILES.md": regexp.MustCompile("(?ms)^```sh sum.sh\n.*?^```$"), // a script, which TestRun runs
	}
}

// printed is a command on a page, with the output that the page shows below it.
type printed struct {
	line  string
	shown []string
}

var (
	anyFence = regexp.MustCompile("(?ms)^```([a-z]*).*?\n(.*?)^```$")
	starts   = regexp.MustCompile(`^(?:\$ |jjm |make |go |export |systemctl |cp |curl |condor_status |scripts/|globus-)`)
	inSource = regexp.MustCompile(`(?:^| )(?:\./)?((?:scripts|adapters/all|test)/\S+)`)
	// assignment matches a command that sets a variable for the commands below it.
	assignment = regexp.MustCompile(`^(?:export )?[A-Z_]+=\S+$`)
	isMessage  = regexp.MustCompile(`^jjm [a-z-]+: `)
)

// printedBlocks returns, in order, the commands of each block of a page.
func printedBlocks(page string) (blocks [][]printed) {
	page = anyFence.ReplaceAllStringFunc(page, func(block string) string {
		m := anyFence.FindStringSubmatch(block)
		if m[1] != "sh" && m[1] != "console" {
			return "\n"
		}
		prompt := "\n    $ "
		if m[1] == "console" {
			prompt = "\n    "
		}
		return prompt + strings.ReplaceAll(strings.TrimSpace(m[2]), "\n", prompt) + "\n"
	})
	var block []printed
	for line := range strings.Lines(page + "\nend\n") {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !indented && len(block) > 0:
			blocks, block = append(blocks, block), nil
		case indented && starts.MatchString(text) && !isMessage.MatchString(text):
			block = append(block, printed{line: strings.TrimPrefix(text, "$ ")})
		case indented && len(block) > 0:
			last := &block[len(block)-1]
			last.shown = append(last.shown, strings.TrimSpace(text))
		}
	}
	return blocks
}

// newcomer is a person with a new home folder, in whose shell only HOME and PATH are set.
type newcomer struct {
	t    *testing.T
	home string
	env  []string
	ran  int
}

// TestPages_RunAsPrinted runs the commands of each page in order, like a newcomer who types them, in a separate home
// folder and without variables that the page does not set. Before block N of page P it runs testdata/printed/P-N.sh,
// which makes the jobs that the block needs. A line such as 17=4 in the output of this script means that the job 17 on
// the page is job 4 here.
func TestPages_RunAsPrinted(t *testing.T) {
	t.Parallel()
	needs.Program(t, "jq", "jq")
	needs.Program(t, "curl", "curl")
	home, err := os.MkdirTemp("", "jjmp") // the path must be short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env, _ := newcomers(t, home)
	n := &newcomer{t: t, home: home, env: env}
	all := pages(t)
	all["README.md"] = readme(t)
	n.serve()
	defer n.end()
	left, unused := notRun(), notRun()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		if done := runElsewhere()[name]; done != nil {
			text = done.ReplaceAllString(text, "")
		}
		n.page(strings.TrimSuffix(filepath.Base(name), ".md"), printedBlocks(text), left, unused)
	}
	if n.ran < 65 {
		t.Errorf("only %d commands were run: are they found?", n.ran)
	}
	for first := range unused {
		t.Errorf("no page has the command %q, which is in the table of commands that are not run", first)
	}
}

// newcomers returns the environment of a shell in which only HOME and PATH are set, and the state folder of a daemon
// that starts in this shell. On a machine with an installed daemon JJM_STATE is also set, as README.md says.
func newcomers(t *testing.T, home string) (env []string, state string) {
	t.Helper()
	state = home + "/.local/state/jjm"
	env = []string{"HOME=" + home, "PATH=" + bin.Dir(t) + ":" + os.Getenv("PATH")}
	if _, err := os.Stat("/var/lib/jjm"); err == nil {
		env = append(env, "JJM_STATE="+state)
	}
	return env, state
}

// serve starts one daemon for all pages. Its clusters have the names that the pages use. Its web page listens on a
// socket and has an empty file of tokens, web.tokens. The file web.port has a port that leads to this socket.
func (n *newcomer) serve() {
	config, err := os.ReadFile("testdata/printed/site.toml")
	if err != nil {
		n.t.Fatal(err)
	}
	if err := os.MkdirAll(n.home+"/.config/jjm", 0o700); err != nil {
		n.t.Fatal(err)
	}
	path, socket, tokens := n.home+"/.config/jjm/site.toml", n.home+"/web.sock", n.home+"/web.tokens"
	config = fmt.Appendf(config, "\n[web]\nlisten = %q\ntokens = %q\n", socket, tokens)
	for file, text := range map[string][]byte{path: config, tokens: nil, n.home + "/web.port": webPort(n.t, socket)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	serve(n.t, n.home, append(slices.Clone(n.env), "JJM_CONFIG="+path))
}

// webPort passes requests at a free port of this machine on to the socket of a web page, and returns the port.
func webPort(t *testing.T, socket string) []byte {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "jjm"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return []byte(port)
}

// end kills all unfinished grid jobs, because their processes would outlive the daemon, and waits until they have
// ended.
func (n *newcomer) end() {
	n.t.Helper()
	ended := `jjm release --yes --user $(id -un); jjm kill --yes --user $(id -un)
for id in $(jjm list --all --limit 1000 --csv --columns id | tr -d '\r' | sed 1d); do jjm wait $id || :; done`
	if out, err := n.shell(n.home, ended); err != nil {
		n.t.Errorf("kill what still runs: %v\n%s", err, out)
	}
}

// shell runs a command in a folder.
func (n *newcomer) shell(dir, line string) (string, error) {
	cmd := exec.CommandContext(await.Context(n.t, time.Minute), "sh", "-euc", line)
	cmd.Dir, cmd.Env = dir, n.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// page runs the blocks of a page in a separate folder. It does not run the commands whose first words are in left. It
// removes from unused the entries that it needed, so that the test can report superfluous ones.
func (n *newcomer) page(name string, blocks [][]printed, left, unused map[string]string) {
	dir := filepath.Join(n.home, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		n.t.Fatal(err)
	}
	var exports strings.Builder
	for i, block := range blocks {
		real := n.prepare(name, i+1, dir)
		for _, command := range block {
			if first := firstOf(command.line, left); first != "" {
				delete(unused, first)
				n.knows(name, command.line)
				continue
			}
			n.runs(name, dir, exports.String(), command, real)
			if assignment.MatchString(command.line) {
				exports.WriteString(command.line + "\n")
			}
		}
	}
}

// knows checks a command that is not run: its files exist in the source, a make target exists, and the help of jjm has
// the verb and the flags.
func (n *newcomer) knows(page, line string) {
	n.t.Helper()
	for _, path := range inSource.FindAllStringSubmatch(line, -1) {
		if _, err := os.Stat(filepath.Join(root, path[1])); err != nil {
			n.t.Errorf("%s: %s: %v", page, line, err)
		}
	}
	if words := strings.Fields(line); words[0] == "make" {
		makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
		if err != nil || !strings.Contains(string(makefile), "\n"+words[1]+":") {
			n.t.Errorf("%s: %s: the Makefile has no such target (%v)", page, line, err)
		}
	}
	_, args, found := strings.Cut(" "+line, " jjm ")
	if !found {
		return
	}
	verb, _, _ := strings.Cut(args, " ")
	help, err := n.shell(n.home, "jjm "+verb+" --help")
	for _, flag := range regexp.MustCompile(` --[a-z-]+`).FindAllString(args, -1) {
		if err != nil || !regexp.MustCompile(flag+`\b`).MatchString(help) {
			n.t.Errorf("%s: %s: jjm %s --help (%v) does not name%s", page, line, verb, err, flag)
		}
	}
	if err != nil {
		n.t.Errorf("%s: %s: %v\n%s", page, line, err, help)
	}
}

// firstOf returns the longest key of the table with which a command begins, "" if there is none.
func firstOf(line string, table map[string]string) (first string) {
	for words := range table {
		exact := words == "jjm serve" && !strings.HasPrefix(line+" ", "jjm serve ")
		if strings.HasPrefix(line, words) && !exact && len(words) > len(first) {
			first = words
		}
	}
	return first
}

// prepare runs the script that prepares a block, if there is one. It returns the real names of the jobs and files, by
// their names on the page.
func (n *newcomer) prepare(page string, block int, dir string) map[string]string {
	n.t.Helper()
	script, err := os.ReadFile("testdata/printed/" + page + "-" + string(rune('0'+block)) + ".sh")
	if os.IsNotExist(err) {
		return nil
	}
	common, commonErr := os.ReadFile("testdata/printed/common.sh")
	if err != nil || commonErr != nil {
		n.t.Fatal(err, commonErr)
	}
	out, err := n.shell(dir, string(common)+string(script))
	if err != nil {
		n.t.Errorf("the preparation of block %d of %s: %v\n%s", block, page, err, out)
	}
	real := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9_]+)=(\S+)$`).FindAllStringSubmatch(out, -1) {
		real[m[1]] = m[2]
	}
	return real
}

// runs runs a printed command. The command must succeed, or must fail if the page shows an error below it. The output
// must contain the lines that the page shows; numbers may differ.
func (n *newcomer) runs(page, dir, exports string, command printed, real map[string]string) {
	n.t.Helper()
	line := regexp.MustCompile(`[A-Za-z0-9_]+`).ReplaceAllStringFunc(command.line, func(word string) string {
		if name := real[word]; name != "" {
			return name
		}
		return word
	})
	n.ran++
	out, err := n.shell(dir, exports+line)
	if first := firstOf(command.line, instead()); first != "" {
		if !strings.Contains(out, instead()[first]) {
			n.t.Errorf("%s: %s: %v\n%s\nwant %s", page, line, err, out, instead()[first])
		}
		return
	}
	shown := strings.Join(command.shown, "\n")
	wrong := strings.Contains(shown, " error ") || isMessage.MatchString(shown)
	if wrong != (err != nil) {
		n.t.Errorf("%s: %s: %v\n%s", page, line, err, out)
		return
	}
	for _, want := range command.shown {
		if !prints(out, want) {
			n.t.Errorf("%s: %s prints\n%s\nthe page shows\n%s", page, line, out, want)
		}
	}
}

// instead returns the commands whose output on this site differs from the page, each with the expected output. The keys
// are the first words of the commands.
func instead() map[string]string {
	return map[string]string{
		"curl -H":                            "<dt>Name</dt><dd><bdi>watched</bdi></dd>", // the page of the job
		"jjm advertise --now":                "this site is not advertised",              // there is no collector
		"jjm exclude wn13":                   "exclude.cluster is missing",               // this site has several clusters
		"jjm find --host wn13":               "no job that this account may see fits",
		"jjm find --host node7 --at":         "no job that this account may see fits",
		"jjm health":                         "JJM ", // no cluster is down
		"jjm remove --status done --age 30d": "there is no",
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// prints reports whether a text contains a shown line. Numbers, plurals, accounts and line breaks may differ.
func prints(out, want string) bool {
	pattern := numbers.ReplaceAllLiteralString(regexp.QuoteMeta(want), `[0-9]+`)
	pattern = strings.NewReplacer(`\.\.\.`, `.*`, "alice", `\S+`, "CET", `[A-Z]+`, "jobs", "jobs?").Replace(pattern)
	pattern = strings.Join(strings.Fields(pattern), `\s+`)
	return regexp.MustCompile(`(?m)^\s*` + pattern).MatchString(out)
}

func TestPrints_WouldFindADifference(t *testing.T) {
	blocks := printedBlocks("x\n```sh\nmkdir a\n```\n```toml\njjm = 1\n```\n\n    $ a\n    b\n    $ c\n\n    jjm why: x\n")
	want := [][]printed{{{line: "mkdir a"}}, {{line: "a", shown: []string{"b"}}, {line: "c"}}}
	if !reflect.DeepEqual(blocks, want) {
		t.Errorf("blocks %q, want %q", blocks, want)
	}
	if prints("17 held 2\n", "17 freed 2") || !prints("4 held 2\n", "17 held 28") || prints("17 error x", "17 held 2") {
		t.Error("prints is blind")
	}
}
