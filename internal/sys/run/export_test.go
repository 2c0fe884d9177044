package run

// RunUntil is Run with another time for which the pipes of a command may stay open after its end.
var RunUntil = runUntil
