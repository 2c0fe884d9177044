package plan

import "fmt"

// PerUser is the number of grid jobs and local jobs of an account that have not ended.
type PerUser struct{ GridJobs, LocalJobs int }

// Excess returns, for people, the bound that prevents an account from having a further grid job, or "" if no bound
// does. A bound of 0 means no bound.
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

// ExcessOfWork returns, for people, the bound that an account's work area exceeds, or "". A bound of 0 means no bound.
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

// Space is the size of a file system, and its free space for ordinary accounts. Files are
// inodes, 0 in a file system that does not count them.
type Space struct{ Bytes, FreeBytes, Files, FreeFiles uint64 }

// Floor is the space that must stay free in a file system; 0 means no floor. Never more than a hundredth of the file
// system is required, so that jjm can use small file systems.
type Floor struct{ Bytes, Files uint64 }

// floorShare limits a floor to 1/floorShare of the file system.
const floorShare = 100

// Low returns a text for people if a file system has too few free bytes or inodes for new work, else "".
func Low(s Space, f Floor) string {
	if least := min(f.Bytes, s.Bytes/floorShare); s.FreeBytes < least {
		return fmt.Sprintf("%d bytes are free, and engine.min_free_bytes keeps %d", s.FreeBytes, least)
	}
	if least := min(f.Files, s.Files/floorShare); s.FreeFiles < least {
		return fmt.Sprintf("%d inodes are free, and engine.min_free_files keeps %d", s.FreeFiles, least)
	}
	return ""
}

// Near returns a text for people if less than twice the floor's bytes or inodes are free in a file system, else "".
func Near(s Space, f Floor) string {
	if least := min(f.Bytes, s.Bytes/floorShare); s.FreeBytes/2 < least {
		return fmt.Sprintf("%d bytes are free, and below %d no new work is accepted", s.FreeBytes, least)
	}
	if least := min(f.Files, s.Files/floorShare); s.FreeFiles/2 < least {
		return fmt.Sprintf("%d inodes are free, and below %d no new work is accepted", s.FreeFiles, least)
	}
	return ""
}
