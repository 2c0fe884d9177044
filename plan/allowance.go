package plan

import "fmt"

// PerUser counts what an account has that is not over.
type PerUser struct{ GridJobs, LocalJobs int }

// Excess says why an account gets no further grid job: what it has reached of the
// most that one may have. It is "" if it may go on; a bound of 0 is none.
func Excess(have, most PerUser) string {
	over := func(setting, what string, n, limit int) string {
		return fmt.Sprintf("the account has %d live %s, and engine.%s allows %d: wait until some end, kill some, "+
			"or ask the administrators", n, what, setting, limit)
	}
	if most.GridJobs > 0 && have.GridJobs >= most.GridJobs {
		return over("max_grid_jobs_per_user", "grid jobs", have.GridJobs, most.GridJobs)
	}
	if most.LocalJobs > 0 && have.LocalJobs >= most.LocalJobs {
		return over("max_local_jobs_per_user", "local jobs", have.LocalJobs, most.LocalJobs)
	}
	return ""
}

// ExcessOfWork says what lies in an account's work area beyond what may, "" if nothing.
// A bound of 0 is none.
func ExcessOfWork(bytes, mostBytes, files, mostFiles int64) string {
	over := func(setting, what string, n, limit int64) string {
		return fmt.Sprintf(
			"the account's work area has %d %s or more, and engine.%s allows %d: wait until grid jobs end, kill some, "+
				"or remove what their jobs made", n, what, setting, limit)
	}
	switch {
	case mostBytes > 0 && bytes > mostBytes:
		return over("max_work_bytes_per_user", "bytes", bytes, mostBytes)
	case mostFiles > 0 && files > mostFiles:
		return over("max_work_files_per_user", "files", files, mostFiles)
	}
	return ""
}

// Space is what a file system has: in all and free for ordinary accounts. Files
// are inodes; a file system that does not count them has 0 in all.
type Space struct{ Bytes, FreeBytes, Files, FreeFiles uint64 }

// Floor is how much of a file system is to stay free, at most a hundredth of it, so
// that a small one can be used too; 0 is none.
type Floor struct{ Bytes, Files uint64 }

// floorShare is the part of a file system that a floor takes at most.
const floorShare = 100

// Low says what a file system has too little of to take on more work, "" if it
// has enough.
func Low(s Space, f Floor) string {
	if least := min(f.Bytes, s.Bytes/floorShare); s.FreeBytes < least {
		return fmt.Sprintf("%d bytes are free, and engine.min_free_bytes keeps %d", s.FreeBytes, least)
	}
	if least := min(f.Files, s.Files/floorShare); s.FreeFiles < least {
		return fmt.Sprintf("%d inodes are free, and engine.min_free_files keeps %d", s.FreeFiles, least)
	}
	return ""
}
