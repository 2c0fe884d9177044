package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"jjm/internal/jjm"
)

// watchConfig reloads the configuration on SIGHUP and when its file changes. It also checks the file every minute,
// because a network file system sends no notifications of changes.
func (a *App) watchConfig(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	var events <-chan fsnotify.Event
	if w, err := fsnotify.NewWatcher(); err == nil && a.path != "" {
		defer w.Close()
		if w.Add(filepath.Dir(a.path)) == nil { // editors replace the file, so the folder is watched
			events = w.Events
		}
	}
	seen := a.stamp()
	slow := time.NewTicker(time.Minute)
	defer slow.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-hup:
			a.log.Info("reload asked for by SIGHUP")
			asked = true
		case <-events:
		case <-slow.C:
		}
		if now := a.stamp(); asked || now != seen {
			seen = now
			a.reload()
		}
	}
}

// stamp returns a text that changes when the configuration file changes.
func (a *App) stamp() string {
	if a.path == "" {
		return ""
	}
	info, err := os.Stat(a.path)
	if err != nil {
		return err.Error()
	}
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino // time stamps advance only every few milliseconds: two files can have the same
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Mode(), info.Size(), inode)
}

// reload reads the configuration again, applies the settings that can change while the daemon runs, and logs the names
// of other changed settings. A configuration with mistakes changes nothing.
func (a *App) reload() {
	next, _, err := Load(a.opts.Config, a.opts.Getenv)
	if err != nil {
		a.log.Error("the configuration was not reloaded: it has mistakes", "error", err)
		return
	}
	for _, name := range fixed(a.config, next) {
		a.log.Warn("a changed setting has no effect before a restart", "setting", name)
	}
	if !reflect.DeepEqual(a.config.Engine, next.Engine) {
		a.engine.Reconfigure(next.Engine)
	}
	a.setLevel(next.Log)
	a.config.Engine, a.config.Log = next.Engine, next.Log
	a.log.Info("configuration reloaded", "config", a.path)
}

// fixed returns the names of settings that differ but cannot change while the daemon runs.
func fixed(old, next Config) []string {
	var names []string
	differs := func(name string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			names = append(names, name)
		}
	}
	differs("state", old.State, next.State)
	differs("work", old.Work, next.Work)
	differs("wrapper", old.Wrapper, next.Wrapper)
	differs("job_types", old.JobTypes, next.JobTypes)
	differs("run_as", old.RunAs, next.RunAs)
	differs("engine.workers", old.Engine.Workers, next.Engine.Workers)
	differs("engine.command", old.Engine.Command, next.Engine.Command)
	differs("engine.fetch.parallel_per_user", old.Engine.Fetch.ParallelPerUser, next.Engine.Fetch.ParallelPerUser)
	old.Gate.Version = next.Gate.Version
	differs("gate", old.Gate, next.Gate)
	differs("advertise", old.Advertise, next.Advertise)
	differs("metrics", old.Metrics, next.Metrics)
	differs("web", old.Web, next.Web)
	differs("notify", old.Notify, next.Notify)
	differs("cluster", old.Cluster, next.Cluster)
	return names
}

// level parses a log level.
func level(word string) (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(word)); err != nil {
		return 0, jjm.Errorf(jjm.Invalid, "%.20q: want debug, info, warn or error", word)
	}
	return l, nil
}

// setLevel sets the lowest level that is logged. An invalid word changes nothing.
func (a *App) setLevel(word string) {
	if l, err := level(word); err == nil {
		a.level.Set(l)
	}
}
