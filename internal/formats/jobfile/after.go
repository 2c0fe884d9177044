package jobfile

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// after checks the list of grid jobs after which this grid job begins. The daemon checks whether these grid jobs exist.
func (c *checker) after(s *jjm.Spec) {
	if len(s.After) > jjm.MaxAfter {
		c.problem("after", "%d grid jobs are too many: at most %d", len(s.After), jjm.MaxAfter)
		return
	}
	first := map[jjm.GridID]int{}
	for i, id := range s.After {
		field := fmt.Sprintf("after[%d]", i)
		if id < 1 || id > maxNumber {
			c.problem(field, "%d is not a grid job: want its number, such as 17", int64(id))
		} else if j, twice := first[id]; twice {
			c.problem(field, "%s is given twice: first as after[%d]", id, j)
		}
		first[id] = i
	}
	switch words := jjm.AfterEnds(); {
	case s.AfterEnd == "":
	case len(s.After) == 0:
		c.problem("after_end", "has no effect without after: name the grid jobs there, or leave it out")
	case !slices.Contains(words, s.AfterEnd):
		c.problem("after_end", "%.40q: want %s", s.AfterEnd, jjm.AnyOf(words))
	}
}
