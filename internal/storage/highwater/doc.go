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
// The folders of the site that hold what ids name - work areas, records, letter box - have a stamp each: the store that
// they belong to, and up to which id it has reserved ids. A stamp is raised before an id above it is stored, a block of
// ids at a time. So a store is found out that comes to folders of another one, or that is older than one of them, also
// when its whole state folder was restored or replaced.
//
// Handles, which gatekeepers get while the daemon is away, are made of the account and the request key, and need no
// mark.
package highwater
