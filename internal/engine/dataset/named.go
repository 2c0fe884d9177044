package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// finder finds datasets by the names that people write.
type finder struct{ store *store.Store }

// known returns the dataset of an account by its name. The error is of kind Gone if the dataset is unknown, and names
// the dataset that the person probably meant.
func (fi finder) known(ctx context.Context, uid int, name string) (store.Dataset, error) {
	set, err := fi.store.DatasetNamed(ctx, uid, name)
	if jjm.KindOf(err) != jjm.Gone {
		return set, err
	}
	all, listed := fi.store.Datasets(ctx, uid)
	if listed != nil {
		return set, listed
	}
	names := make([]string, 0, 2*len(all))
	for _, s := range all {
		if names = append(names, s.Name); s.Container == name {
			return set, jjm.Errorf(jjm.Gone, "no dataset %s: it is a container (jjm dataset show %[1]s lists its datasets)", name)
		}
		if s.Container != "" {
			names = append(names, s.Container)
		}
	}
	if near := nearest.Of(name, names); near != "" {
		return set, jjm.Errorf(jjm.Gone, "%w: did you mean %q?", err, near)
	}
	return set, err
}

// shown returns the dataset of a name and, if the name is the name of a container, the datasets in this container.
func (fi finder) shown(ctx context.Context, uid int, name string) ([]store.Dataset, error) {
	members, err := fi.store.Members(ctx, uid, name)
	if err != nil {
		return nil, err
	}
	set, err := fi.known(ctx, uid, name)
	if jjm.KindOf(err) == jjm.Gone && len(members) > 0 {
		return members, nil
	}
	if err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m store.Dataset) bool { return m.ID == set.ID })
	return append([]store.Dataset{set}, members...), nil
}

// about adds the name of a dataset to an error, unless the error begins with it.
func about(name string, err error) error {
	if strings.HasPrefix(err.Error(), "dataset "+name+" ") || strings.HasPrefix(err.Error(), "dataset "+name+":") {
		return err
	}
	return fmt.Errorf("dataset %s: %w", name, err)
}
