package sge

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// detail holds the facts about one array that only qstat -j shows.
type detail struct {
	bulk      int64
	name      string
	submitted jjm.Time
	// errors holds, by task, the reason of an error. pending is the reason why the array waits.
	errors  map[int32]string
	pending string
}

// parseDetail parses the output of qstat -xml -j. The result lacks jobs that no longer exist. If none of the jobs
// exists, qstat exits with 0 and prints a document with unknown_jobs.
func parseDetail(text []byte) ([]detail, error) {
	if strings.Contains(string(text), "<unknown_jobs") {
		var none struct {
			XMLName xml.Name `xml:"unknown_jobs"`
		}
		return nil, decodeXML(text, "unknown_jobs", &none)
	}
	var doc struct {
		XMLName xml.Name `xml:"detailed_job_info"`
		Jobs    []struct {
			Number    int64  `xml:"JB_job_number"`
			Name      string `xml:"JB_job_name"`
			Submitted int64  `xml:"JB_submission_time"`
			Tasks     []struct {
				Task     int32    `xml:"JAT_task_number"`
				Messages []string `xml:"JAT_message_list>ulong_sublist>QIM_message"`
			} `xml:"JB_ja_tasks>ulong_sublist"`
		} `xml:"djob_info>element"`
		Messages []struct {
			Jobs []int64 `xml:"MES_job_number_list>ulong_sublist>ULNG_value"`
			Text string  `xml:"MES_message"`
		} `xml:"messages>element>SME_message_list>element"`
	}
	if err := decodeXML([]byte(repair(string(text))), "detailed_job_info", &doc); err != nil {
		return nil, err
	}
	pending := map[int64]string{}
	for _, m := range doc.Messages {
		for _, j := range m.Jobs {
			if pending[j] == "" {
				pending[j] = unescape(m.Text)
			}
		}
	}
	var details []detail
	for _, j := range doc.Jobs {
		d := detail{bulk: j.Number, name: j.Name, submitted: seconds(j.Submitted), pending: pending[j.Number],
			errors: map[int32]string{}}
		for _, t := range j.Tasks {
			if len(t.Messages) > 0 {
				d.errors[t.Task] = unescape(t.Messages[len(t.Messages)-1])
			}
		}
		details = append(details, d)
	}
	return details, nil
}

// seconds converts a time of qstat -j, which is in seconds since 1970. Univa Grid Engine since 8.2 writes milliseconds
// in the same places; seconds recognizes them by their size.
func seconds(n int64) jjm.Time {
	if n > 100_000_000_000 {
		return jjm.Time(n)
	}
	return jjm.Time(n * 1000)
}

// details looks up arrays by number with qstat -j, to learn facts that memory lacks.
func (a *Adapter) details(ctx context.Context, bulks []int64) ([]detail, error) {
	words := make([]string, len(bulks))
	for i, b := range bulks {
		words[i] = strconv.FormatInt(b, 10)
	}
	text, err := a.show(ctx, "qstat", "-xml", "-j", strings.Join(words, ","))
	if err != nil {
		return nil, err
	}
	details, err := parseDetail(text)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "qstat -xml -j: %w", err)
	}
	return details, nil
}
