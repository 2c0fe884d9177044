package collector

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// writeState writes the state of the ads to a file. Every account may read the file, because every account may read the
// ads.
func writeState(path string, a wire.Advertised) error {
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return jjm.Errorf(jjm.Internal, "write %s: %w", path, err)
	}
	err = renameio.WriteFile(path, append(text, '\n'), 0o644, renameio.IgnoreUmask(),
		renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return jjm.Errorf(jjm.Busy, "write the state of the site's ad: %w", err)
	}
	return nil
}

// readState reads the file. If the file cannot be parsed, the ads recorded in it cannot be withdrawn, but they expire.
func readState(path string) (a wire.Advertised, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return wire.Advertised{}, jjm.Errorf(jjm.Invalid,
			"read the state of the site's ad: %s: %w: remove the file; the ads that it records expire", path, err)
	}
	return a, nil
}

// leftovers returns the ads that an earlier daemon may have left in collectors and that the current settings do not
// replace, because the collector or the site's name has changed. Expired ads are left out.
func leftovers(before wire.Advertised, site string, collectors []string, now jjm.Time) []wire.AdCollector {
	replaced := func(c wire.AdCollector) bool {
		for _, name := range collectors {
			if c.Collector == name && c.Site == site {
				return true
			}
		}
		return false
	}
	var out []wire.AdCollector
	for _, c := range before.Collectors {
		if c.There && c.Expires > now && !replaced(c) {
			c.State, c.Since, c.Error, c.Trying, c.Next = wire.AdWithdrawing, now, "", 0, 0
			out = append(out, c)
		}
	}
	return out
}
