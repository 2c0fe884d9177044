package highwater

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// adopt is the command, for errors, by which a daemon goes on above the highest id that any folder knows.
const adopt = "jjm serve --adopt, with the --config of the daemon"

// Folder holds the stamps and marks in the folders of a site, which show the store to which the folders belong.
type Folder struct {
	// State and Work are the state folder and the folder of the work areas.
	State, Work string
	// Mark is the content of the mark, nil if there is none.
	Mark *Written
	// Record is the highest id of a grid job that has a record, 0 if there is none.
	Record jjm.GridID
	// Area is the highest id of a grid job in a work area of the daemon's account, 0 if there is none. AreaDir is the path
	// of that work area.
	Area    jjm.GridID
	AreaDir string
	// Bare is set if the site has made nothing except its store here: there is no mark, no folder of records and no work
	// area of any account.
	Bare bool
	// Stamps are the folders in which a stamp is expected, with their stamps.
	Stamps []Stamped
}

// Fit returns an error if a store must not be used in a folder because it would assign ids again. The error is of kind
// Conflict and names the remedy. A folder from before marks existed is judged by its records and work areas. A folder
// without marks, records and work areas belongs to a new site. A store that knows grid jobs does not belong to a new
// site, and its age cannot be checked there, so Fit returns an error.
func Fit(store string, highest jjm.GridID, in Folder) error {
	state := in
	state.Area = 0
	if err := fitState(store, highest, state); err != nil {
		return err
	}
	if err := FitStamps(store, highest, in.Stamps); err != nil { // stamps show more than the names in a work area
		return err
	}
	return fitState(store, highest, in)
}

// fitState makes all checks of Fit except the check of the stamps.
func fitState(store string, highest jjm.GridID, in Folder) error {
	if in.Bare && highest > 0 {
		return jjm.Errorf(jjm.Conflict, "store.db does not fit %s: it knows grid jobs up to %d, but nothing else of a site "+
			"is here: no %s, no records/, no work areas in %s. If it is an old copy, their ids would be given out again. "+
			"With the daemon stopped, put back what was beside it, %s first, or set state and work to the folders of that "+
			"site. To go on with the store alone, make the folder %s/records", in.State, highest, File, in.Work, File,
			in.State)
	}
	var found []string
	if m := in.Mark; m != nil && m.Given > 0 && store != "" && m.Store != store {
		found = append(found, fmt.Sprintf("%s is of another store (%s, this one is %s)", File, m.Store, store))
	}
	if m := in.Mark; m != nil && m.Given > highest {
		found = append(found, fmt.Sprintf("%s says that ids up to %d were given out", File, m.Given))
	}
	if in.Record > highest {
		found = append(found, fmt.Sprintf("records/ holds %d", in.Record))
	}
	if in.Area > highest {
		found = append(found, fmt.Sprintf("%s holds %d", in.AreaDir, in.Area))
	}
	if found == nil {
		return nil
	}
	return jjm.Errorf(jjm.Conflict, "store.db does not fit %s: it knows grid jobs up to %d, but %s: their ids would be "+
		"given out again. It is an old copy, or one without its log, or another site's. With the daemon stopped, put "+
		"the one back that was here: store.db together with store.db-wal and store.db-shm if they are there. If that "+
		"site is given up, move %s and the work areas in %s away. To go on with this store above the highest id that any "+
		"folder knows: "+adopt, in.State, highest, strings.Join(found, ", "), in.State,
		in.Work)
}
