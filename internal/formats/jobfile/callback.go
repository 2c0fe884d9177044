package jobfile

import (
	"fmt"
	"strings"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// callback checks the callback: the server that receives the changes of the grid job.
func (c *checker) callback(cb *jjm.Callback) {
	if cb == nil {
		return
	}
	switch _, err := weburl.ParseCallback(cb.URL); {
	case cb.URL == "":
		c.problem("callback.url", "is missing: name the server, such as https://portal.example.org/jjm")
	case len(cb.URL) > maxPath:
		c.problem("callback.url", "%d bytes are too long: at most %d", len(cb.URL), maxPath)
	case err != nil:
		c.problem("callback.url", "%.300s: %v", weburl.Shown(cb.URL), err)
	}
	switch path := cb.SecretFile; {
	case len(path) > maxPath:
		c.problem("callback.secret_file", "%d bytes are too long: at most %d", len(path), maxPath)
	case weburl.Is(path):
		c.problem("callback.secret_file", "is a URL: want a local file with the secret")
	case strings.ContainsRune(path, 0):
		c.problem("callback.secret_file", "contains a NUL character")
	}
	seen := map[jjm.GridStatus]int{}
	for i, s := range cb.States {
		if j, twice := seen[s]; twice {
			c.problem(fmt.Sprintf("callback.states[%d]", i), "%q is given twice: first as callback.states[%d]", s, j)
		}
		seen[s] = i
	}
}
