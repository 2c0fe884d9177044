// Package highwater keeps a mark in a file beside the store: the highest id of a grid job that was ever assigned, and
// the store that assigned it. It detects a store that does not belong to its folder: an older copy, a store without its
// write-ahead log, or the store of another site. Such a store would assign ids for which records, work areas and
// handles already exist.
//
// The order of steps makes it safe:
//
//  1. the store commits the id;
//  2. the mark is raised and synced;
//  3. the client that submitted gets the id.
//
// Whenever a crash happens, the mark of the right store is never above the store's highest id, and never below an id
// that a client got. The next start raises the mark to ids that were committed but did not reach a client.
//
// Each folder of the site whose contents are named by ids (work areas, records, spool) has a stamp: the store to which
// the folder belongs, and the highest id that this store has reserved. A stamp is raised before an id above it is
// stored, by a block of ids each time. So the stamps detect a store that is used with the folders of another store, and
// a store that is older than a folder, even if the whole state folder was restored or replaced.
//
// Handles, which gatekeepers get while the daemon is not running, are computed from the account and the request key,
// and need no mark.
package highwater
