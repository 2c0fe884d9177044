package jobfile

import (
	"fmt"

	"jjm/internal/formats/mailaddress"
)

// maxNotify is the largest number of addresses to which the end of a grid job is told.
const maxNotify = 8

// notify checks the addresses to which the end of the grid job is told.
func (c *checker) notify(list []string) {
	if len(list) > maxNotify {
		c.problem("notify", "%d addresses are too many: at most %d", len(list), maxNotify)
	}
	for i, text := range list {
		if err := mailaddress.Check(text); err != nil {
			c.problem(fmt.Sprintf("notify[%d]", i), "%.60q: %v", text, err)
		}
	}
	c.unique("notify[%d]", list)
}
