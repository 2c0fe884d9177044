package condor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

const shielded = "USER_CONFIG_FILE =\nTOOL.USER_CONFIG_FILE =\nSUBMIT.USER_CONFIG_FILE =\nJJM_USER_CONFIG_FILES = ignored\n"

func TestOwnersConfig_IncludesTheSitesConfiguration(t *testing.T) {
	for site, want := range map[string]string{
		"":                          "",
		"only_env":                  "",
		"/etc/condor/condor_config": "CONFIG_ROOT = /etc/condor\ninclude : /etc/condor/condor_config\n",
		"/a b/c$(X)":                "CONFIG_ROOT = /a b\ninclude : /a b/c$(DOLLAR)(X)\n",
		"/bin/make-config -x |":     "include : /bin/make-config -x |\n",
	} {
		text := ownersConfig(site)
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if got := strings.Join(lines, ""); got != want+shielded {
			t.Errorf("%q:\n%s\nwant\n%s", site, got, want+shielded)
		}
	}
}

func TestSiteFileOf_ReadsTheFirstFile(t *testing.T) {
	for text, want := range map[string]string{
		"Configuration source:\n\t/etc/condor/condor_config\n\n":                                             "/etc/condor/condor_config",
		"Configuration source:\n\t/a b\nLocal configuration sources:\n\t/x\n\t/home/u/.condor/user_config\n": "/a b",
		"Configuration source:\n\t\nLocal configuration source:\n\t/x\n":                                     "",
		"Configuration source:\n\t/bin/it |\n":                                                               "/bin/it |",
	} {
		if got, err := siteFileOf(text); err != nil || got != want {
			t.Errorf("%q: %q, %v: want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "\n", "Can't find address\n", "Configuration source:\n\tcondor_config\n"} {
		if got, err := siteFileOf(text); err == nil {
			t.Errorf("%q: read as %q", text, got)
		}
	}
}

func TestCheckProof_AcceptsOnlyTheMark(t *testing.T) {
	for stdout, want := range map[string]bool{
		"ignored\n": true, "": false, "user_config\n": false, "user_config\nignored\n": false, "/x y\nignored\n": false,
		"ignored\nx\n": false,
	} {
		if err := checkProof(stdout); (err == nil) != want {
			t.Errorf("%q: %v", stdout, err)
		}
	}
}

// pretend makes a folder of commands that treat CONDOR_CONFIG in the same way as HTCondor's commands. Without the
// variable they use the file that the file site names. From a file that the variable names, the commands read only the
// one setting that matters.
type pretend struct {
	t          *testing.T
	bin, state string
	adapter    *Adapter
}

const (
	// pretendValue plays condor_config_val; it understands what ownersConfig writes.
	pretendValue = `#!/bin/sh
file=${CONDOR_CONFIG:-$(cat "${0%/*}/site")}
if [ "$1" = -config ]; then printf 'Configuration source:\n\t%s\n' "$file"; exit; fi
[ "$1" != -schedd ] || { printf '1\n1\n1\nfalse\n'; exit; }
grep -q '^TOOL.USER_CONFIG_FILE =$' "$file" || echo user_config
sed -n 's/^JJM_USER_CONFIG_FILES = //p' "$file"
`
	pretendQuery = `#!/bin/sh
echo "$CONDOR_CONFIG" >>"${0%/*}/asked"
`
)

func newPretend(t *testing.T, owners bool, env map[string]string) *pretend {
	p := &pretend{t: t, bin: t.TempDir(), state: t.TempDir()}
	p.write("condor_config_val", pretendValue)
	p.write("condor_q", pretendQuery)
	p.moved("/etc/condor/condor_config")
	made, err := New("pool", adapters.Env{State: p.state, Owners: owners}, func(config any) error {
		c := config.(*Config)
		c.Bin, c.Env = p.bin, env
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.adapter = made.(*Adapter)
	return p
}

func (p *pretend) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.bin, name), []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// moved makes HTCondor find the site's configuration at another path.
func (p *pretend) moved(site string) { p.write("site", site+"\n") }

// file returns the configuration file that the daemon wrote.
func (p *pretend) file() string {
	text, _ := os.ReadFile(filepath.Join(p.state, "condor_config"))
	return string(text)
}

// asked returns the configuration that each condor_q used.
func (p *pretend) asked() string {
	text, _ := os.ReadFile(filepath.Join(p.bin, "asked"))
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestRun_OwnersCommandsHaveTheDaemonsConfiguration(t *testing.T) {
	p := newPretend(t, true, nil)
	if _, err := p.adapter.run(t.Context(), nil, "condor_q"); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(p.state, "condor_config"); p.asked() != want {
		t.Errorf("condor_q had %q: want %s", p.asked(), want)
	}
	if !strings.Contains(p.file(), "include : /etc/condor/condor_config\n") {
		t.Errorf("the file is\n%s", p.file())
	}
	info, err := os.Stat(filepath.Join(p.state, "condor_config"))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestRun_TheSitesConfigurationIsIncluded(t *testing.T) {
	p := newPretend(t, true, map[string]string{"CONDOR_CONFIG": "/site/condor_config", "_CONDOR_SCHEDD_HOST": "far"})
	if _, err := p.adapter.run(t.Context(), nil, "condor_q"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.file(), "include : /site/condor_config\n") {
		t.Errorf("the file is\n%s", p.file())
	}
	if p.adapter.config.Env["CONDOR_CONFIG"] != "/site/condor_config" {
		t.Error("the cluster's own settings were changed")
	}
}

func TestProbe_FindsTheSitesConfigurationAgain(t *testing.T) {
	p := newPretend(t, true, nil)
	for _, site := range []string{"/etc/condor/condor_config", "/usr/local/etc/condor_config"} {
		p.moved(site)
		if err := p.adapter.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.file(), "include : "+site+"\n") {
			t.Errorf("it is %s, the file is\n%s", site, p.file())
		}
	}
	// A restarted daemon finds the file that the earlier daemon wrote.
	again := *p
	again.adapter = &Adapter{name: "pool", config: p.adapter.config, env: p.adapter.env, proving: make(chan struct{}, 1)}
	p.moved("/third")
	if _, err := again.adapter.run(t.Context(), nil, "condor_q"); err != nil || !strings.Contains(p.file(), "/third\n") {
		t.Errorf("%v; the file is\n%s", err, p.file())
	}
}

// Commands of HTCondor that discard CONDOR_CONFIG would read configuration files in the homes of accounts. If
// condor_config_val shows that it discards the variable, the adapter runs no other command.
func TestRun_NoCommandWithoutProof(t *testing.T) {
	p := newPretend(t, true, nil)
	other := filepath.Join(p.bin, "other")
	p.write("other", "")
	p.write("condor_config_val", strings.Replace(pretendValue, "#!/bin/sh\n", "#!/bin/sh\nCONDOR_CONFIG="+other+"\n", 1))
	for range 2 {
		_, err := p.adapter.run(t.Context(), nil, "condor_q")
		if !adapters.IsNotStarted(err) || !strings.Contains(err.Error(), "user_config") {
			t.Errorf("%v: want it to say what is wrong", err)
		}
	}
	if p.asked() != "" {
		t.Errorf("condor_q ran, with %q", p.asked())
	}
	if err := p.adapter.Probe(t.Context()); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("probe: %v", err)
	}
	p.write("condor_config_val", pretendValue)
	if _, err := p.adapter.run(t.Context(), nil, "condor_q"); err != nil || p.asked() == "" {
		t.Errorf("mended: %v", err)
	}
	p.write("condor_config_val", strings.Replace(pretendValue, "#!/bin/sh\n", "#!/bin/sh\nCONDOR_CONFIG="+other+"\n", 1))
	if err := p.adapter.Probe(t.Context()); err == nil {
		t.Error("the proof of before still counts")
	}
	if _, err := p.adapter.run(t.Context(), nil, "condor_q"); err == nil {
		t.Error("a command ran after the proof was gone")
	}
}

func TestRun_WithoutOwnersTheConfigurationIsUsedAsItIs(t *testing.T) {
	for _, env := range []map[string]string{nil, {"CONDOR_CONFIG": "/site/condor_config"}} {
		p := newPretend(t, false, env)
		if _, err := p.adapter.run(t.Context(), nil, "condor_q"); err != nil || p.asked() != env["CONDOR_CONFIG"] {
			t.Errorf("condor_q had %q, %v", p.asked(), err)
		}
		if p.file() != "" {
			t.Errorf("it wrote\n%s", p.file())
		}
	}
}

func TestNew_RefusesAConfigurationThatNoLineCanName(t *testing.T) {
	for _, owners := range []bool{true, false} {
		for file, fine := range map[string]bool{
			"condor_config": false, "/a\nb": false, `/a\`: false, "/a": true, "ONLY_ENV": true, "/bin/x |": true, "": true,
		} {
			_, err := New("pool", adapters.Env{Owners: owners}, func(config any) error {
				config.(*Config).Env = map[string]string{"CONDOR_CONFIG": file}
				return nil
			})
			if want := fine || !owners; (err == nil) != want {
				t.Errorf("%q, owners %v: %v", file, owners, err)
			}
		}
	}
}
