package advertise

import (
	"os"
	"regexp"
	"testing"
)

// docs/ADVERTISING.md must name exactly the attributes of the ad and the classes of the GLUE document.
func TestDocs_NameEveryAttribute(t *testing.T) {
	page, err := os.ReadFile("../../../docs/ADVERTISING.md")
	if err != nil {
		t.Fatal(err)
	}
	f := exampleFacts()
	f.Clusters[1].Limits = Limits{1, 2, 3, 4, 5, 6, 7, 8}
	there := map[string]bool{}
	for _, ad := range []Ad{f.Ad(), f.Clusters[0].ad(), f.Clusters[1].ad()} {
		for _, a := range ad {
			there[a.Name] = true
		}
	}
	for class := range decoded(t, f) {
		there[class] = true
	}
	for name := range there {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`").Match(page) {
			t.Errorf("docs/ADVERTISING.md does not explain %s", name)
		}
	}
	for _, cell := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllSubmatch(page, -1) {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllSubmatch(cell[1], -1) {
			if !there[string(name[1])] {
				t.Errorf("docs/ADVERTISING.md explains %s, which there is not", name[1])
			}
		}
	}
}
