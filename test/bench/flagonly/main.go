// Command flagonly does nothing but parse the flags of a lookup: what a lookup costs beside
// that stands in the bench.
package main

import (
	"flag"
	"os"
)

func main() {
	_ = flag.String("state", "", "The daemon's state FOLDER.")
	_ = flag.String("socket", "", "The daemon's SOCKET.")
	_ = flag.Bool("json", false, "One JSON object per line.")
	flag.Parse()
	if _, err := os.Stdout.WriteString(flag.Arg(0) + "\n"); err != nil {
		os.Exit(1)
	}
}
