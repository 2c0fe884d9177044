package slurm

import (
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// receipt makes a receipt or an error from the output of sbatch. A job certainly exists if
// the controller printed its id, and certainly does not if the text of the refusal is
// known.
func receipt(out run.Output) (adapters.Receipt, error) {
	text := strings.Join(strings.Fields(string(out.Stderr)), " ")
	if out.Exit == 0 {
		// A line without a newline may have been cut.
		line, rest, whole := strings.Cut(string(out.Stdout), "\n")
		id, _, _ := strings.Cut(line, ";") // "42;cluster" in a federation
		if !digits(id) || rest != "" || !whole {
			return adapters.Receipt{}, jjm.Errorf(jjm.Ambiguous, "sbatch: it printed no job id but %.200q (%s)",
				out.Stdout, adapters.Brief(out.Stderr))
		}
		return adapters.Receipt{ID: id}, nil
	}
	kind := refusal(text)
	if out.Signal != 0 {
		kind = jjm.Ambiguous
	}
	if kind == jjm.Ambiguous && out.Exit == 255 && out.Signal == 0 && !strings.Contains(text, "submission failed") {
		kind = jjm.Invalid // sbatch(1): it could not read its options
	}
	return adapters.Receipt{}, jjm.Errorf(kind, "sbatch: exit %d: %s", out.Exit, adapters.Brief(out.Stderr))
}

// refusal classifies the message of sbatch or slurmrestd about a failed submission by the
// texts of Slurm's errors. The first entry that matches decides; an unknown text is
// Ambiguous.
func refusal(text string) jjm.Kind {
	for _, known := range []struct {
		kind  jjm.Kind
		texts []string
	}{
		// The connection broke on the way to the controller or back.
		{jjm.Ambiguous, []string{
			"Socket timed out", "Zero Bytes were transmitted", "Unexpected message received", "(receive failure)",
			"(send failure)", "(shutdown failure)", "Munge decode failed", "Connection reset", "Transport endpoint",
		}},
		// The request never got there, or can succeed later.
		{jjm.Busy, []string{
			"Munge encode failed", "(connect failure)", "Unable to process configuration file",
			"temporarily unable to accept job", "Resource temporarily unavailable", "standby mode",
			"Required partition not available", "SubmitJobLimit", "SubmitJobPerUserLimit", "SubmitJobPerAccountLimit",
			"MaxSubmitJob", "Unable to resolve", "Protocol version has changed", "Slurm controller is not running",
		}},
		{jjm.Denied, []string{
			"Invalid account or account/partition combination", "not permitted to use this partition",
			"Access/permission denied", "Invalid user id", "User not found on host", "Requested operation not permitted",
		}},
		{jjm.Invalid, []string{
			"Invalid partition name", "Invalid feature specification", "Invalid generic resource",
			"Requested node configuration is not available", "Memory specification can not be satisfied",
			"Requested reservation is invalid", "Requested time limit is invalid", "Invalid job array specification",
			"Batch script is empty", "does not look like a batch script", "DOS line breaks",
			"other parameter too long", "Node count specification invalid", "More processors requested than permitted",
			"Invalid qos specification", "Invalid wckey specification", "Invalid license specification",
			"Job dependency problem", "Unable to open file", "unrecognized option", "option requires an argument",
			"Invalid Trackable RESource", "Job violates accounting/QOS policy", "CPU count per node can not be satisfied",
			"Requested partition configuration not available", "environment must be set",
		}},
	} {
		for _, t := range known.texts {
			if strings.Contains(text, t) {
				return known.kind
			}
		}
	}
	return jjm.Ambiguous
}
