package trace

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
)

// gramRoute traces the path of Globus GRAM5's jobs: the job manager runs a Perl program, which loads jjm.pm.
type gramRoute struct{ scripts }

const (
	gramScript = "globus-job-manager-script.pl"
	gramModule = "/usr/share/perl5/Globus/GRAM/JobManager/jjm.pm"
	// gramDone is the state of a job that succeeded (DONE of globus_gram_protocol_job_state_t).
	gramDone = "8"
)

func (g *gramRoute) installed(context.Context) (string, error) {
	text, err := g.present("gram", gramScript)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(gramModule); err != nil {
		return "", &Fault{Tried: "find jjm's module for the job manager", On: gramModule, Text: err.Error(),
			Remedy: "make install-gram"}
	}
	return text + "; " + gramModule, nil
}

func (g *gramRoute) requestKey() string { return "gram-" + g.t.key }

func (g *gramRoute) submit(ctx context.Context) (jjm.Handle, error) {
	answer, err := g.ask(ctx, "submit")
	if err != nil {
		return "", err
	}
	h, ok := jjm.ParseHandle(answer["JOB_ID"])
	if !ok {
		return "", g.refused("submit", answer)
	}
	return h, nil
}

func (g *gramRoute) poll(ctx context.Context) (text string, over bool, err error) {
	answer, err := g.ask(ctx, "poll")
	if err != nil {
		return "", false, err
	}
	if answer["ERROR"] != "" {
		return "", false, g.refused("poll", answer)
	}
	return "poll reports JOB_STATE " + answer["JOB_STATE"], answer["JOB_STATE"] == gramDone, nil
}

func (g *gramRoute) openTar(context.Context) (io.ReadCloser, string, error) {
	return g.openTarAt(tarName)
}

func (g *gramRoute) cancel(ctx context.Context) error {
	answer, err := g.ask(ctx, "cancel")
	if err != nil {
		return err
	}
	if answer["ERROR"] != "" {
		return g.refused("cancel", answer)
	}
	return nil
}

// refused returns the fault for an answer that contains an error.
func (g *gramRoute) refused(verb string, answer map[string]string) *Fault {
	return &Fault{Tried: verb + " as the job manager does", On: filepath.Join(g.dir, gramScript),
		Text:   fmt.Sprintf("error %s: %s", answer["ERROR"], answer["GT3_FAILURE_MESSAGE"]),
		Remedy: "docs/GATEKEEPERS.md has the errors; /etc/globus/globus-jjm.conf says where jjm's programs are"}
}

// ask runs a verb in the same way as the job manager, and returns the values of the answer.
func (g *gramRoute) ask(ctx context.Context, verb string) (map[string]string, error) {
	out, err := g.run(ctx, verb+"\n"+g.description(), gramScript, "-m", "jjm", "-c", "interactive")
	if err != nil {
		return nil, err
	}
	answer := map[string]string{}
	for line := range strings.Lines(out) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "GRAM_SCRIPT_")
		if name, value, cut := strings.Cut(line, ":"); ok && cut && name != "LOG" {
			answer[name] = value
		}
	}
	return answer, nil
}

// description returns the description of the job in Perl, in the form that the job manager writes.
func (g *gramRoute) description() string {
	q := func(word string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word) + "'"
	}
	home := g.t.Place.Getenv("HOME")
	attributes := [][2]string{{"uniqid", q(g.t.key)}, {"jobdir", q(g.t.folder)}, {"directory", q(g.t.folder)},
		{"executable", "'/bin/echo'"}, {"arguments", q(said)}, {"count", "'1'"}, {"stdin", "'/dev/null'"},
		{"stdout", q(g.file("out"))}, {"stderr", q(g.file("err"))}, {"jobtype", "'multiple'"}, {"savejobdescription", "'no'"},
		{"environment", "['HOME', " + q(home) + "], ['GLOBUS_GASS_CACHE_DEFAULT', '/nonexistent']"},
		{"filestageout", "[" + q(g.file(tarName)) + ", " + q("file://"+g.file("staged.tar")) + "]"}}
	if g.t.handle != "" {
		attributes = append(attributes, [2]string{"jobid", q(string(g.t.handle))})
	}
	if g.t.Cluster != "" {
		attributes = append(attributes, [2]string{"jjmclusters", q(g.t.Cluster)})
	}
	var b strings.Builder
	b.WriteString("$description = {\n")
	for _, a := range attributes {
		fmt.Fprintf(&b, "'%s' => [ %s ],\n", a[0], a[1])
	}
	b.WriteString("};\n\n")
	return b.String()
}
