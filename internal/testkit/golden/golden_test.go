package golden

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type row struct {
	ID string `json:"id"`
	N  int    `json:"n"`
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func odd(_ string, r row) string {
	if r.N%2 == 1 {
		return ""
	}
	return "even"
}

func TestRun_NamesEveryRowThatDiffers(t *testing.T) {
	file := write(t, "x.jsonl", `{"id":"a","n":1}`+"\n\n"+`{"id":"b","n":2}`+"\n"+`{"id":"c","n":4}`)
	err := run(file, odd)
	if err == nil || !strings.Contains(err.Error(), "2 of 3 rows differ: b c") {
		t.Errorf("got %v", err)
	}
}

func TestRun_RefusesFilesWithoutRowsAndRowsThatAreNotJSON(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "blank": "\n\n", "no JSON": "{\n",
		"wrong type": `{"id":"a","n":"x"}`} {
		if err := run(write(t, "x.jsonl", text), odd); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := run(filepath.Join(t.TempDir(), "none.jsonl"), odd); err == nil {
		t.Error("missing file: accepted")
	}
	if err := run(write(t, "x.jsonl.gz", "plain"), odd); err == nil {
		t.Error("not compressed: accepted")
	}
}

func TestRun_ReadsCompressedRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(`{"id":"a","n":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := run(file, odd); err != nil {
		t.Error(err)
	}
}

func TestRows_AlsoRunsTheRowsOfJJM_GOLDEN(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "jedi"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jedi", "gbs_decisions.jsonl"), []byte(`{"id":"extra"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Env, dir)
	extra := 0
	Rows(t, "jedi/gbs_decisions", func(id string, _ row) string {
		if id == "extra" {
			extra++
		}
		return ""
	})
	if extra != 1 {
		t.Errorf("the row of %s was run %d times, want once", Env, extra)
	}
}
