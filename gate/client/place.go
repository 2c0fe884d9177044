package client

import (
	"os"
	"path/filepath"
	"syscall"
)

// systemState is where an installed daemon keeps its state (FHS, /var/lib).
const systemState = "/var/lib/jjm"

// Place finds the daemon: where its state and its socket are.
type Place struct {
	// State and Socket, if set, come from the command line.
	State, Socket string
	// Getenv reads the environment.
	Getenv func(string) string
}

// StateDir returns the daemon's folder: as told, $JJM_STATE, /var/lib/jjm if it
// is there and may be entered, else $XDG_STATE_HOME/jjm, by default
// ~/.local/state/jjm (XDG Base Directory Specification).
func (p Place) StateDir() string {
	if p.State != "" {
		return p.State
	}
	if dir := p.Getenv("JJM_STATE"); dir != "" {
		return dir
	}
	const enter = 1 // X_OK, access(2)
	if info, err := os.Stat(systemState); err == nil && info.IsDir() && syscall.Access(systemState, enter) == nil {
		return systemState
	}
	if dir := p.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jjm")
	}
	home := p.Getenv("HOME")
	if home == "" {
		home = "/"
	}
	return filepath.Join(home, ".local/state/jjm")
}

// SocketPath returns the daemon's socket: as told, $JJM_SOCKET, else jjm.sock in
// the state folder. A state folder given on the command line outranks
// $JJM_SOCKET.
func (p Place) SocketPath() string {
	if p.Socket != "" {
		return p.Socket
	}
	if s := p.Getenv("JJM_SOCKET"); s != "" && p.State == "" {
		return s
	}
	return filepath.Join(p.StateDir(), "jjm.sock")
}

// RecordsDir returns the folder of the XML records: $JJM_RECORDS, else records in
// the state folder.
func (p Place) RecordsDir() string {
	if dir := p.Getenv("JJM_RECORDS"); dir != "" && p.State == "" {
		return dir
	}
	return filepath.Join(p.StateDir(), "records")
}
