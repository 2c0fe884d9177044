package trace

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
)

// arcRoute traces the path of A-REX's jobs. It uses a separate control folder, so A-REX itself never sees the job.
// A-REX runs the scan as root; arcRoute runs the scan as the account of the job.
type arcRoute struct{ scripts }

const (
	arcSubmit = "submit-jjm-job"
	arcScan   = "scan-jjm-job"
	arcCancel = "cancel-jjm-job"
)

func (a *arcRoute) installed(context.Context) (string, error) {
	return a.present("arc", arcSubmit, arcScan, arcCancel)
}

func (a *arcRoute) requestKey() string { return "arc-" + a.t.key }

// control returns the path of a file of the job in the control folder.
func (a *arcRoute) control(ending string) string { return "control/job." + a.t.key + ending }

func (a *arcRoute) submit(ctx context.Context) (jjm.Handle, error) {
	grami := fmt.Sprintf("joboption_gridid='%s'\njoboption_directory='%s'\njoboption_controldir='%s'\n"+
		"joboption_jobname='trace'\njoboption_arg_0='/bin/echo'\njoboption_arg_1='%s'\njoboption_stdout='%s'\n"+
		"joboption_outputfile_0='/%s'\n", a.t.key, a.file("session"), a.file("control"), said, a.file("session/out"), tarName)
	if a.t.Cluster != "" {
		grami += fmt.Sprintf("joboption_env_0='JJM_CLUSTERS=%s'\n", strings.ReplaceAll(a.t.Cluster, "'", `'\''`))
	}
	for name, text := range map[string]string{a.control(".grami"): grami, a.control(".local"): "",
		"control/processing/job." + a.t.key + ".status": "INLRMS\n", "session/.keep": "", "session.diag": ""} {
		if err := a.write(name, text); err != nil {
			return "", err
		}
	}
	if _, err := a.run(ctx, "", arcSubmit, a.file(a.control(".grami"))); err != nil {
		return "", err
	}
	text, err := os.ReadFile(a.file(a.control(".grami")))
	if err != nil {
		return "", err
	}
	g, err := arc.ParseGrami(string(text))
	if err != nil {
		return "", err
	}
	h, ok := jjm.ParseHandle(g["jobid"])
	if !ok {
		return "", a.strange(arcSubmit, "jobid "+g["jobid"])
	}
	return h, nil
}

// poll runs one scan and reports whether the file exists from which A-REX learns that the job ended.
func (a *arcRoute) poll(ctx context.Context) (text string, over bool, err error) {
	if _, err := a.run(ctx, "", arcScan, a.file("control")); err != nil {
		return "", false, err
	}
	done, err := os.ReadFile(a.file(a.control(".lrms_done")))
	if os.IsNotExist(err) {
		return arcScan + " reports no end yet", false, nil
	}
	return arcScan + " reports the end: " + oneLine(string(done)), true, err
}

func (a *arcRoute) openTar(context.Context) (io.ReadCloser, string, error) {
	return a.openTarAt("session/" + tarName)
}

func (a *arcRoute) cancel(ctx context.Context) error {
	_, err := a.run(ctx, "", arcCancel, a.file(a.control(".grami")))
	return err
}
