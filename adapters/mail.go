package adapters

import (
	"fmt"
	"regexp"
	"strings"
)

// mailAddress matches addresses that no mailer can mistake for an option and no shell can split into several words.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$`)

// CheckMail returns an error unless list consists of mail addresses, separated by commas. Batch systems pass the
// addresses to a mailer that runs as root or in the batch system's own account, so an address must not start with "-".
func CheckMail(list string) error {
	for address := range strings.SplitSeq(list, ",") {
		if !mailAddress.MatchString(address) {
			return fmt.Errorf("%.80q: want mail addresses, with commas between", list)
		}
	}
	return nil
}
