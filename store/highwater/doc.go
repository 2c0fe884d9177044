// Package highwater keeps a mark in a file beside the store: the highest id of a grid job that was ever assigned, and
// the store that assigned it. It detects a store that does not belong to its folder: an older copy, one that lacks its
// write-ahead log, or that of another site. Such a store would assign ids again whose records, work areas and handles
// exist.
//
// The order of steps makes it safe:
//
//  1. the store commits the id;
//  2. the mark is raised and synced;
//  3. somebody is told the id.
//
// Wherever a crash falls, the mark of the right store is never above the store's highest id, and never below an id that
// somebody was told. The next start raises the mark to ids that were committed and never told.
//
// Handles, which gatekeepers get while the daemon is away, are made of the account and the request key, and need no
// mark.
package highwater
