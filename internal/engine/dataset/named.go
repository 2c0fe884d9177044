package dataset

import (
	"context"
	"fmt"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// named returns the dataset of an account by its name. If the dataset is unknown, the error is of kind Gone and names
// the account's dataset whose name is nearest.
func named(ctx context.Context, from *store.Store, uid int, name string) (store.Dataset, error) {
	set, err := from.DatasetNamed(ctx, uid, name)
	if jjm.KindOf(err) != jjm.Gone {
		return set, err
	}
	all, listErr := from.Datasets(ctx, uid)
	if listErr != nil {
		return set, err // without a suggestion
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	if near := nearest.Of(name, names); near != "" {
		return set, fmt.Errorf("%w: did you mean %q?", err, near)
	}
	return set, err
}

// called returns the dataset of an account with a name or, if the name is the name of a container, the datasets in the
// container. The error is of kind Gone if neither exists.
func called(ctx context.Context, from *store.Store, uid int, name string) ([]store.Dataset, error) {
	set, err := named(ctx, from, uid, name)
	if err == nil && !set.Head() {
		return []store.Dataset{set}, nil
	}
	if err != nil && jjm.KindOf(err) != jjm.Gone {
		return nil, err
	}
	members, memberErr := from.Members(ctx, uid, name)
	if memberErr != nil || len(members) > 0 {
		return members, memberErr
	}
	return nil, err
}
