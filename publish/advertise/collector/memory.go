package collector

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"jjm"
	"jjm/wire"
)

// remember writes what is known of the ads to a file that everybody may read, as
// everybody may read the ads.
func remember(path string, a wire.Advertised) error {
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return jjm.Errorf(jjm.Internal, "write %s: %w", path, err)
	}
	err = renameio.WriteFile(path, append(text, '\n'), 0o644, renameio.IgnoreUmask(),
		renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return jjm.Errorf(jjm.Busy, "remember where the site's ad lies: %w", err)
	}
	return nil
}

// recall reads it back. A file that cannot be understood is as good as none: the
// ads that it told of end by themselves.
func recall(path string) (a wire.Advertised, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return wire.Advertised{}, jjm.Errorf(jjm.Invalid,
			"recall where the site's ad lies: %s: %w: remove the file; what it told of ends by itself", path, err)
	}
	return a, nil
}

// left are the ads that an earlier daemon may have left in collectors and that
// none of the settings at hand replaces: another collector, or another name. An
// ad that has ended by itself is none.
func left(before wire.Advertised, site string, collectors []string, now jjm.Time) []wire.AdCollector {
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
