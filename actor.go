package jjm

import "strconv"

// ActorOf names an account for the audit: names change hands, numbers tell which
// account it was: "root (uid 0)".
func ActorOf(user string, uid int) string {
	return user + " (uid " + strconv.Itoa(uid) + ")"
}
