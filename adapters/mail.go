package adapters

import (
	"fmt"
	"regexp"
	"strings"
)

// mailAddress matches addresses that a mailer cannot take for an option and a shell cannot
// take for more than one word.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$`)

// CheckMail returns an error unless list consists of mail addresses, separated by commas. Batch systems hand the
// addresses to a mailer that runs as root or as an account of their own, so an address must not start with "-".
func CheckMail(list string) error {
	for address := range strings.SplitSeq(list, ",") {
		if !mailAddress.MatchString(address) {
			return fmt.Errorf("%.80q: want mail addresses, with commas between", list)
		}
	}
	return nil
}
