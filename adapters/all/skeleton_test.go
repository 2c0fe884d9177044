package all

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"

	// This import makes go test repeat the test when the suite changes. The example itself is compiled by another command,
	// whose sources go test does not see.
	_ "jjm/internal/testkit/adaptertest"
)

// The skeleton of docs/ADAPTERS.md compiles in the source tree. Its tests, including the whole suite, pass against the
// server of testdata/farm.
func TestSkeleton_PassesTheSuite(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	out, err := exec.Command(skeleton(t, func(page string) string { return page }), "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance") ||
		!strings.Contains(string(out), "--- PASS: TestFaults") {
		t.Errorf("the skeleton of ADAPTERS.md fails: %v\n%s", err, out)
	}
}

// The test on the page fails if a method of the adapter accepts the output of a faulty command.
func TestSkeleton_FaultsAreSeenInEachMethod(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	wrong := map[string]struct{ old, now string }{
		"Submit":  {`return adapters.Receipt{}, fmt.Errorf("%s: submit`, `return adapters.Receipt{}, adapters.AsBusy(err)`},
		"List":    {`return adapters.Listing{}, fmt.Errorf("%s: list`, `return adapters.Listing{At: at}, nil`},
		"Find":    {`return nil, fmt.Errorf("%s: find`, `return []adapters.Found{{Presence: adapters.Absent}}, nil`},
		"Account": {`return nil, fmt.Errorf("%s: account`, `return nil, nil`},
		"Control": {`answers[i] = adapters.AsBusy(fmt.Errorf("%s`, `continue`},
	}
	program := skeleton(t, func(page string) string {
		for method, w := range wrong {
			if strings.Count(page, w.old) != 1 {
				t.Fatalf("the page does not have %s once", w.old)
			}
			page = strings.Replace(page, w.old, "if wrong("+strconv.Quote(method)+") {\n"+w.now+"\n}\n"+w.old, 1)
		}
		const first = "\n// Config is the section of a cluster"
		return strings.Replace(strings.Replace(page, "\t\"net/url\"", "\t\"net/url\"\n\t\"os\"", 1), first,
			"\nfunc wrong(method string) bool { return os.Getenv(\"WRONG\") == method }\n"+first, 1)
	})
	for method := range wrong {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, "-test.run", "TestFaults")
			cmd.Env = append(os.Environ(), "WRONG="+method)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFaults/"+method) {
				t.Errorf("the test of the page finds nothing wrong with %s: %v\n%s", method, err, out)
			}
		})
	}
}

// skeleton changes the page docs/ADAPTERS.md with the function change, compiles the skeleton that the changed page
// shows, and returns the path of its compiled tests.
func skeleton(t *testing.T, change func(page string) string) string {
	needs.Program(t, "go", "golang-go")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/ADAPTERS.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := change(string(text))
	dir, folder := t.TempDir(), filepath.Join(root, "adapters", "farm")
	files := map[string]string{
		filepath.Join(folder, "server_test.go"): filepath.Join(root, "adapters/all/testdata/farm/server_test.go")}
	blocks := regexp.MustCompile("(?s)```go (skeleton|skeleton test)\n(.*?)```")
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		name := map[string]string{"skeleton": "farm.go", "skeleton test": "farm_test.go"}[block[1]]
		if err := os.WriteFile(filepath.Join(dir, name), []byte(block[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		files[filepath.Join(folder, name)] = filepath.Join(dir, name)
	}
	if len(files) != 3 {
		t.Fatalf("the page has %d parts of the skeleton, want 2", len(files)-1)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "farm.test")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "-overlay", file, "./adapters/farm")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the skeleton of ADAPTERS.md does not compile: %v\n%s", err, out)
	}
	return program
}
