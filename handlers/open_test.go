package handlers

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing/iotest"
)

// siteWith is a site where every path holds the text.
func siteWith(text string) Site {
	return Site{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func openNothing(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

func openFailing(string) (io.ReadCloser, error) {
	return io.NopCloser(iotest.ErrReader(errors.New("disk on fire"))), nil
}
