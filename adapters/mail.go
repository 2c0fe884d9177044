package adapters

import (
	"fmt"
	"regexp"
	"strings"
)

// mailAddress is what cannot be an option of a mailer, nor a word of its shell.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$`)

// CheckMail says what is wrong with a list of mail addresses that commas separate.
// Batch systems hand them to a mailer, as root or as an account of their own: one
// that begins with "-" would be an option of it.
func CheckMail(list string) error {
	for address := range strings.SplitSeq(list, ",") {
		if !mailAddress.MatchString(address) {
			return fmt.Errorf("%.80q: want mail addresses, with commas between", list)
		}
	}
	return nil
}
