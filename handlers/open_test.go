package handlers

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing/iotest"
)

// siteWith returns a site on which every path contains the text.
func siteWith(text string) Site {
	return Site{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func openNothing(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

func openFailing(string) (io.ReadCloser, error) {
	return io.NopCloser(iotest.ErrReader(errors.New("disk on fire"))), nil
}
