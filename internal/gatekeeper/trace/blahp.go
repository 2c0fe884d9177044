package trace

import (
	"context"
	"fmt"
	"io"
	"strings"

	"jjm/internal/gatekeeper/blahp"
	"jjm/internal/jjm"
)

// blahpRoute traces the path of HTCondor's grid-universe jobs: blahpd runs jjm_VERB.sh as the owner of the job.
type blahpRoute struct{ scripts }

const (
	blahpSubmit = "jjm_submit.sh"
	blahpStatus = "jjm_status.sh"
	blahpCancel = "jjm_cancel.sh"
	// jobIDPrefix begins the line that blahpd reads from the output of a submission.
	jobIDPrefix = "BLAHP_JOBID_PREFIX"
)

func (b *blahpRoute) installed(context.Context) (string, error) {
	return b.present("blahp", blahpSubmit, blahpStatus, blahpCancel, "jjm_ping.sh")
}

func (b *blahpRoute) requestKey() string { return b.t.key }

func (b *blahpRoute) submit(ctx context.Context) (jjm.Handle, error) {
	if err := b.write("outputs", tarName+"\n"); err != nil {
		return "", err
	}
	args := []string{"-r", "no", "-c", "/bin/echo", "-s", "no", "-w", b.t.folder, "-o", b.file("out"), "-e", b.file("err"),
		"-O", b.file("outputs"), "-D", b.t.key}
	if b.t.Cluster != "" {
		args = append(args, "-q", "@"+b.t.Cluster)
	}
	out, err := b.run(ctx, "", blahpSubmit, append(args, "--", said)...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), jobIDPrefix); ok {
			if h, ok := blahp.ParseID(id); ok {
				return h, nil
			}
		}
	}
	return "", b.strange(blahpSubmit, out)
}

// poll reads the ad that jjm_status.sh prints.
func (b *blahpRoute) poll(ctx context.Context) (text string, over bool, err error) {
	out, err := b.run(ctx, "", blahpStatus, "jjm/"+string(b.t.handle))
	if err != nil {
		return "", false, err
	}
	ad, ok := strings.CutPrefix(strings.TrimSpace(out), "0[")
	if !ok {
		return "", false, b.strange(blahpStatus, out)
	}
	for attribute := range strings.SplitSeq(ad, ";") {
		if value, ok := strings.CutPrefix(attribute, "JobStatus="); ok {
			return blahpStatus + " reports JobStatus " + value, value == fmt.Sprint(blahp.Completed), nil
		}
	}
	return "", false, b.strange(blahpStatus, out)
}

func (b *blahpRoute) openTar(context.Context) (io.ReadCloser, string, error) {
	return b.openTarAt(tarName)
}

func (b *blahpRoute) cancel(ctx context.Context) error {
	out, err := b.run(ctx, "", blahpCancel, string(b.t.handle))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, " 0 ") {
		return b.strange(blahpCancel, out)
	}
	return nil
}
