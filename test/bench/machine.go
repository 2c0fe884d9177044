package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine describes where the figures were measured.
type machine struct {
	Cores  int    `json:"cores"`
	CPU    string `json:"cpu"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	// Load is the load average of 1, 5 and 15 minutes before the table was printed: other processes make wall times
	// longer.
	Load string `json:"load"`
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), CPU: "CPU not known", Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = modelOf(string(text))
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return m
}

// modelOf returns the name of the CPU in /proc/cpuinfo.
func modelOf(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "CPU not known"
}

func (m machine) String() string {
	return fmt.Sprintf("%d cores of %s, Linux %s, %s; load %s", m.Cores, m.CPU, m.Kernel, m.Go, m.Load)
}
