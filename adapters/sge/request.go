package sge

import (
	"fmt"
	"time"

	"jjm/internal/jjm"
)

// Check returns an error of kind Invalid if this Grid Engine, with its configuration, cannot express a request.
func (a *Adapter) Check(r jjm.Request) error { return a.cfg.problems(a.name, r).Err() }

func (c Config) problems(cluster string, r jjm.Request) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	if r.Cores > 1 && c.PE == "" {
		bad("cores", "%d: this cluster has no parallel environment for jobs of several cores (setting pe)", r.Cores)
	}
	if r.MemoryMB > 0 && c.MemoryResource == "" {
		bad("memory_mb", "this cluster limits no memory (setting memory_resource)")
	}
	if r.GPUs > 0 && c.GPUResource == "" {
		bad("gpus", "this cluster has no GPUs to ask for (setting gpu_resource)")
	}
	if r.ScratchMB > 0 && c.ScratchResource == "" {
		bad("scratch_mb", "this cluster has no scratch space to ask for (setting scratch_resource)")
	}
	if r.QOS != "" {
		bad("qos", noQOS)
	}
	for _, f := range []struct{ field, value string }{
		{"queue", r.Queue}, {"account", r.Account}, {"project", r.Project},
	} {
		if err := checkName(f.value); err != nil {
			bad(f.field, "%v", err)
		}
	}
	return append(ps, c.CheckDirectives(cluster, r, checkDirective)...)
}

// options returns the options of qsub(1) for a request that has passed Check.
func (c Config) options(r jjm.Request) []string {
	r = c.Fill(r)
	var opts []string
	add := func(words ...string) { opts = append(opts, words...) }
	slots := int64(max(1, r.Cores))
	if slots > 1 {
		add("-pe", c.PE, fmt.Sprint(slots))
	}
	if r.MemoryMB > 0 {
		mb := r.MemoryMB
		if c.MemoryPerSlot {
			mb = (mb + slots - 1) / slots
		}
		add("-l", fmt.Sprintf("%s=%dM", c.MemoryResource, mb))
	}
	if r.Walltime > 0 {
		add("-l", fmt.Sprintf("h_rt=%d", (r.Walltime.D()+time.Second-1)/time.Second))
	}
	if r.GPUs > 0 {
		add("-l", fmt.Sprintf("%s=%d", c.GPUResource, r.GPUs))
	}
	if r.ScratchMB > 0 {
		add("-l", fmt.Sprintf("%s=%dM", c.ScratchResource, r.ScratchMB))
	}
	for _, f := range []struct{ option, value string }{{"-q", r.Queue}, {"-A", r.Account}, {"-P", r.Project}} {
		if f.value != "" {
			add(f.option, f.value)
		}
	}
	return opts
}
