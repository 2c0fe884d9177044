package sge

import (
	"cmp"
	"slices"
	"strconv"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// found returns the answer for each tag, with the tag's arrays in the order of their numbers. If an unreadable record
// may have a tag, found does not report that tag as absent.
func found(tags []jjm.Tag, bulks map[bulkKey]bool, unread []adapters.Unread) []adapters.Found {
	byTag := map[jjm.Tag][]int64{}
	for k := range bulks {
		byTag[k.tag] = append(byTag[k.tag], k.num)
	}
	out := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		out[i] = adapters.Found{Tag: tag}
		if !adapters.UnreadOf(unread, tag) {
			out[i].Presence = adapters.Absent
		}
		nums := byTag[tag]
		slices.SortFunc(nums, cmp.Compare[int64])
		for _, n := range nums {
			out[i].Presence = adapters.Present
			out[i].IDs = append(out[i].IDs, strconv.FormatInt(n, 10))
		}
	}
	return out
}
