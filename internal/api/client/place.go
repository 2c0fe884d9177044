package client

import (
	"os"
	"path/filepath"
	"syscall"
)

// systemState is the state folder of an installed daemon (/var/lib of the FHS).
const systemState = "/var/lib/jjm"

// Place determines where the state folder, the socket and the records of the daemon are.
type Place struct {
	// State and Socket come from the command line and may be "".
	State, Socket string
	// Getenv returns the value of an environment variable.
	Getenv func(string) string
}

// StateDir returns the state folder of the daemon, the first of:
//
//  1. State
//  2. $JJM_STATE
//  3. /var/lib/jjm, if it exists and this account may enter it
//  4. $XDG_STATE_HOME/jjm, by default ~/.local/state/jjm (XDG Base Directory Specification)
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

// SocketPath returns the path of the daemon's socket, the first of:
//
//  1. Socket
//  2. jjm.sock in State, if State is set
//  3. $JJM_SOCKET
//  4. jjm.sock in the state folder
func (p Place) SocketPath() string {
	if p.Socket != "" {
		return p.Socket
	}
	if s := p.Getenv("JJM_SOCKET"); s != "" && p.State == "" {
		return s
	}
	return filepath.Join(p.StateDir(), "jjm.sock")
}

// RecordsDir returns the folder of the XML records, the first of:
//
//  1. records in State, if State is set
//  2. $JJM_RECORDS
//  3. records in the state folder
func (p Place) RecordsDir() string {
	if dir := p.Getenv("JJM_RECORDS"); dir != "" && p.State == "" {
		return dir
	}
	return filepath.Join(p.StateDir(), "records")
}
