package handlers

import "jjm/internal/jjm"

// inputValues adds the values of a part that reads files:
//
//	files, file              the part's files, and the first file
//	first_event, events,
//	last_event               the part's event range; events and last_event are -1 if there is no end
//	first_number             the number of the first event in its file
//	lumis                    the text of jjm.PartInput.LumiText
//	parents                  parent files to read too, if include_parents is set
//	seed                     the seed, if the splitter drew one
func inputValues(v Values, in *jjm.PartInput) {
	v["files"] = in.Files
	v["file"] = in.Files[:min(1, len(in.Files))]
	events := in.EventSpan()
	last := int64(jjm.ToTheEnd)
	if events.Count > 0 {
		last = events.Last()
	}
	v["first_event"], v["events"], v["last_event"] = num(events.First), num(events.Count), num(last)
	v["lumis"] = []string{in.LumiText()}
	v["first_number"] = num(events.First)
	if in.More != nil && in.More.FirstNumber != 0 {
		v["first_number"] = num(in.More.FirstNumber)
	}
	v["parents"] = nil
	if in.More != nil {
		v["parents"] = in.More.Parents
	}
	if in.More != nil && in.More.Seed != 0 {
		v["seed"] = num(in.More.Seed)
	}
}
