package slurm

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// library is an installed libslurmfull.so.
type library struct {
	file *elf.File
	// pointers maps each place in memory that holds an address to this address.
	pointers map[uint64]uint64
}

// slurmLibrary opens the library of the installed Slurm. It ends the test if there is none.
func slurmLibrary(t *testing.T) library {
	t.Helper()
	testbed.Start(t, "slurm") // which installs it
	var found []string
	for _, pattern := range []string{"/usr/lib/*/slurm*/libslurmfull.so", "/usr/lib*/slurm*/libslurmfull.so"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		t.Fatal("Slurm is installed and its library is in none of the known places")
	}
	f, err := elf.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	section := f.Section(".rela.dyn")
	if section == nil || f.Class != elf.ELFCLASS64 {
		needs.Missing(t, "a 64-bit library with relocations", "run the test on amd64 or arm64")
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	l := library{file: f, pointers: map[uint64]uint64{}}
	for len(data) >= 24 { // Elf64_Rela: place, kind, addend
		l.pointers[f.ByteOrder.Uint64(data)] = f.ByteOrder.Uint64(data[16:])
		data = data[24:]
	}
	return l
}

// text returns the C string at an address; "" if there is none.
func (l library) text(at uint64) string {
	s := l.file.Section(".rodata")
	if at < s.Addr || at >= s.Addr+s.Size {
		return ""
	}
	buf := make([]byte, min(400, s.Addr+s.Size-at))
	if _, err := s.ReadAt(buf, int64(at-s.Addr)); err != nil {
		return ""
	}
	return string(buf[:max(bytes.IndexByte(buf, 0), 0)])
}

// errors returns the texts of slurm_errtab. Each row has a number, in some versions a name, and a text; the first row
// is success. The rows after the table have no number.
func (l library) errors() (texts []string) {
	for place, at := range l.pointers {
		if l.text(at) != "No error" {
			continue
		}
		for _, row := range []uint64{16, 24} {
			if l.text(l.pointers[place+row]) == "Unspecified error" {
				return l.rows(place, row)
			}
		}
	}
	return nil
}

// rows returns the last column of the rows of a table whose first column is a number.
func (l library) rows(place, row uint64) (texts []string) {
	for ; ; place += row {
		at, known := l.pointers[place]
		if _, pointer := l.pointers[place+8-row]; !known || pointer || l.text(at) == "" {
			return texts
		}
		texts = append(texts, l.text(at))
	}
}

// words returns the C strings of the library that match a pattern.
func (l library) words(t *testing.T, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	data, err := l.file.Section(".rodata").Data()
	if err != nil {
		t.Fatal(err)
	}
	for word := range bytes.SplitSeq(data, []byte{0}) {
		if pattern.Match(word) {
			found = append(found, string(word))
		}
	}
	return found
}

// The recorded list has every text of the installed Slurm, and defines the meaning of each text for a submission.
func TestInstalled_SlurmsTextsHaveAKind(t *testing.T) {
	list, err := os.ReadFile("testdata/errno.txt")
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for line := range strings.Lines(string(list)) {
		if text, other := strings.CutPrefix(strings.TrimSpace(line), "of no submission: "); other {
			others = append(others, text)
		}
	}
	texts := slurmLibrary(t).errors()
	if len(texts) < 200 {
		t.Fatalf("slurm_errtab has only %d texts: is it read wrongly? %q", len(texts), texts)
	}
	for _, text := range texts {
		_, known := find(text)
		if !known && !strings.Contains(text, unexplainedPolicy) && !slices.Contains(others, text) {
			t.Errorf("%q is neither in the table nor marked as of no submission", text)
		}
	}
}

// If a reason of the installed Slurm names a limit on the number of submitted jobs, the error is of kind Busy and
// marked by TooMany. For all other limits, which a single job can exceed, the error has some known kind.
func TestInstalled_SlurmsReasonsHaveAKind(t *testing.T) {
	l := slurmLibrary(t)
	reasons := l.words(t, regexp.MustCompile(`^(Assoc(Grp|Max)|QOS(Grp|Max|Min))[A-Z][A-Za-z]+$|^Max[A-Za-z]+PerAccount$`))
	if len(reasons) < 100 {
		t.Fatalf("only %d reasons: %q", len(reasons), reasons)
	}
	submit := 0
	for _, reason := range reasons {
		err := refused(reason + "\nsbatch: error: Batch job submission failed: " + unexplainedPolicy)
		if strings.Contains(reason, "Submit") {
			submit++
			if jjm.KindOf(err) != jjm.Busy || !adapters.IsTooMany(err) || adapters.IsUnexplained(err) {
				t.Errorf("%s: %v of kind %s", reason, err, jjm.KindOf(err))
			}
		} else if jjm.KindOf(err) == jjm.Ambiguous || adapters.IsUnexplained(err) {
			t.Errorf("%s: %v of kind %s", reason, err, jjm.KindOf(err))
		}
	}
	if submit < 5 {
		t.Errorf("only %d reasons of submitted jobs: %q", submit, reasons)
	}
}
