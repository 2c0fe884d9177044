package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
	"jjm/sandbox"
)

// fetch fetches the inputs that are URLs into the work area, in the same way as the daemon. It prints a message for
// each input, and for each wait before a repetition.
func (w *workplace) fetch(ctx context.Context, job *splitJob, inputs []jjm.Input, conf fetch.Config,
	stderr io.Writer) error {
	for i := range inputs {
		in := &inputs[i]
		if !weburl.Is(in.Path) {
			continue
		}
		about := fmt.Sprintf("inputs[%d]: %s", i, weburl.Shown(in.Path))
		credential, err := job.credential(in)
		if err != nil {
			return jjm.Errorf(jjm.Invalid, "%s: credential_file: %w", about, err)
		}
		if err := w.area.MakeFetched(foregroundGrid); err != nil {
			return err
		}
		o := conf.Order(in, credential)
		o.Root, o.File = w.area.Root(), sandbox.Fetched(foregroundGrid, in.Path)
		fmt.Fprintf(stderr, "jjm run: fetching %s\n", printable(about))
		if err := w.until(ctx, o, conf.Tries, about, stderr); err != nil {
			return err
		}
	}
	return nil
}

// until repeats a fetch until it succeeds. It returns an error if the fetch cannot succeed, if it has failed tries
// times, or if ctx ends. about names the input in messages.
func (w *workplace) until(ctx context.Context, o fetch.Order, tries int, about string, stderr io.Writer) error {
	for count := (fetch.Tries{}); ; {
		r := fetch.Get(ctx, o)
		vain := count.Add(r)
		switch {
		case r.Done:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", about, ctx.Err())
		case !r.Again || vain >= tries:
			return jjm.Errorf(jjm.Invalid, "%s: %s", about, r.Trouble)
		}
		pause := fetch.Pause(vain, r.Wait.D())
		fmt.Fprintf(stderr, "jjm run: %s: %s; again in %s\n", printable(about), printable(r.Trouble),
			jjm.HowLong(pause))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// credential returns the content of the credential file that an input names, or "" if it names none.
func (s *splitJob) credential(in *jjm.Input) (string, error) {
	if in.CredentialFile == "" {
		return "", nil
	}
	f, err := os.Open(s.path(in.CredentialFile))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := fetch.ReadCredential(f)
	if err != nil {
		return "", fmt.Errorf("%s %w", in.CredentialFile, err)
	}
	return text, nil
}
