package words_test

import (
	"strings"
	"testing"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/blahp"
	"jjm/internal/jjm"
)

// readBlahp parses a job from a text. The text has one word of the command line per line and, after the line "lists",
// the lines of the files that the command line names: input, output, remap and requirement.
func readBlahp(t *testing.T, text string) (call, error) {
	t.Helper()
	line, lists, _ := strings.Cut(text, "lists\n")
	o, err := blahp.ParseOptions(strings.FieldsFunc(line, func(r rune) bool { return r == '\n' }), "/w")
	if err != nil {
		return call{}, err
	}
	var l blahp.Lists
	var requirements []string
	for one := range strings.Lines(lists) {
		what, value, _ := strings.Cut(strings.TrimSpace(one), " ")
		into := map[string]*[]string{"input": &l.Inputs, "output": &l.Outputs, "remap": &l.Remaps,
			"requirement": &requirements}[what]
		*into = append(*into, value)
	}
	l.Requirements = blahp.Requirements(requirements)
	job, err := blahp.Translate(o, l)
	if err != nil {
		return call{}, err
	}
	c := call{file: job.JobFile, brought: job.Wants, key: o.Key, credential: job.Proxy, subject: job.Origin.Subject}
	if job.JobFile == "" {
		name, file, err := job.Plain.File()
		if err != nil {
			return call{}, err
		}
		c.spec = taken(t, gatekeeper.Job{Name: name, Text: file})
	}
	return c, nil
}

func blahpLanguage() language {
	const base = "-c\nrun.sh\n"
	set := func(words string) []trial { return []trial{{base, base + words}} }
	listed := func(line string) []trial { return []trial{{base, base + "lists\n" + line}} }
	require := func(name, value string) []trial { return listed("requirement " + name + "='" + value + "'\n") }
	return language{words: blahp.Words(), read: readBlahp, heading: "HTCondor and HTCondor-CE",
		trials: map[string][]trial{
			"-c": {{"-c\nx\n", "-c\ny\n"}}, "-s": set("-s\nno\n"), "--": set("--\n\"a b\"\n"),
			"-i": set("-i\nin\n"), "-o": append(set("-o\nout\n"), trial{base + "-e\nf\n", base + "-e\nf\n-o\nf\n"}),
			"-e": append(set("-e\nerr\n"), trial{base + "-o\nf\n", base + "-o\nf\n-e\nf\n"}),
			"-w": {{base + "-i\nin\n-o\nout\n-w\n/a\n", base + "-i\nin\n-o\nout\n-w\n/b\n"}},
			"-v": set("-v\nA=1\n"), "-V": set("-V\n\"A=1\"\n"),
			"-I": listed("input data\n"),
			"-O": listed("output r.root\n"),
			"-R": {{base + "lists\noutput r\n", base + "lists\noutput r\nremap s\n"}},
			"-q": append(set("-q\nlong\n"), set("-q\nlong@slurm\n")...),
			"-A": set("-A\natlas\n"), "-n": set("-n\n4\n"), "-S": set("-S\n4\n"),
			"-N": {{base + "-z\nyes\n-N\n4\n", base + "-z\nyes\n-N\n8\n"}},
			"-z": {{base + "-N\n8\n", base + "-N\n8\n-z\nyes\n"}},
			"-m": set("-m\n500\n"), "-t": set("-t\n600\n"), "-g": set("-g\n2\n"), "-a": set("-a\n--qos=x\n"),
			"-x": set("-x\n/p\n"), "-u": set("-u\n/CN=Ann\n"), "-D": set("-D\nk\n"), "-j": set("-j\nk\n"),
			"-h": set("-h\n2\n"), "-M": set("-M\na100\n"), "-G": set("-G\nexclusive\n"), "-P": set("-P\n1\n"),
			"jjm_clusters": require("jjm_clusters", "a,b"), "jjm_qos": require("jjm_qos", "high"),
			"jjm_scratch_mb": require("jjm_scratch_mb", "500"), "jjm_tar": require("jjm_tar", "all.tar"),
			"jjm_job_file": {{base + "lists\nrequirement jjm_job_file='a'\n", base + "lists\nrequirement jjm_job_file='b'\n"}},
		}}
}

// A requirement that starts with jjm's prefix must be a requirement that jjm knows. Options that have no meaning beside
// a job file are rejected.
func TestBlahp_NothingIsIgnoredBesideAJobFile(t *testing.T) {
	file := func(words, lists string) string {
		return "-c\n/bin/true\n" + words + "lists\nrequirement jjm_job_file='j'\n" + lists
	}
	for text, want := range map[string]string{
		file("", "requirement jjm_qos='x'\n"):                   "jjm_qos: cannot be combined with jjm_job_file",
		file("--\na\n", ""):                                     "arguments: cannot be combined with jjm_job_file",
		file("-i\nin\n", ""):                                    "-i: cannot be combined with jjm_job_file",
		file("", "requirement jjm_cluster='x'\n"):               "jjm_cluster: unknown: did you mean jjm_clusters?",
		file("-m\n2000\n-t\n600\n-q\nlong\n", ""):               "",
		"-c\nx\nlists\nrequirement Opsys='LINUX'\n":             "",
		"-c\nx\nlists\nrequirement JJM_Scratch='5'\n":           "jjm_scratch: unknown: did you mean jjm_scratch_mb?",
		"-c\nx\n-r\nno\n-T\n/tmp\n-d\n-l\n600\n-p\n60\n-C\nf\n": "",
	} {
		_, err := readBlahp(t, text)
		if want == "" && err == nil {
			continue
		}
		if want == "" || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
