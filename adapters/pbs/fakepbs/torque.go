package main

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"
)

// xmlJobs writes Torque's qstat -x: one line, times as seconds since 1970, nothing at all
// if there are no jobs.
func xmlJobs(c *complex, rows []row) []byte {
	if len(rows) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<Data>")
	for _, w := range rows {
		c.xmlJob(&b, w)
	}
	b.WriteString("</Data>\n")
	return []byte(b.String())
}

func (c *complex) xmlJob(b *strings.Builder, w row) {
	j, t := w.job, w.task
	put := func(name, value string) {
		b.WriteString("<" + name + ">")
		_ = xml.EscapeText(b, []byte(value))
		b.WriteString("</" + name + ">")
	}
	when := func(name string, at time.Time) {
		if !at.IsZero() {
			put(name, strconv.FormatInt(at.Unix(), 10))
		}
	}
	b.WriteString("<Job>")
	put("Job_Id", w.id())
	name, state := j.name, j.letter(true)
	if t != nil {
		name, state = c.taskName(j, t), j.taskLetter(t, true)
	}
	put("Job_Name", name)
	put("Job_Owner", j.owner+"@"+server)
	if t != nil && t.began {
		b.WriteString("<resources_used>")
		for _, u := range t.used(j) {
			if n := strings.TrimPrefix(u.name, "resources_used."); n != "cpupercent" && n != "ncpus" {
				put(n, u.value)
			}
		}
		b.WriteString("</resources_used>")
	}
	put("job_state", string(state))
	put("queue", j.queue)
	put("server", server)
	if j.account != "" {
		put("Account_Name", j.account)
	}
	put("Checkpoint", "u")
	when("ctime", j.ctime)
	put("Error_Path", c.shownPath(j, j.error, "e"))
	if t != nil && t.began && state != 'Q' {
		put("exec_host", server+"/0")
	}
	hold := max(j.holds, "n")
	if t != nil && t.held {
		hold = "u"
	}
	put("Hold_Types", hold)
	when("mtime", j.mtime)
	when("qtime", j.qtime)
	put("Rerunable", title(j.rerunnable))
	b.WriteString("<Resource_List>")
	for _, r := range j.resources {
		put(r.name, r.value)
	}
	b.WriteString("</Resource_List>")
	put("Variable_List", list(j.vars))
	when("etime", j.qtime)
	if t != nil {
		if t.hasExit && t.over() {
			put("exit_status", strconv.Itoa(t.exit))
		}
		when("start_time", t.stime)
		if t.runs > 0 {
			put("start_count", strconv.Itoa(t.runs))
		}
		if t.over() {
			when("comp_time", t.mtime)
		}
	}
	if j.array {
		if t != nil {
			put("job_array_id", strconv.Itoa(t.index))
		}
		put("job_array_request", j.indices)
	}
	put("submit_args", j.args)
	b.WriteString("</Job>")
}
