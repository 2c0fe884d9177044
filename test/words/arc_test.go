package words_test

import (
	"strings"
	"testing"

	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
)

func readARC(t *testing.T, text string) (call, error) {
	t.Helper()
	for _, always := range []string{"directory='/s'", "controldir='/c'", "gridid='g1'", "arg_0='/bin/x'"} {
		if name, _, _ := strings.Cut(always, "="); !strings.Contains(text, "joboption_"+name+"=") {
			text += "joboption_" + always + "\n"
		}
	}
	g, err := arc.ParseGrami(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	job, err := arc.Read(g)
	if err != nil {
		return call{}, err
	}
	c := call{file: job.JobFile, brought: job.Deliveries(), key: job.GridID, credential: job.Proxy}
	if job.JobFile == "" {
		asked, err := job.Job(nil)
		if err != nil {
			return call{}, err
		}
		c.spec = taken(t, asked)
	}
	return c, nil
}

// options returns the lines of a grami, A-REX's description of a job, for options NAME=VALUE.
func options(all ...string) string {
	var b strings.Builder
	for _, one := range all {
		name, value, _ := strings.Cut(one, "=")
		b.WriteString("joboption_" + name + "='" + value + "'\n")
	}
	return b.String()
}

// gridJob returns a grami whose variables describe a grid job, with more lines.
func gridJob(more ...string) string {
	return options(append([]string{"env_0=JJM_TYPE=montecarlo", "env_1=JJM_PARAM_COMMAND=[\"mc\"]",
		"env_2=JJM_PARAM_EVENTS=10", "env_3=JJM_PARAM_EVENTS_PER_JOB=5"}, more...)...)
}

func arcLanguage() language {
	variable := func(value string) []trial { return []trial{{gridJob(), gridJob("env_4=" + value)}} }
	set := func(all ...string) []trial { return []trial{{"", options(all...)}} }
	return language{words: arc.Words(), read: readARC, heading: "ARC", trials: map[string][]trial{
		"JJM_JOB_FILE": {{options("env_0=JJM_JOB_FILE=a"), options("env_0=JJM_JOB_FILE=b")}},
		"JJM_TYPE": {{gridJob("env_0=JJM_TYPE=script", "env_4=JJM_RESULT=glf", "env_5=JJM_NAME=n"),
			gridJob("env_4=JJM_RESULT=glf", "env_5=JJM_NAME=n")}},
		"JJM_NAME":        variable("JJM_NAME=n"),
		"JJM_MODE":        variable("JJM_MODE=Test"),
		"JJM_RESULT":      variable("JJM_RESULT=exit"),
		"JJM_QUEUE":       append(variable("JJM_QUEUE=long"), set("env_0=JJM_QUEUE=long")...),
		"JJM_CLUSTERS":    append(variable("JJM_CLUSTERS=a b"), set("env_0=JJM_CLUSTERS=a")...),
		"JJM_OUTPUTS":     variable("JJM_OUTPUTS=*.root"),
		"JJM_CREDENTIALS": append(variable("JJM_CREDENTIALS=proxy"), set("env_0=JJM_CREDENTIALS=proxy")...),
		"JJM_PARAM_NAME":  variable("JJM_PARAM_FIRST_EVENT=7"),

		"arg": {{"", options("arg_0=/bin/y", "arg_1=a b")},
			{options("arg_0=x", "inputfile_0=/x", "inputfile_1=/y"), options("arg_0=y", "inputfile_0=/x", "inputfile_1=/y")}},
		"env":       set("env_0=A=b"),
		"jobname":   set("jobname=my job"),
		"stdin":     set("stdin=in.dat"),
		"stdout":    {{"", options("stdout=out")}, {options("stderr=both"), options("stderr=both", "stdout=both")}},
		"stderr":    {{"", options("stderr=err")}, {options("stdout=both"), options("stdout=both", "stderr=both")}},
		"inputfile": {{"", options("inputfile_0=/data")}, {gridJob(), gridJob("inputfile_0=/data")}},
		"outputfile": {{"", options("outputfile_0=/r.root")},
			{gridJob(), gridJob("outputfile_0=/jjm-output.tar")}},
		"runtime":    append(set("runtime_0=ENV/PROXY"), trial{gridJob(), gridJob("runtime_0=ENV/PROXY")}),
		"count":      {{options("memory=500"), options("memory=500", "count=4")}},
		"memory":     append(set("memory=500"), trial{gridJob(), gridJob("memory=500")}),
		"walltime":   append(set("walltime=600"), trial{gridJob(), gridJob("walltime=600")}),
		"cputime":    append(set("cputime=600"), trial{gridJob(), gridJob("cputime=600")}),
		"disk":       append(set("disk=500"), trial{gridJob(), gridJob("disk=500")}),
		"directory":  {{options("directory=/s", "stdin=i", "stdout=o"), options("directory=/r", "stdin=i", "stdout=o")}},
		"controldir": set("controldir=/d"),
		"gridid":     set("gridid=g2"),

		"arg_code": set("arg_code=3"), "pre": set("pre_0_0=x"), "post": set("post_0_0=x"),
		"virtualmemory": set("virtualmemory=500"), "numnodes": set("numnodes=2"),
		"countpernode":  append(set("count=4", "countpernode=2"), trial{gridJob(), gridJob("count=4", "countpernode=2")}),
		"exclusivenode": set("exclusivenode=true"), "penv_type": set("penv_type=MPI"), "penv_version": set("penv_version=2"),
		"penv_processesperhost": set("penv_processesperhost=2"), "penv_threadsperprocess": set("penv_threadsperprocess=2"),
	}}
}

// Some variables repeat a setting of the job file, and others have no meaning for a grid job. jjm rejects both beside a
// job file or a described grid job instead of ignoring them.
func TestARC_NothingIsIgnoredBesideAGridJob(t *testing.T) {
	file := func(more ...string) string {
		return options(append([]string{"env_0=JJM_JOB_FILE=j", "env_1=GRID_GLOBAL_JOBID=1"}, more...)...)
	}
	for text, want := range map[string]string{
		file("cputime=5"):                               "cputime: cannot be combined with JJM_JOB_FILE",
		file("memory=5"):                                "memory: cannot be combined with JJM_JOB_FILE",
		file("count=2"):                                 "count: cannot be combined with JJM_JOB_FILE",
		file("env_2=A=b"):                               "environment: A: cannot be combined with JJM_JOB_FILE",
		file("env_2=JJM_NAME=b"):                        "JJM_NAME: has no meaning for this job",
		file("env_2=JJM_JOBFILE=b"):                     "JJM_JOBFILE: unknown: did you mean JJM_JOB_FILE?",
		file("arg_0=/bin/true", "arg_1=x"):              "arguments: cannot be combined with JJM_JOB_FILE",
		file("outputfile_0=/x.root"):                    `outputFiles: "x.root": from a grid job jjm brings back only jjm-output.tar`,
		gridJob("stdin=x"):                              "stdin: cannot be combined with JJM_TYPE",
		gridJob("arg_0=/bin/true", "arg_1=x"):           "arguments: cannot be combined with JJM_TYPE",
		options("runtime_0=ENV/PROXY", "runtime_0_1=x"): "jjm supports no options of runtime environments",
		file("count=1", "stdout=/s/out.txt", "outputfile_0=/out.txt", "outputfile_1=/gmlog"):  "",
		options("count=4", "countpernode=4", "penv_version=", "virtualmemory=", "arg_code=0"): "",
	} {
		_, err := readARC(t, text)
		if want == "" && err == nil {
			continue
		}
		if want == "" || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
