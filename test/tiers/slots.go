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

// slotsVar names the folder of a lane's slots: a file for each test program that may run at a time. A program locks one
// of these files while it runs. Meanwhile go test can compile and link the next packages.
const slotsVar = "JJM_SLOTS"

// slotPause is the pause between two checks for a free slot.
const slotPause = 50 * time.Millisecond

// makeSlots makes a folder of slots for each lane, and distributes n slots over the lanes. Each lane has at least one
// slot, because a lane that waits for a batch system must not delay the other lanes. The first lanes get the slots that
// are left over.
func makeSlots(dir string, lanes, n int) error {
	for i := range max(n, lanes) {
		lane := slotsOf(dir, i%lanes)
		if err := os.MkdirAll(lane, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(lane, strconv.Itoa(i)), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// slotsOfLane returns how many of n slots makeSlots puts into a lane.
func slotsOfLane(lane, lanes, n int) int {
	return (max(n, lanes) + lanes - 1 - lane) / lanes
}

// slotsOf returns the folder of a lane's slots.
func slotsOf(dir string, lane int) string { return filepath.Join(dir, strconv.Itoa(lane)) }

// giveSlots passes the slots of a finished lane to another lane.
func giveSlots(dir string, from, to int) error {
	files, err := filepath.Glob(filepath.Join(slotsOf(dir, from), "*"))
	for _, file := range files {
		err = errors.Join(err, os.Rename(file, filepath.Join(slotsOf(dir, to), filepath.Base(file))))
	}
	return err
}

// takeSlot waits for a free slot and returns its locked file. If dir is "", it does not wait.
func takeSlot(dir string) (*os.File, error) {
	if dir == "" {
		return os.Open(os.DevNull)
	}
	for ; ; time.Sleep(slotPause) {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("slots of the lane: %w", err)
		}
		for _, file := range files {
			f, err := os.Open(filepath.Join(dir, file.Name()))
			if errors.Is(err, os.ErrNotExist) {
				continue // the slot was passed on to another lane
			}
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
