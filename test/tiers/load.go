package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// loadWatch records the highest load average of one minute.
type loadWatch struct {
	stop chan struct{}
	peak chan float64
}

// watchLoad reads the load average every few seconds until peakLoad is called.
func watchLoad() *loadWatch {
	w := &loadWatch{stop: make(chan struct{}), peak: make(chan float64)}
	go func() {
		peak, tick := loadNow(), time.NewTicker(5*time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, loadNow())
			case <-w.stop:
				w.peak <- peak
				return
			}
		}
	}()
	return w
}

// peakLoad ends the watch and returns the highest load average.
func (w *loadWatch) peakLoad() float64 {
	close(w.stop)
	return <-w.peak
}

// loadNow returns the load average of the last minute, or 0 if the system has none.
func loadNow() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
