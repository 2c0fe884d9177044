// Package store keeps the authoritative state of jjm in one SQLite file: grid jobs, local jobs, bulks, attempts with
// their evidence, datasets, ledgers of which local job owns which units, orders, bans, excluded hosts, and the journal.
//
// It promises that a transaction is stored whole or not at all, whatever kills the process or the machine (WAL,
// synchronous=FULL). It also promises that wrong code in the packages above cannot store impossible states: constraints
// and triggers of the schema, in schema/, refuse such states. A local job never loses its part. Two local jobs never
// own the same unit. A completed local job stays completed unless it is retracted or its grid job is removed. A final
// status changes only when the next generation begins, and the end of the previous generation is kept. The status done
// needs the tar, and every local job completed. Rows are only added to evidence and journal, except that a removal
// deletes the evidence of its grid job.
//
// Live work and history are in different tables. [Store.Archive] moves a finished grid job from the live tables to the
// history in chunks, so the cost of live work does not grow with the history; [Store.Revive] moves the grid job back
// for a reopening. Reads see both.
//
// Policy, and the copy of the state in memory, belong to the packages above. The process must make sure that only one
// daemon has a store open: two daemons would each be consistent and disagree in memory.
//
// Comments here name the kinds of errors (jjm.Kind): "of kind Gone" means that the kind is jjm.Gone. Every method may
// also return an error of the database, which the comments do not repeat. Such an error is of kind Busy if a later call
// may succeed (the disk is full, another process holds the store, ctx has ended), and usually of kind Internal if not.
package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// Options are the options of Open.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// ReadOnly opens an existing store, even while a daemon writes to it, and never changes the store.
	ReadOnly bool
	// Scratch is for tests of other packages. Transactions do not wait for the disk: a committed transaction survives the
	// end of the process, but not a crash of the machine.
	Scratch bool
	// Accept is called before anything is written. If it returns an error, Open fails with that error. Nil accepts every
	// store.
	Accept func(Content) error
	// Observe, unless nil, is called after each write transaction with its duration, without its wait for other
	// transactions. It must not block.
	Observe func(took time.Duration)
	// Copied, unless nil, is called when the copy before an update of the schema is complete.
	Copied func(path string, from, to int)
	// steps replaces the steps of the schema, in tests of an update.
	steps []string
}

// writeMode returns the mode in which the writing connection is opened.
func (o Options) writeMode() mode {
	if o.Scratch {
		return scratch
	}
	return writing
}

// Store is an open store. All methods may be called from many goroutines.
type Store struct {
	path  string
	o     Options
	steps []string // the steps of the schema
	nonce string

	// turn holds a token while no goroutine writes. The goroutine that takes the token owns writer, which
	// is nil after an error that left the connection in an unknown state.
	turn   chan struct{}
	writer *conn

	mu     sync.Mutex // guards the fields below
	idle   []*conn    // read connections not in use
	closed bool
}

// maxIdle is the number of read connections kept open between reads.
const maxIdle = 4

// Nonce returns the four random characters of [a-z2-7] that were chosen when the store was created; see jjm.NewTag.
func (s *Store) Nonce() string { return s.nonce }

// Schema returns the version of the store's schema.
func (s *Store) Schema() int { return len(s.steps) }

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Close waits for the running transaction, folds the write-ahead log into the database file and closes all connections.
// All reads must have ended before. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()

	<-s.turn // the token is never returned: later writes find turn closed
	defer close(s.turn)
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close())
	}
	if c := s.writer; c != nil {
		if !s.o.ReadOnly {
			errs = append(errs, c.script("UPDATE identity SET clean = 1; PRAGMA wal_checkpoint(TRUNCATE)"))
		}
		errs = append(errs, c.close())
		s.writer = nil
	}
	if err := errors.Join(errs...); err != nil {
		return s.fail(err, "close %s", s.path)
	}
	return nil
}

// Tx is one write transaction. It is valid until the function passed to [Store.Update] returns, and only one goroutine
// may use it. If a method fails, the transaction is rolled back, even if the function ignores the error.
type Tx struct {
	s   *Store
	c   *conn
	ctx context.Context
	err error // the first failure of a method
}

