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
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := nearest.Of(name, names); near != "" {
		return set, fmt.Errorf("%w: did you mean %q?", err, near)
	}
	return set, err
}
