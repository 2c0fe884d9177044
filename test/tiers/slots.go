package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// slotsVar names a folder with a file for each test program that may run at a time. A program
// locks one of them while it runs. Thus go test compiles and links the next packages meanwhile.
const slotsVar = "JJM_SLOTS"

// slotPause is the pause between two looks for a free slot.
const slotPause = 50 * time.Millisecond

// makeSlots makes the folder of n slots.
func makeSlots(dir string, n int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// takeSlot waits for a free slot and returns its locked file. Without a folder there is nothing
// to wait for.
func takeSlot(dir string) (*os.File, error) {
	if dir == "" {
		return os.Open(os.DevNull)
	}
	for ; ; time.Sleep(slotPause) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			return nil, errors.Join(err, fmt.Errorf("there are no slots in %s", dir))
		}
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				return nil, err
			}
			if flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				return f, nil
			}
			_ = f.Close()
		}
	}
}
