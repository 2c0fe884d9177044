package jobfile

import (
	"fmt"

	"jjm/internal/formats/mailaddress"
)

// maxNotify is the largest number of addresses that receive a notice about the end of a grid job.
const maxNotify = 8

// notify checks the addresses that receive a notice about the end of the grid job.
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
