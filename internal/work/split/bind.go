package split

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// binder sets where a part may run, for splitters that do not group files by place: on the clusters that can read all
// files of the part.
type binder struct {
	work *Work
	// at are the positions of the files in Work.Files, by LFN. places are the places found so far, by storages and
	// clusters, so that equal places are shared. Both are nil until a part needs them.
	at     map[string]int32
	places map[string]*jjm.Place
}

// start sets the positions of the files by LFN, and an empty list of places.
func (b *binder) start() {
	b.at, b.places = make(map[string]int32, len(b.work.Files)), map[string]*jjm.Place{}
	for i := range b.work.Files {
		b.at[b.work.Files[i].LFN] = int32(i)
	}
}

// bind sets the place of a part, unless the part already has a place or reads no files.
func (b *binder) bind(part *jjm.Part) {
	in := part.Input
	if in == nil || in.Place != nil || len(in.Files) == 0 {
		return
	}
	if b.at == nil {
		b.start()
	}
	var storages, clusters []string
	for i, lfn := range in.Files {
		at := b.work.Files[b.at[lfn]].Locations
		can := readers(at, b.work.Sites)
		storages = append(storages, at...)
		if i == 0 {
			clusters = can
		}
		clusters = slices.DeleteFunc(clusters, func(name string) bool { return !slices.Contains(can, name) })
	}
	p := &jjm.Place{Storages: distinct(storages), Clusters: distinct(clusters), Known: true}
	key := strings.Join(p.Storages, "\x00") + "\x00\x00" + strings.Join(p.Clusters, "\x00")
	if b.places[key] == nil {
		b.places[key] = p
	}
	if in.Place = b.places[key]; len(p.Clusters) > 0 {
		return
	}
	reason := "no cluster may run this: none can read all of its files"
	if len(p.Storages) > 0 {
		reason += ", which are at " + strings.Join(p.Storages, ", ")
	}
	more(in).Failure = &jjm.CreateFailure{Code: failNoSite, Reason: reason}
}

// distinct sorts s and removes duplicates.
func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
