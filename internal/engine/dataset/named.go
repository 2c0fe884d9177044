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

// named returns the dataset of an account by its name. If the dataset is unknown, it returns the error of meant, which
// is of kind Gone.
func named(ctx context.Context, from *store.Store, uid int, name string) (store.Dataset, error) {
	set, err := from.DatasetNamed(ctx, uid, name)
	if jjm.KindOf(err) == jjm.Gone {
		return set, meant(ctx, from, uid, name, err)
	}
	return set, err
}

// meant returns unknown, the error that an account has no dataset with a name, and adds that the name is the name of a
// container, or the account's dataset or container whose name is nearest.
func meant(ctx context.Context, from *store.Store, uid int, name string, unknown error) error {
	all, err := from.Datasets(ctx, uid)
	if err != nil {
		return unknown // without a suggestion
	}
	names := make([]string, 0, 2*len(all))
	for _, s := range all {
		if names = append(names, s.Name); s.Container == name {
			return fmt.Errorf("%w: it is a container (jjm dataset show %s lists its datasets)", unknown, name)
		}
		if s.Container != "" {
			names = append(names, s.Container)
		}
	}
	if near := nearest.Of(name, names); near != "" {
		return fmt.Errorf("%w: did you mean %q?", unknown, near)
	}
	return unknown
}

// called returns the dataset of an account with a name and, if the name is the name of a container, the datasets in the
// container. The error is of kind Gone if neither exists.
func called(ctx context.Context, from *store.Store, uid int, name string) ([]store.Dataset, error) {
	set, unknown := named(ctx, from, uid, name)
	if unknown != nil && jjm.KindOf(unknown) != jjm.Gone {
		return nil, unknown
	}
	members, err := from.Members(ctx, uid, name)
	switch {
	case err != nil:
		return nil, err
	case unknown != nil && len(members) == 0:
		return nil, unknown
	case unknown != nil:
		return members, nil
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
