package web

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// element is an element of a page.
type element struct {
	name  string
	attr  map[string]string
	text  string // of the element and of the elements in it
	child []*element
}

// parsePage returns the root element of a page.
func parsePage(t *testing.T, text string) *element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	open := []*element{{name: "root"}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return open[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{name: x.Name.Local, attr: map[string]string{}}
			for _, a := range x.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			last := open[len(open)-1]
			last.child, open = append(last.child, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.text += string(x)
			}
		}
	}
}

// all returns the elements with a name in e, in the order of the page.
func (e *element) all(names ...string) (out []*element) {
	for _, c := range e.child {
		if slices.Contains(names, c.name) {
			out = append(out, c)
		}
		out = append(out, c.all(names...)...)
	}
	return out
}

// titles returns the titles in the head of a page. Drawings have titles too.
func titles(page *element) (out []*element) {
	for _, head := range page.all("head") {
		out = append(out, head.all("title")...)
	}
	return out
}

// has reports whether an element has an attribute with a value.
func (e *element) has(name string) bool { return strings.TrimSpace(e.attr[name]) != "" }

// mistakes returns what a reader with a keyboard or a screen reader would lack in a page.
func mistakes(page *element) (out []string) {
	lack := func(ok bool, format string, a ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}
	for name, all := range map[string][]*element{"title": titles(page), "h1": page.all("h1"), "main": page.all("main")} {
		lack(len(all) == 1 && strings.TrimSpace(all[0].text) != "", "%d elements %s: want one with text", len(all), name)
	}
	reach := page.all("a", "input", "button", "summary")
	lack(len(reach) > 0 && reach[0].attr["href"] == "#main", "the first link does not skip to the content")
	level := 0
	for _, h := range page.all("h1", "h2", "h3", "h4") {
		now := int(h.name[1] - '0')
		lack(now <= level+1 && strings.TrimSpace(h.text) != "", "heading %q of level %d after level %d", h.text, now, level)
		level = now
	}
	for _, a := range page.all("a", "button", "summary") {
		lack(strings.TrimSpace(a.text) != "", "a link or button without text: %v", a.attr)
	}
	labelled := 0
	for _, l := range page.all("label") {
		labelled += len(l.all("input"))
	}
	for _, i := range page.all("input") {
		if i.attr["type"] == "hidden" {
			labelled++
		}
	}
	lack(labelled == len(page.all("input")), "%d inputs, %d with a label", len(page.all("input")), labelled)
	for _, e := range page.all("progress", "nav", "form", "svg") {
		lack(e.has("aria-label"), "%s has no label", e.name)
	}
	for _, e := range page.all("section", "div") {
		if e.has("tabindex") || e.name == "section" {
			lack(e.has("aria-label") || e.has("aria-labelledby"), "%s %s has no label", e.name, e.attr["id"])
		}
	}
	for _, table := range page.all("table") {
		out = append(out, mistakesOf(table)...)
	}
	return out
}

// mistakesOf returns what a table lacks. Its cells carry the headings of their columns for narrow screens.
func mistakesOf(table *element) (out []string) {
	if captions := table.all("caption"); len(captions) != 1 || strings.TrimSpace(captions[0].text) == "" {
		out = append(out, "a table has no caption")
	}
	var heads []string
	for _, th := range table.all("th") {
		switch th.attr["scope"] {
		case "col":
			heads = append(heads, th.text)
		case "row":
		default:
			out = append(out, fmt.Sprintf("heading %q has scope %q", th.text, th.attr["scope"]))
		}
	}
	for _, body := range table.all("tbody") {
		for _, row := range body.all("tr") {
			cells := row.all("td", "th")
			if len(cells) != len(heads) {
				out = append(out, fmt.Sprintf("%d cells below %d headings %q", len(cells), len(heads), heads))
				continue
			}
			for i, c := range cells {
				if c.name == "td" && c.attr["data-label"] != heads[i] {
					out = append(out, fmt.Sprintf("a cell below %q is labelled %q", heads[i], c.attr["data-label"]))
				}
			}
		}
	}
	return out
}

// Every page has a title, one heading of level 1, landmarks, a link that skips to the content, labelled controls, and
// tables whose cells are labelled with their headings.
func TestReadable_EveryPageIsUsableWithoutAMouseOrAScreen(t *testing.T) {
	f := newFake()
	f.locals[1].State = jjm.Failed
	f.excluded = []jjm.Exclusion{{Cluster: "ill", Host: "wn13", Reason: "no disk", By: "eve"}}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	tables := 0
	for path := range views {
		for _, user := range []string{"ann", ""} {
			r, text := answer(t, p, user, path)
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
				continue
			}
			page := parsePage(t, text)
			tables += len(page.all("table"))
			for _, m := range mistakes(page) {
				t.Errorf("%s for %q: %s", path, user, m)
			}
		}
	}
	if tables < 20 {
		t.Errorf("only %d tables were looked at", tables)
	}
}

// themes returns the colours of the light and of the dark theme by their names.
func themes(t *testing.T) (out []map[string]string) {
	t.Helper()
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(string(css), -1) {
		theme := map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]{6});`).FindAllStringSubmatch(block[1], -1) {
			theme[m[1]] = m[2]
		}
		out = append(out, theme)
	}
	return out
}

// luminance returns the relative luminance of a colour (WCAG 2.2, relative luminance).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(colour, 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

// Text has a contrast of 4.5:1 or more in both themes, and graphics have 3:1 or more (WCAG 2.2, 1.4.3 and 1.4.11).
func TestReadable_ContrastOfBothThemes(t *testing.T) {
	all := themes(t)
	if len(all) != 2 {
		t.Fatalf("%d themes, want 2", len(all))
	}
	for i, theme := range all {
		for name, least := range map[string]float64{"text": 4.5, "faint": 4.5, "link": 4.5, "good": 4.5, "bad": 4.5,
			"queued": 3, "running": 3, "collecting": 3, "start": 3, "outage": 3} {
			a, b := luminance(t, theme[name])+0.05, luminance(t, theme["ground"])+0.05
			if ratio := max(a, b) / min(a, b); ratio < least {
				t.Errorf("theme %d: contrast of --%s is %.2f, want %.1f", i, name, ratio, least)
			}
		}
	}
}

// Nothing on a page moves by itself, so that there is nothing to reduce for readers who prefer less motion.
func TestReadable_NothingMoves(t *testing.T) {
	for _, name := range []string{"page.css", "uPlot.min.css"} {
		css, err := assets.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`transition|animation|@keyframes|scroll-behavior`).Find(css); m != nil {
			t.Errorf("%s has %s", name, m)
		}
	}
}
