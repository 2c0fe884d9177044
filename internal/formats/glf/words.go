package glf

import "strings"

// Word describes a keyword for authors of applications.
type Word struct {
	Keyword string
	// Data is the text that follows the keyword. Effect is the effect of the record on the local job.
	Data, Effect string
	// Example is an example of the text that follows the keyword.
	Example string
}

// Words returns the keywords, first the keywords that end a job.
func Words() []Word {
	return []Word{
		{Succeeded, "the output files, or `-`",
			"It is completed. The files are collected, besides those that `outputs` names; `-` says that there are none. " +
				"If a file that it names is not there, the attempt has failed",
			"hist.root summary.txt"},
		{Failed, "why, for people", "It has failed for good, and is not tried again", "the calibration has no run 1204"},
		{Retry, "words for the next attempt",
			"It is tried again at once, within the limits of retries. The next attempt finds the words in " +
				"`GBS_RETRY_ARG_1`, `GBS_RETRY_ARG_2` and so on",
			"--slowly"},
		{Hold, "words for the next attempt",
			"It is held until somebody says `jjm release`, and counts as a retry; the next attempt finds the words as after " +
				"RETRY",
			"--after-repair"},
		{Info, "any text, or `processed=N UNIT`",
			"Nothing. `processed=250 events` says how much it processed: events, files, sections or rows; " +
				"without a unit, what its part counts. The last one counts",
			"processed=250 events"},
		{ReturnFile, "one absolute path",
			"Nothing. The file, which may lie anywhere on the worker, is copied back with the outputs; a relative path is not",
			"/tmp/core.4711"},
	}
}

// Names returns the keywords, separated by blanks.
func Names() string {
	var names []string
	for _, w := range Words() {
		names = append(names, w.Keyword)
	}
	return strings.Join(names, " ")
}
