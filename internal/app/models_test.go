package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/handlers"
	handlersall "jjm/handlers/all"
)

// modelSite returns a configuration with a folder of models.
func modelSite(t *testing.T, files map[string]string) *Config {
	t.Helper()
	dir := t.TempDir()
	models := filepath.Join(dir, "own")
	if err := os.Mkdir(models, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(models, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "jjm.toml")
	if err := os.WriteFile(file, []byte("state = \""+dir+"\"\nmodels = \""+models+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(file, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestModels_AreReadFromTheFolderOfTheSetting(t *testing.T) {
	c := modelSite(t, map[string]string{"mc.toml": "type = \"montecarlo\"\n", ".hidden.toml": "x", "notes.txt": "x"})
	types := handlersall.Registry()
	shown := c.shownModels(types)
	if len(shown) != 2 || shown[0].Name != "default" || shown[0].File != "" || shown[1].Name != "mc" ||
		shown[1].Type != "montecarlo" || shown[1].File != filepath.Join(c.Models, "mc.toml") {
		t.Errorf("%+v", shown)
	}
	if problems := c.CheckModels(types); len(problems) > 0 {
		t.Error(problems)
	}
	if err := os.WriteFile(filepath.Join(c.Models, "default.toml"), []byte("mode = \"Test\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, problems := c.Model("default"); !strings.Contains(m.Text, "Test") || len(problems) > 0 {
		t.Errorf("a file that came later: %+v %v", m, problems)
	}
	empty := Config{Models: filepath.Join(c.Models, "none")}
	if m, problems := empty.Model("default"); m.Text != "" || len(problems) > 0 {
		t.Errorf("without a folder: %+v %v", m, problems)
	}
}

func TestModels_WhatIsWrongIsTold(t *testing.T) {
	c := modelSite(t, map[string]string{
		"open.toml": "", "key.toml": "\nreqest = 1\n", "type.toml": "type = \"montcarlo\"\n",
		"param.toml": "type = \"montecarlo\"\n[params]\nevnts = 1\ncommand = [\"x\"]\n", "two words.toml": "",
	})
	if err := os.Chmod(filepath.Join(c.Models, "open.toml"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.Models, "folder.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := c.CheckModels(handlersall.Registry()).Error()
	for name, want := range map[string]string{
		"open":      "open.toml: others than its owner may write it",
		"key":       `key.toml:2: reqest: unknown key "reqest": did you mean "request"?`,
		"param":     `param.toml:3: params.evnts: unknown key "evnts": did you mean "events"?`,
		"type":      "type.toml:1: type: ",
		"folder":    "folder.toml: want a regular file of at most 1048576 bytes",
		"two words": `unknown model "two words"`,
		"kye":       `unknown model "kye": did you mean "key"?`,
		"../own":    `unknown model "../own"`,
	} {
		if _, problems := c.Model(name); name != "type" && name != "param" && !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", name, problems, want)
		}
		if name != "kye" && name != "../own" && !strings.Contains(all, want) {
			t.Errorf("the check does not say %s:\n%s", want, all)
		}
	}
	if shown := c.shownModels(handlers.Registry{}); len(shown) != 7 {
		t.Errorf("%+v", shown)
	}
}

// The models that jjm ships in etc/models.d have no mistakes.
func TestModels_TheShippedOne(t *testing.T) {
	c := Config{Models: "../../etc/models.d"}
	types := handlersall.Registry()
	if m, problems := c.Model("zmumu"); m.Type != "montecarlo" || len(append(problems, c.CheckModels(types)...)) > 0 {
		t.Errorf("%+v %v", m, problems)
	}
}
