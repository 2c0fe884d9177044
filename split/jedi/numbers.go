package jedi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"jjm"
)

// Numbers is a pool of numbers 1, 2, 3, ...: seeds, or the sequence numbers of a
// list. A job takes the smallest one that is free. That of a job that failed is
// free again, for whichever job comes next; that of one that finished is never
// used again. The zero value is a new pool.
type Numbers struct {
	// Last is the largest number ever given.
	Last int64 `json:"last,omitempty"`
	// Free are the numbers given back, sorted.
	Free []int64 `json:"free,omitempty"`
}

// Take returns a number.
func (p *Numbers) Take() int64 {
	if len(p.Free) > 0 {
		n := p.Free[0]
		p.Free = slices.Clone(p.Free[1:])
		return n
	}
	p.Last++
	return p.Last
}

// GiveBack frees the number of a job that failed. Giving back twice, or what was
// never given, changes nothing.
func (p *Numbers) GiveBack(n int64) {
	i, found := slices.BinarySearch(p.Free, n)
	if found || n < 1 || n > p.Last {
		return
	}
	p.Free = slices.Insert(slices.Clone(p.Free), i, n)
}

var serialWords = regexp.MustCompile(`\$\{SN(?:/P|:0?(\d{1,2}))?\}`)

// Serial writes a serial number into the name of an output: ${SN} and ${SN/P}
// with six digits, ${SN:05} with five. Names count up for every job, also for
// one that does another's work again; a number above most, if that is not 0, is
// an error of kind Invalid.
func Serial(template string, n, most int64) (string, error) {
	if most > 0 && n > most {
		return "", jjm.Errorf(jjm.Invalid, "output %.100q: serial number %d is above the largest, %d", template, n, most)
	}
	return serialWords.ReplaceAllStringFunc(template, func(word string) string {
		width := 6
		if m := serialWords.FindStringSubmatch(word); m[1] != "" {
			width, _ = strconv.Atoi(m[1])
		}
		return fmt.Sprintf("%0*d", width, n)
	}), nil
}
