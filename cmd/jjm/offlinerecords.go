package main

import (
	"context"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/query"
)

// record returns the results of a query in the record of a grid job. The query is a path into the XML documents of the
// record (package query); the path "" selects the whole record. The error is of kind Invalid if the path is wrong. All
// other errors come from head and unknown.
func (o *offline) record(text, path string) ([]string, error) {
	if _, err := query.Parse(path); err != nil {
		return nil, err
	}
	h, _, err := o.head(text)
	if err != nil {
		return nil, err
	}
	found, err := o.query(&h, path)
	if jjm.KindOf(err) == jjm.Invalid {
		return nil, err
	}
	if err != nil {
		return nil, o.unknown(err)
	}
	o.say(h.Written)
	return found, nil
}

// query evaluates a path on those documents of a record that can contain results of the path: the head, and the shards
// with the local jobs. It holds one document at a time in memory. It skips shards that do not exist.
func (o *offline) query(h *head.Head, path string) ([]string, error) {
	q, err := query.Parse(path)
	if err != nil {
		return nil, err
	}
	if q.Wants("gridjob") {
		if err := o.addTo(q, h, head.File); err != nil {
			return nil, err
		}
	}
	for n := 0; q.Wants("localjobs") && n*head.ShardSize < h.Jobs; n++ {
		if err := o.addTo(q, h, head.ShardFile(n)); err != nil && jjm.KindOf(err) != jjm.Gone {
			return nil, err
		}
	}
	return q.Results(), nil
}

func (o *offline) addTo(q *query.Query, h *head.Head, name string) error {
	data, err := head.Document(o.dir, h.Grid.ID, name)
	if err != nil {
		return err
	}
	if err := q.Add(data); err != nil {
		return jjm.Errorf(jjm.KindOf(err), "record of grid job %s: %s: %w", h.Grid.ID, name, err)
	}
	return nil
}

// records is for jjm record --all. It calls send, newest first, for each readable record of the selection in which the
// path selects something, and for each damaged record, with the error. It returns an error if the path or the status is
// wrong, if ctx ends, or if send fails.
func (o *offline) records(ctx context.Context, path string, of wire.Selection, send func(*wire.Found) error) error {
	if _, err := query.Parse(path); err != nil {
		return err
	}
	if err := checkStatus(of.Status); err != nil {
		return err
	}
	ids, err := o.ids(0)
	if err != nil {
		return err
	}
	var asOf jjm.Time
	defer func() { o.say(asOf) }()
	for _, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h, ok, err := o.readable(id)
		if err == nil && !(ok && selected(of, &h)) {
			continue
		}
		asOf = max(asOf, h.Written)
		found := wire.Found{ID: id, Type: h.Grid.Spec.Type, Owner: h.Grid.Owner.User}
		if err == nil {
			found.Record, err = o.query(&h, path)
		}
		switch {
		case jjm.KindOf(err) == jjm.Invalid:
			return err
		case err != nil:
			found.Error = err.Error()
		case len(found.Record) == 0:
			continue
		}
		if err := send(&found); err != nil {
			return err
		}
	}
	return nil
}

// selected reports whether a selection of jjm record --all includes the grid job of a head.
func selected(of wire.Selection, h *head.Head) bool {
	l := wire.List{All: true, Status: of.Status, Type: of.Type, Owner: of.Owner}
	onCluster := slices.ContainsFunc(h.ClusterJobs, func(j jjm.ClusterJob) bool { return j.Cluster == of.Cluster })
	return selects(l, h) && (of.Cluster == "" || onCluster) &&
		(of.Since == 0 || h.Grid.Accepted >= of.Since) && (of.Until == 0 || h.Grid.Accepted < of.Until)
}