// Update runs fn in one write transaction. Transactions wait for their turn; the error is of kind Busy if ctx ends
// first. If fn returns an error or panics, nothing is stored, and Update returns the error of fn unchanged. When Update
// returns nil, all changes are on disk.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	if s.o.ReadOnly {
		return jjm.Errorf(jjm.Conflict, "store: %s was opened read-only", s.path)
	}
	c, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { s.turn <- struct{}{} }()
	if s.o.Observe != nil {
		began := time.Now()
		defer func() { s.o.Observe(time.Since(began)) }()
	}
	tx := &Tx{s: s, c: c, ctx: ctx}
	committed := false
	defer func() {
		tx.c = nil
		if !committed {
			s.rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	if _, err := c.exec("COMMIT", nil); err != nil {
		return s.fail(err, "commit")
	}
	committed = true
	return nil
}

// begin waits for the turn to write and starts a transaction. If it returns an error, it has freed the turn again.
func (s *Store) begin(ctx context.Context) (*conn, error) {
	select {
	case _, open := <-s.turn:
		if !open {
			return nil, jjm.Errorf(jjm.Internal, "store: %s is closed", s.path)
		}
	case <-ctx.Done():
		return nil, s.fail(ctx.Err(), "wait for the turn to write")
	}
	err := s.openTx(ctx)
	if err != nil {
		s.turn <- struct{}{}
		return nil, s.fail(err, "begin a transaction")
	}
	return s.writer, nil
}

// openTx starts a transaction of the writer. If the writer is not connected, openTx connects it first.
func (s *Store) openTx(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.writer == nil {
		if s.writer, err = dial(s.path, s.o.writeMode()); err != nil {
			return err
		}
	}
	_, err = s.writer.exec("BEGIN IMMEDIATE", nil)
	return err
}

// rollback undoes the transaction of the writer. After some errors, such as a full disk, SQLite has already undone it,
// and ROLLBACK fails. After any failure of ROLLBACK the connection is closed, because a new connection is in a clean
// state.
func (s *Store) rollback() {
	if _, err := s.writer.exec("ROLLBACK", nil); err != nil {
		s.writer.close() // best effort: errors of close say nothing new
		s.writer = nil
	}
}

// fail returns the error of Store.fail, with which the transaction fails; see refuse.
func (tx *Tx) fail(err error, format string, a ...any) error {
	return tx.refuse(tx.s.fail(err, format, a...))
}

// refuse returns an error unchanged. It also stores the first error of the transaction, with which the transaction
// fails.
func (tx *Tx) refuse(err error) error {
	if tx.err == nil {
		tx.err = err
	}
	return err
}

// exec runs one statement of the transaction.
func (tx *Tx) exec(query string, a args) (int64, error) {
	if tx.c == nil {
		return 0, errOver()
	}
	if err := tx.ctx.Err(); err != nil {
		return 0, err
	}
	return tx.c.exec(query, a)
}

// change runs a statement that must change a row. It returns the error none if the statement changes no row.
func (tx *Tx) change(query string, a args, none error) error {
	n, err := tx.exec(query, a)
	if err != nil {
		return err
	}
	if n == 0 {
		return none
	}
	return nil
}

// view runs fn with a read connection, inside one snapshot.
func (s *Store) view(ctx context.Context, fn func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.reader()
	if err != nil {
		return err
	}
	if _, err := c.exec("BEGIN", nil); err != nil {
		c.close()
		return err
	}
	defer func() {
		if _, err := c.exec("COMMIT", nil); err != nil || !s.keep(c) {
			c.close()
		}
	}()
	return fn(c)
}

// reader returns an idle read connection or a new one.
func (s *Store) reader() (*conn, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, jjm.Errorf(jjm.Internal, "%s is closed", s.path)
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	m := reading
	if s.o.ReadOnly {
		m = readOnly
	}
	return dial(s.path, m)
}

// keep makes a read connection idle. It returns false if there is no room for another idle connection.
func (s *Store) keep(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) >= maxIdle {
		return false
	}
	s.idle = append(s.idle, c)
	return true
}
