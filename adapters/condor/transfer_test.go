package condor

import (
	"slices"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func carried() *adapters.Transfer {
	return &adapters.Transfer{In: []string{"/area/bin/jjm-wrapper", "/area/bulks/t/box.tar", "/area/packages/0a1b"},
		Out: "parcel.tar", Back: "/area/bulks/t/back"}
}

func TestTransferLines(t *testing.T) {
	tests := map[string]struct {
		transfer *adapters.Transfer
		want     []string
	}{
		"a shared file system": {nil, []string{"should_transfer_files = NO"}},
		"nothing": {&adapters.Transfer{}, []string{
			"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT", `transfer_output_files = ""`}},
		"all": {carried(), []string{
			"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT",
			"transfer_input_files = /area/bin/jjm-wrapper,/area/bulks/t/box.tar,/area/packages/0a1b",
			"transfer_output_files = parcel.tar",
			`transfer_output_remaps = "parcel.tar=/area/bulks/t/back/$(Process)"`}},
		"a folder for each": {&adapters.Transfer{In: []string{"/area/box.tar"}, Each: "/area/bulks/t/in"}, []string{
			"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT",
			"transfer_input_files = /area/box.tar,/area/bulks/t/in/$(Process)", `transfer_output_files = ""`}},
		"a proxy": {&adapters.Transfer{Proxy: "/area/credentials/g/proxy"}, []string{
			"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT", "x509userproxy = /area/credentials/g/proxy",
			`transfer_output_files = ""`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := transferLines(tt.transfer); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckTransfer_NamesTheField(t *testing.T) {
	odd := []string{"", "/", "rel/ative", "/a/", "/a//b", "/a/../b", "/a b", "/a\tb", "/a\nb", "/a,b", "/a;b", "/a=b",
		`/a"b`, "/a'b",
		"/a`b", "/a$(b)", `/a\b`, "/a*", "/a?", "/a[0]", "/a{0}", "/a\x00b", "/a\xffb", "/a\u00a0b"}
	for _, path := range odd {
		for field, change := range map[string]func(x *adapters.Transfer){
			"transfer.in":    func(x *adapters.Transfer) { x.In[1] = path },
			"transfer.back":  func(x *adapters.Transfer) { x.Back = path },
			"transfer.each":  func(x *adapters.Transfer) { x.Each = path + " " },
			"transfer.out":   func(x *adapters.Transfer) { x.Out = path },
			"transfer.proxy": func(x *adapters.Transfer) { x.Proxy = path + " " },
		} {
			x := carried()
			change(x)
			if err := checkTransfer(*x); jjm.KindOf(err) != jjm.Invalid || !strings.HasPrefix(err.Error(), field) {
				t.Errorf("%s %q: error %v", field, path, err)
			}
		}
	}
	x := carried()
	x.Proxy = "/elsewhere/box.tar"
	if err := checkTransfer(*x); jjm.KindOf(err) != jjm.Invalid || !strings.HasPrefix(err.Error(), "transfer.proxy") {
		t.Errorf("a proxy in the place of another file: %v", err)
	}
	for name, in := range map[string][]string{"twice": {"/a/x", "/b/x"}, "as what comes back": {"/a/parcel.tar"}} {
		x := carried()
		x.In = in
		if err := checkTransfer(*x); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, path := range []string{"/area", "/srv/jjm_1/a-b.c+d@e%f~(g)/é"} {
		x := carried()
		x.In[0], x.Back = path, path
		if err := checkTransfer(*x); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestTransferOf(t *testing.T) {
	c := DefaultConfig()
	if got, err := c.transferOf(adapters.Bulk{}); got != nil || err != nil {
		t.Errorf("shared: %+v, error %v", got, err)
	}
	c.SharedFS = false
	if got, err := c.transferOf(adapters.Bulk{Dir: "/area"}); got == nil || len(got.In) != 0 || err != nil {
		t.Errorf("nothing to carry: %+v, error %v", got, err)
	}
	if _, err := c.transferOf(adapters.Bulk{Log: "/area/log", Transfer: carried()}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("a log: error %v", err)
	}
	if got, err := c.transferOf(adapters.Bulk{Transfer: carried()}); got == nil || err != nil {
		t.Errorf("%+v, error %v", got, err)
	}
}

// A path that pathProblem accepts does not change the structure of the transfer lines in a submit description.
func FuzzPathProblem(f *testing.F) {
	for _, path := range []string{"/area/bulks/t/back", "/a,b", "/a\nqueue 5", "/$(Process)", "/a b", "/a\\"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if pathProblem(path) != "" {
			return
		}
		x := &adapters.Transfer{In: []string{path, path}, Each: path, Out: "parcel.tar", Back: path}
		text := strings.Join(transferLines(x), "\n")
		if strings.Count(text, "\n") != 4 || strings.Count(text, ",") != 2 || strings.Count(text, `"`) != 2 ||
			strings.Count(text, "$") != 2 || strings.ContainsAny(text, ";\\\r\t") {
			t.Errorf("%q", text)
		}
	})
}
