package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// A released step of the schema never changes. Before a release, a step changes often while its version stays the same.
// So a store keeps, in the table meta, a sum of each step that made it.

// stepKey returns the key of the sum of a step, counted from 0.
func stepKey(step int) string { return fmt.Sprintf("schema %d", step+1) }

var sqlComment = regexp.MustCompile(`--[^\n]*`)

// stepSum returns the sum of a step's text, without comments and white space.
func stepSum(text string) string {
	text = strings.Join(strings.Fields(sqlComment.ReplaceAllString(text, "")), " ")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// markStep returns the SQL that stores the sum of a step.
func markStep(step int, text string) string {
	return fmt.Sprintf("INSERT INTO meta (key, value) VALUES ('%s', '%s')", stepKey(step), stepSum(text))
}

// unreleased reports whether a jjm before 0.1.0 made a store with this version of the schema: one of its steps has no
// sum, or another sum than the same step of this jjm.
func (s *Store) unreleased(c *conn, version int64) (bool, error) {
	if version == 0 {
		return false, nil
	}
	if tables, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'", nil); err != nil || tables == 0 {
		return err == nil, err
	}
	for step, text := range s.steps[:min(version, int64(len(s.steps)))] {
		same, err := c.number("SELECT count(*) FROM meta WHERE key = ? AND value = ?",
			args{}.text(stepKey(step)).text(stepSum(text)))
		if err != nil || same == 0 {
			return err == nil, err
		}
	}
	return false, nil
}
