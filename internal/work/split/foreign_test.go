package split

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestSettings_RefusesSettingsOfOtherWMCoreComponents(t *testing.T) {
	for key, want := range map[string]string{
		"lheInputFiles":    "jjm configures no application",
		"trustPUSitelists": "jjm does not look where pile-up is",
	} {
		for _, name := range []string{EventBased, LumiBased} {
			err := CheckSettings(name, []string{key})
			if err == nil || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%s: %s: %v, want %q", name, key, err, want)
			}
		}
	}
}
