package slurm

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// damaged replaces one field of a record by an invalid word or by a word of another kind of field.
func damaged(t *rapid.T, record, sep string) string {
	fields := strings.Split(record, sep)
	at := rapid.IntRange(0, len(fields)-1).Draw(t, "field")
	words := []string{"", "79+0", "-1", "DREAMING", "yesterday", "\x00\xff", "9999999999999999999999"}
	fields[at] = rapid.SampledFrom(words).Draw(t, "word")
	return strings.Join(fields, sep)
}

// A listing with one damaged record contains all other records, and nothing that the undamaged listing lacks.
func TestSqueue_ADamagedRecordCostsItself(t *testing.T) {
	head, rest, _ := strings.Cut(recorded(t, "squeue.txt"), "\n")
	records := strings.SplitAfter(rest, "|r|\n")
	records = records[:len(records)-1]
	rapid.Check(t, func(t *rapid.T) {
		all := slices.Clone(records)
		at := rapid.IntRange(0, len(all)-1).Draw(t, "record")
		without, _, err := parseSqueue(head + "\n" + strings.Join(slices.Delete(slices.Clone(all), at, at+1), ""))
		if err != nil {
			t.Fatal(err)
		}
		all[at] = damaged(t, strings.TrimSuffix(all[at], "|r|\n"), "|") + "|r|\n"
		rows, _, err := parseSqueue(head + "\n" + strings.Join(all, ""))
		if err != nil || len(rows) < len(without) || len(rows) > len(without)+1 {
			t.Fatalf("%q: %d rows, %d without it, error %v", all[at], len(rows), len(without), err)
		}
		for _, r := range without {
			if !slices.Contains(rows, r) {
				t.Fatalf("%q cost %+v", all[at], r)
			}
		}
	})
}

func TestSacct_ADamagedRecordCostsItself(t *testing.T) {
	head, rest, _ := strings.Cut(recorded(t, "sacct.txt"), "\n")
	lines := strings.SplitAfter(rest, "\n")
	lines = lines[:len(lines)-1]
	ids := func(records []record) (out []string) {
		for _, r := range records {
			out = append(out, r.array+"|"+r.step+"|"+string(r.tag))
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		all := slices.Clone(lines)
		at := rapid.IntRange(0, len(all)-1).Draw(t, "line")
		without, _, err := parseSacct(head + "\n" + strings.Join(slices.Delete(slices.Clone(all), at, at+1), ""))
		if err != nil {
			t.Fatal(err)
		}
		all[at] = damaged(t, strings.TrimSuffix(all[at], "\n"), "|") + "\n"
		records, _, err := parseSacct(head + "\n" + strings.Join(all, ""))
		if err != nil {
			t.Fatalf("%q: %v", all[at], err)
		}
		got := ids(records)
		for _, id := range ids(without) {
			if !slices.Contains(got, id) {
				t.Fatalf("%q cost %s", all[at], id)
			}
		}
	})
}

// If a record of a tag is unreadable, the tag is not absent, and a cancel does not treat its job as gone. Another tag
// is absent.
func TestFind_AnUnreadRecordIsNotAbsence(t *testing.T) {
	row := "8|2|x|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|"
	a := damagedSite(t, "echo '"+squeueHead+"'; echo '"+row+"'", "echo '"+strings.ReplaceAll(sacctFields, ",", "|")+"'")
	ann := jjm.Owner{User: "ann"}
	found, err := a.Find(t.Context(), ann, []jjm.Tag{"jabc", "jdef"})
	if err != nil || found[0].Presence != adapters.NotYetKnown || found[1].Presence != adapters.Absent {
		t.Errorf("%+v, error %v", found, err)
	}
	answers, err := a.Control(t.Context(), ann, adapters.Cancel,
		[]adapters.Ref{{Tag: "jabc", ID: "2", Index: 0}, {Tag: "jdef", ID: "9", Index: 0}})
	if err != nil || jjm.KindOf(answers[0]) != jjm.Busy || answers[1] != nil {
		t.Errorf("answers %v, error %v", answers, err)
	}
}

// damagedSite returns an adapter whose commands are the given scripts.
func damagedSite(t *testing.T, squeue, sacct string) *Adapter {
	t.Helper()
	config, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Bin = commandsOf(t, map[string]string{
		"scontrol": "cat " + config, "sinfo": `echo "short*|up|64|65536|1:00:00|0/64/0/64|10000|gpu:2"`,
		"squeue": squeue, "sacct": sacct, "scancel": `echo "$@" >>"$0.args"`,
	})
	return testAdapter(t, c)
}

// A job does not count as gone if sacct shows its record but jjm cannot read the record, even if the record of another
// job of the bulk is readable.
func TestAccount_AnUnreadRecordIsNoProofOfAbsence(t *testing.T) {
	head := "echo '" + strings.ReplaceAll(sacctFields, ",", "|") + "'; "
	a := damagedSite(t, "echo '"+squeueHead+"'", head+
		"echo '3_0|3|COMPLETED|0:0|1795281208|1795281211|1795281211|00:00:00||n1|ann|jdef'; "+
		"echo '3_1|4|DREAMING|0:0|1795281208|1795281211|1795281211|00:00:00||n1|ann|jdef'")
	got, err := a.Account(t.Context(), jjm.Owner{User: "ann"},
		[]adapters.Ref{{Tag: "jdef", ID: "3", Index: 1}, {Tag: "jdef", ID: "3", Index: 0}, {Tag: "jghi", ID: "4", Index: 0}})
	if err != nil || len(got) != 2 || got[0].State != jjm.BatchEndedOK || got[1].State != jjm.BatchUnknown ||
		got[1].Index != 1 {
		t.Errorf("%+v, error %v", got, err)
	}
}

// An unreadable record does not prevent a cancel of the other jobs of its bulk.
func TestControl_AnUnreadRecordCostsItself(t *testing.T) {
	row := func(id, index string) string {
		return "echo '" + id + "|2|" + index + "|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|'; "
	}
	a := damagedSite(t, "echo '"+squeueHead+"'; "+row("7", "0")+row("8", "x"), "exit 1")
	answers, err := a.Control(t.Context(), jjm.Owner{User: "ann"}, adapters.Cancel,
		[]adapters.Ref{{Tag: "jabc", ID: "2", Index: 0}, {Tag: "jabc", ID: "2", Index: 1}})
	args, _ := filepath.Glob(a.config.Bin + "/scancel.args")
	if err != nil || len(args) == 0 || jjm.KindOf(answers[1]) != jjm.Busy {
		t.Errorf("answers %v, error %v, cancelled %v", answers, err, args)
	}
}

// A line of sacct that begins like a record and has too few fields is an unreadable record.
func TestSacct_AShortRecordIsUnread(t *testing.T) {
	head := strings.ReplaceAll(sacctFields, ",", "|") + "\n"
	records, unread, err := parseSacct(head + "3_1|3|COMPLETED|0:0|1|1|1|0|n|ann|jabc\n" + "the rest of a name|x\n")
	if err != nil || len(records) != 0 || len(unread) != 1 || unread[0].Tag != "jabc" || unread[0].ID != "3" {
		t.Errorf("%v, unread %+v, error %v", records, unread, err)
	}
}
