// Package highwater keeps a mark in a file beside the store: the highest id of a grid job that was ever assigned, and
// the store that assigned it. It detects a store that does not belong to its folder: an older copy, a store without its
// write-ahead log, or the store of another site. Such a store would assign ids again whose records, work areas and
// handles exist.
//
// The order of steps makes it safe:
//
//  1. the store commits the id;
//  2. the mark is raised and synced;
//  3. the client that submitted gets the id.
//
// Wherever a crash falls, the mark of the right store is never above the store's highest id, and never below an id that
// a client got. The next start raises the mark to ids that were committed and that no client got.
//
// Each folder of the site that holds things named by ids - work areas, records, spool - has a stamp: the store
// that the folder belongs to, and the highest id that this store has reserved. A stamp is raised before an id above it
// is stored, a block of ids at a time. So the stamps detect a store that comes to the folders of another store, and a
// store that is older than a folder, even when the whole state folder was restored or replaced.
//
// Handles, which gatekeepers get while the daemon is away, are made of the account and the request key, and need no
// mark.
package highwater
