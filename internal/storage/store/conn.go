package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strconv"

	"modernc.org/sqlite"
)

// conn is one connection to the database with its prepared statements. Only one goroutine may use it at a time. It uses
// the driver directly, because the pool and the conversions of database/sql cost more here than the statements
// themselves.
type conn struct {
	raw   driver.Conn
	stmts map[string]statement
}

// statement is the interface of the driver's statements.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// mode is how a connection is opened.
type mode int

const (
	writing  mode = iota
	scratch       // writes, and the system decides when the data reach the disk
	reading       // reads a store that this process also writes
	readOnly      // reads a store of another process
	still         // reads a store that no process has open; creates no files beside the store
)

// busyMillis is how many milliseconds a statement waits for a lock of another process, such as a backup or a command
// that reads the store.
const busyMillis = 10_000

// dial connects to the existing file at an absolute path.
func dial(path string, m mode) (*conn, error) {
	u := url.URL{Scheme: "file", Path: path}
	q := url.Values{"_error_rc": {"1"}, "_dqs": {"0"}, "_busy_timeout": {strconv.Itoa(busyMillis)}, "mode": {"rw"}}
	pragmas := []string{"foreign_keys=1", "recursive_triggers=1", "temp_store=memory"}
	switch m {
	case writing, scratch:
		// A checkpoint only after 4,000 pages (16 MiB) of WAL saves fsyncs of the database
		// file; 64 MiB is the size to which the WAL is cut back after a large transaction.
		pragmas = append(pragmas, "synchronous="+map[mode]string{writing: "full", scratch: "off"}[m],
			"wal_autocheckpoint=4000", "journal_size_limit=67108864", "cache_size=-32768")
	case reading:
		pragmas = append(pragmas, "query_only=1", "cache_size=-8192")
	case readOnly, still:
		pragmas = append(pragmas, "query_only=1", "cache_size=-8192")
		q.Set("mode", "ro")
		if m == still {
			q.Set("immutable", "1")
		}
	}
	q["_pragma"] = pragmas
	u.RawQuery = q.Encode()
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: map[string]statement{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, st := range c.stmts {
		errs = append(errs, st.Close())
	}
	c.stmts = nil
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepare returns the prepared statement of a query. Each query is prepared once for each connection.
func (c *conn) prepare(query string) (statement, error) {
	if st := c.stmts[query]; st != nil {
		return st, nil
	}
	raw, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	st := raw.(statement)
	c.stmts[query] = st
	return st, nil
}

// exec runs a statement and returns the number of rows that it changed.
func (c *conn) exec(query string, a args) (int64, error) {
	r, err := c.run(query, a)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c *conn) run(query string, a args) (driver.Result, error) {
	st, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(context.Background(), a)
}

// script runs several statements without preparing them.
func (c *conn) script(text string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

// ctxRows is how many rows a query reads between two checks of its context.
const ctxRows = 1024

// query calls fn for every row of the result; fn must not keep the row. query stops at an error of fn and returns the
// error.
func (c *conn) query(ctx context.Context, query string, a args, fn func(row) error) (err error) {
	st, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(context.Background(), a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := make(row, len(rows.Columns()))
	for i := 0; ; i++ {
		if i%ctxRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := rows.Next(r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
}

// number returns the integer in the first column of the first row, or 0 if there is no row.
func (c *conn) number(query string, a args) (n int64, err error) {
	err = c.query(context.Background(), query, a, func(r row) error {
		n = r.int(0)
		return nil
	})
	return n, err
}

// args collects the values of a statement, in the order of its question marks.
type args []driver.NamedValue

func (a args) value(v driver.Value) args {
	return append(a, driver.NamedValue{Ordinal: len(a) + 1, Value: v})
}

func (a args) int(v int64) args { return a.value(v) }

func (a args) bool(v bool) args {
	if v {
		return a.value(int64(1))
	}
	return a.value(int64(0))
}

// text stores an empty text as NULL.
func (a args) text(v string) args {
	if v == "" {
		return a.value(nil)
	}
	return a.value(v)
}

func (a args) blob(v []byte) args {
	if len(v) == 0 {
		return a.value(nil)
	}
	return a.value(v)
}

// words stores a list of texts as JSON, an empty list as NULL.
func (a args) words(v []string) args {
	if len(v) == 0 {
		return a.value(nil)
	}
	b, _ := json.Marshal(v) // encoding a list of texts cannot fail
	return a.value(string(b))
}

// row is one row of a result. Its methods return the value of a column, or the zero value if the column is NULL.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) blob(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

func (r row) words(i int) ([]string, error) {
	s := r.text(i)
	if s == "" {
		return nil, nil
	}
	var v []string
	err := json.Unmarshal([]byte(s), &v)
	return v, err
}
